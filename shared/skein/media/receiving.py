"""Receipt of pictures and files: fetch or read each, check it, and store it without metadata.

A webhook or an upload creates an item in the state `pending`, with a due pointer. The worker stores
the file before the item becomes `ready`, so a crash at any time does no harm. If the item was
deleted in the meantime, the file is deleted, too.
"""

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from skein.errors import ConditionFailed, MediaRefused, NotFound, Transient
from skein.media.deleting import MediaDeletion
from skein.models.chats.media import (
    EXCERPT_CHARACTERS,
    MAX_BYTES,
    SMALL_BYTES,
    SMALL_TYPE,
    MediaFile,
)
from skein.models.chats.membership import Membership
from skein.models.common.file import CheckedFile
from skein.models.common.storage import Is, Update
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import MediaJob, RunJob
from skein.ports import Clock, Files, MediaReader, Sms, Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.outbox.dispatch import Dispatch

GIVE_UP_AFTER = timedelta(days=1)
MMS_TYPES = frozenset({"image/jpeg", "image/png"})
MAX_TRIES = 8  # dispatches by the tick; a file that crashes its worker each time then fails

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaReceiver:
    """Worker that receives pictures and files, and deletes expired ones.

    Args:
        sms: Returns the provider, which stores the files of messages until they are fetched.
        reader: Returns the libraries that read files. They are large, so they are loaded late.
    """

    table: Table
    clock: Clock
    files: Files
    sms: Callable[[], Sms]
    reader: Callable[[], MediaReader]
    deletion: MediaDeletion
    dispatch: Dispatch

    def take(self, job: MediaJob) -> None:
        """Receive or delete a file, if its item is due (idempotent).

        Raises:
            Transient: The provider, the bucket or the table is out of reach; the job is retried.
        """
        item = self.table.get(MediaFile.key_of(job.tenant, job.chat_id, job.media_id))
        if item is None:
            self.deletion.delete_stored(job)
            return
        file = MediaFile.from_item(item)
        if self.clock.now() >= file.kept_until:
            self.deletion.delete(file)
        elif file.seq is not None:
            if file.state == "pending":
                self._settle(file, self._result(file, tries=int(item.get("due_tries", 0))))
            # A worker may have died before these two steps, so they are always repeated.
            self.files.delete(file.incoming_name)
            self._end_waits(file)

    def _result(self, file: MediaFile, *, tries: int) -> dict[str, Any]:
        """Store the checked file, and return the new attributes of its item."""
        if tries >= MAX_TRIES:
            return _failed(file, "unreadable")
        try:
            checked = self.reader().check(self._content(file), file.content_type)
        except MediaRefused as refused:
            return _failed(file, refused.reason)
        self.files.put(file.file_name, checked.content, checked.content_type)
        if checked.text:
            self.files.put(file.text_name, checked.text.encode(), "text/plain; charset=utf-8")
        return _described(checked) | {"small_size": self._stored_small(file, checked)}

    def _stored_small(self, file: MediaFile, checked: CheckedFile) -> int | None:
        """Store a small copy of a picture that does not fit in an MMS; return the copy's size."""
        carried = checked.content_type in MMS_TYPES and len(checked.content) <= SMALL_BYTES
        if checked.width is None or carried:
            return None
        try:
            small = self.reader().shrunk(checked.content, SMALL_BYTES)
        except MediaRefused:  # it takes more time or memory than allowed for a file
            small = None
        if small is not None:
            self.files.put(file.small_name, small, SMALL_TYPE)
        return len(small) if small is not None else None

    def _content(self, file: MediaFile) -> bytes:
        """Return the bytes of a file as it was sent or uploaded.

        Raises:
            MediaRefused: The file is gone, or is not the announced one.
            Transient: The provider or the bucket is out of reach.
        """
        if file.source is None:
            content = self.files.get(file.incoming_name)
            announced = content is not None and hashlib.sha256(content).hexdigest() == file.sha256
            if content is None or not announced:
                raise MediaRefused("upload_missing")
            return content
        try:
            fetched = self.sms().media(file.source, max_bytes=MAX_BYTES)
        except Transient:
            if self.clock.now() < file.created_at + GIVE_UP_AFTER:
                raise
            fetched = None
        if fetched is None:
            raise MediaRefused("gone")
        return fetched

    def _settle(self, file: MediaFile, result: dict[str, Any]) -> None:
        """Store the result in the item, unless it was deleted or another worker was faster."""
        over = {"source": None, "sha256": None, "due_tries": None}
        due = due_pointer("media", file.key, file.kept_until)
        try:
            self.table.write(
                Update(file.key, set=result | over | due, condition=Is("state", "pending"))
            )
        except ConditionFailed:
            if self.table.get(file.key) is None:
                self.deletion.delete_stored(file.job)
            return
        logger.info("file received", extra={**_named(file), "state": result["state"]})

    def _end_waits(self, file: MediaFile) -> None:
        """Start the runs that have waited for this file, if they wait for no other file."""
        with suppress(NotFound):
            agents = read_snapshot(self.table, file.tenant, file.chat_id).agents
            for agent in agents:
                waits = agent.awaited_media
                if waits is not None and file.id in waits.ids:
                    optimistic(self.clock, partial(self._end_wait, agent, file.id))

    def _end_wait(self, agent: Membership, media_id: str) -> None:
        """Remove a file from the files for which an agent waits; start the run if none is left.

        Raises:
            ConditionFailed: The agent waits for other files now; the caller reads again.
        """
        current = Membership.read(self.table, agent.key)
        waits = current.awaited_media if current is not None else None
        if current is None or waits is None or media_id not in waits.ids:
            return
        left = waits.without(media_id)
        change = left.model_dump(mode="json") if left is not None else None
        unchanged = Is("awaited_media", waits.model_dump(mode="json"))
        self.table.write(Update(agent.key, set={"awaited_media": change}, condition=unchanged))
        slot = current.queued_run
        if left is None and slot is not None and current.free:
            user_id = slot.trigger.user_id
            run = RunJob(
                tenant=agent.tenant,
                run_id=slot.run_id,
                agent_id=agent.member.id,
                user_id=user_id,
            )
            self.dispatch.send([run])


def _failed(file: MediaFile, reason: str) -> dict[str, Any]:
    """Return the attributes to store in the item of a rejected file."""
    logger.info("file not accepted", extra={**_named(file), "why": reason})
    return {"state": "failed", "reason": reason}


def _described(checked: CheckedFile) -> dict[str, Any]:
    """Return the attributes to store in the item of a file that passed the check."""
    text = checked.text or ""
    return {
        "state": "ready",
        "reason": None,
        "content_type": checked.content_type,
        "size": len(checked.content),
        "width": checked.width,
        "height": checked.height,
        "excerpt": text[:EXCERPT_CHARACTERS] or None,
        "characters": len(text),
    }


def _named(file: MediaFile) -> dict[str, Any]:
    return {"chat_id": file.chat_id, "media_id": file.id, "seq": file.seq}
