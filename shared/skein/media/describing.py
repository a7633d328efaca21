"""Descriptions of pictures and files: what each one shows, in words, generated once.

A model that accepts pictures describes each picture of a message, as a task of the background
engine. The model is shown only the picture, so the only person whose words the description can
contain is the picture's sender. A document needs no model: its beginning serves as the description.

The description is stored with the file, for the API, and with the message, for the history,
summaries, consolidation and recall. It is erased with the message.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from skein.errors import ConditionFailed
from skein.models.chats.chat import MAX_DESCRIPTION, Message, epoch_raised
from skein.models.chats.media import MAX_DESCRIPTION_TRIES, MediaFile
from skein.models.common.base import rfc3339
from skein.models.common.image_models import takes_images
from skein.models.common.retry import Retry, minutes
from skein.models.common.storage import Condition, Update
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import MediaJob
from skein.models.quotas.usage import Words
from skein.models.runs.completion import (
    ImageRef,
    ModelAnswer,
    ModelMessage,
    TokenUsage,
    well_formed,
)
from skein.ports import Clock, Files, Table
from skein.prompts import render
from skein.services.background.engine import (
    BackgroundEngine,
    Failure,
    Outcome,
    Overtaken,
    Question,
    Task,
    UnusableAnswer,
)
from skein.services.common.model_json import json_object_in
from skein.services.common.optimistic import optimistic
from skein.settings import Settings

BEGINNING = 300  # characters of a document that describe it
RETRY = Retry(minutes(5, 10), max_tries=MAX_DESCRIPTION_TRIES)
SHOWS = "shows"
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {SHOWS: {"type": "string"}},
    "required": [SHOWS],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionTask(Task[MediaJob, MediaFile, bytes, str]):
    """Task that describes one picture with a model that accepts pictures.

    Each claim counts as a try, even if the worker dies. After three tries, the picture remains
    without a description.
    """

    name: ClassVar[str] = "description"
    failures: ClassVar[str] = "DescriptionsFailed"
    seconds: ClassVar[int] = 60
    answer_tokens: ClassVar[int] = 500

    table: Table
    files: Files
    clock: Clock
    settings: Settings

    def claim(self, job: MediaJob, until: datetime) -> MediaFile | None:
        """Claim a message's picture that has no description yet; see `Task`."""
        file = self.read_file(job)
        if file is None or not file.describable(self.clock.now()):
            return None
        if file.busy(self.clock.now()) or self._model(job.tenant) is None:
            return None
        tries = file.description_tries + 1
        claimed = file.claimed(until).model_copy(update={"description_tries": tries})
        fields = {"fence": claimed.fence, "busy_until": rfc3339(until), "description_tries": tries}
        self.table.write(_due(file, until, fields, file.as_claimed))
        return claimed

    def read(self, claim: MediaFile) -> Iterator[Iterator[bytes]]:
        """Read the picture, and have the model asked once; ask nothing if the picture is gone."""
        content = self.files.get(claim.file_name)
        if content is None:
            self._settle(claim, claim.kept_until)
        else:
            yield iter((content,))

    def question(self, claim: MediaFile, batch: bytes) -> Question[str]:
        """Ask what the picture shows; the tokens are charged to the picture's sender."""
        image = ImageRef(
            chat_id=claim.chat_id,
            media_id=claim.id,
            seq=claim.seq or 0,
            number=1,
            content_type=claim.content_type,
            width=claim.width or 0,
            height=claim.height or 0,
        )
        asked = ModelMessage(role="user", content=render("picture_description"), images=(image,))
        model = self._model(claim.tenant) or self.settings.light_model
        return Question(
            model=model,
            messages=(asked,),
            schema=SCHEMA,
            agent_id=None,
            spread_by=claim.chat_id,
            parse=_description,
            words=Words.of([(claim.sender.person_id, len(batch))]),
            image_bytes={claim.id: batch},
        )

    def write(self, claim: MediaFile, batch: bytes, answer: str, usage: TokenUsage) -> None:
        """Store the description with the file and with its message."""
        self.store(claim, answer, self._model(claim.tenant))

    def fail(self, claim: MediaFile, batch: bytes, failure: Failure) -> None:
        """Try again later, at most three times."""
        tries = claim.description_tries
        next_try = self.clock.now() + RETRY.wait(tries)
        self._settle(claim, claim.kept_until if RETRY.is_over(tries=tries) else next_try)

    def release(self, claim: MediaFile, outcome: Outcome) -> None:
        """Release the claim; if the budget is used up, this claim does not count as a try."""
        if outcome.not_before is not None:
            tries = claim.description_tries - 1
            self._settle(claim, outcome.not_before, {"description_tries": tries or None})

    def read_file(self, job: MediaJob) -> MediaFile | None:
        """Read the file of a job; None if it is gone."""
        return MediaFile.read(self.table, MediaFile.key_of(job.tenant, job.chat_id, job.media_id))

    def store(self, claim: MediaFile, description: str, model: str | None) -> None:
        """Store a description with the file and with its message, in one transaction.

        Raises:
            Overtaken: The message or the file is gone, or another worker has claimed the file.
        """

        def attempt() -> None:
            key = Message.key_of(claim.tenant, claim.chat_id, claim.seq or 0)
            message = Message.read(self.table, key)
            if message is None or claim.id not in message.media_ids:
                raise Overtaken(str(key))
            fields = {"description": description, "described_by": model, "busy_until": None}
            try:
                self.table.transact(
                    [
                        _due(claim, claim.kept_until, fields, claim.as_claimed),
                        message.with_description(claim.id, description),
                        epoch_raised(claim.tenant, claim.chat_id),
                    ]
                )
            except ConditionFailed as failure:
                if 0 in failure.failed:
                    raise Overtaken(str(claim.key)) from failure
                raise

        optimistic(self.clock, attempt)

    def _settle(
        self, claim: MediaFile, due_at: datetime, also: dict[str, Any] | None = None
    ) -> None:
        """Release a claim, and set when the file's job runs again."""
        fields = {"busy_until": None, **(also or {})}
        try:
            self.table.write(_due(claim, due_at, fields, claim.as_claimed))
        except ConditionFailed as failure:
            raise Overtaken(str(claim.key)) from failure

    def _model(self, tenant: str) -> str | None:
        """Return the model that describes a tenant's pictures; None if no model accepts any."""
        item = self.table.get(TenantSettings.key_of(tenant))
        patterns = self.settings.overridden(TenantSettings.from_optional(item)).models_with_images
        models = (self.settings.light_model, self.settings.default_model)
        return next((model for model in models if takes_images(model, patterns)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptions:
    """The service that describes a file once it is checked."""

    engine: BackgroundEngine
    task: DescriptionTask

    def describe(self, job: MediaJob, *, deadline: datetime) -> None:
        """Describe a file that is ready and in a message, if it has no description (idempotent).

        Raises:
            Transient: The table or the bucket failed. The job can be repeated.
        """
        file = self.task.read_file(job)
        if file is None or file.state != "ready" or file.seq is None or file.described:
            return
        if file.is_image:
            self.engine.run(self.task, job, deadline=deadline)
        elif file.excerpt:
            try:
                self.task.store(file, _beginning(file.excerpt), None)
            except Overtaken:
                return


def _due(file: MediaFile, at: datetime, fields: dict[str, Any], condition: Condition) -> Update:
    """Return the write that changes a file, and has the file's job run again at `at`."""
    pointer = due_pointer("media", file.key, at) | {"due_tries": None}
    return Update(file.key, set=fields | pointer, condition=condition)


def _description(answer: ModelAnswer) -> str:
    found = json_object_in(answer.text, {SHOWS})
    text = found.get(SHOWS) if found is not None else None
    if answer.fault is not None or not isinstance(text, str) or not text.strip():
        raise UnusableAnswer("the answer has no description")
    return " ".join(well_formed(text).split())[:MAX_DESCRIPTION]


def _beginning(excerpt: str) -> str:
    """Return the beginning of a document, on one line."""
    text = " ".join(excerpt.split())
    return text if len(text) <= BEGINNING else f"{text[:BEGINNING]} ..."
