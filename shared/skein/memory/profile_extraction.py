"""Find values for a person's profile in a chunk of a private direct chat.

The model returns the values in the same answer as the memories. Only fields that the agent may set
are used, and only values from the person's own messages.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from skein.errors import Unprocessable
from skein.models.chats.chat import Message
from skein.models.common.free_fields import OWN_FIELDS
from skein.models.directory.agent import Agent, profile_field
from skein.models.directory.profile_change import ProfileSource
from skein.models.directory.user import User
from skein.models.runs.completion import well_formed
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner, private_scope
from skein.prompts import render
from skein.services.common.quoting import quoted_id, quoted_json
from skein.services.directory.profile_changes import may_fill, may_set, set_by_agent, value_of

MAX_VALUE = 500  # characters of one text; a longer text is ignored
MAX_TEXTS = 20  # texts of one value
MAX_SHOWN = 1_000  # characters of a current value in the question
NOT_SHOWN = '"(too long to show)"'
NO_VALUE = "no value"

logger = logging.getLogger(__name__)


class ProfileDraft(NamedTuple):
    """A value for a field of a person's profile.

    Attributes:
        field: A field that the agent may set.
        value: One text, or several texts.
        seqs: The person's messages from which the value comes, ascending.
        said_at: When the newest of these messages was written.
    """

    field: str
    value: str | list[str]
    seqs: tuple[int, ...]
    said_at: datetime


@dataclass(frozen=True, slots=True)
class AskedProfile:
    """The fields of a person's profile for which the model may find values in a chunk.

    Attributes:
        values: The current value of each of these fields; None if a field has no value.
        sent_at: The time of each of the person's messages in the chunk, by `seq`.
    """

    values: Mapping[str, Any]
    sent_at: Mapping[int, datetime]

    @property
    def schema(self) -> dict[str, object]:
        """The JSON schema of the answer's `profile`."""
        text = {"type": "string"}
        entry = {
            "type": "object",
            "properties": {
                "field": {"type": "string", "enum": list(self.values)},
                "value": {"anyOf": [text, {"type": "array", "items": text}]},
                "from": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["field", "value", "from"],
            "additionalProperties": False,
        }
        return {"type": "array", "items": entry}

    @property
    def request(self) -> str:
        """The part of the question that asks for values."""
        lines = [
            f"- {profile_field(quoted_id(field))}: {_shown(value)}"
            for field, value in self.values.items()
        ]
        variables = {"fields": "\n".join(lines), "longest": str(MAX_VALUE)}
        return render("consolidation_profile", variables)

    def drafts_in(self, given: object) -> list[ProfileDraft]:
        """Parse the answer's `profile`; drop entries that are not allowed or not usable.

        Args:
            given: The parsed JSON, which may have any type.
        """
        entries = given if isinstance(given, list) else []
        drafts = (self._draft(entry) for entry in entries if isinstance(entry, dict))
        return list({draft.field: draft for draft in drafts if draft is not None}.values())

    def _draft(self, entry: Mapping[str, Any]) -> ProfileDraft | None:
        field, value, seqs = entry.get("field"), _value(entry.get("value")), entry.get("from")
        given = seqs if isinstance(seqs, list) else [seqs]
        from_seqs = sorted({seq for seq in given if type(seq) is int and seq in self.sent_at})
        if not isinstance(field, str) or field not in self.values:
            return None
        if value is None or not from_seqs:
            return None
        if field in OWN_FIELDS and not isinstance(value, str):
            return None
        said_at = max(self.sent_at[seq] for seq in from_seqs)
        return ProfileDraft(field, value, tuple(from_seqs), said_at)


def asked_profile(
    agent: Agent, owner: Owner, person: User | None, messages: Sequence[Message]
) -> AskedProfile | None:
    """Return the profile fields for which to ask the model; None if there are none.

    A field that an operator or the person has set is never overwritten, so the question does not
    ask for it.

    Args:
        agent: The agent, whose `profile_fields` are allowed.
        owner: The owner of the chunk's memories.
        person: The person of the chat, if known.
        messages: The messages of the chunk.
    """
    if person is None or person.id != person_of(owner) or person.erasure_id is not None:
        return None
    sent_at = {
        message.seq: message.created_at
        for message in messages
        if message.sender.kind == "user" and message.sender.id == person.id
    }
    fields = [field for field in agent.profile_fields if may_fill(person, field)]
    if not fields or not sent_at:
        return None
    return AskedProfile({field: value_of(person, field) for field in fields}, sent_at)


def person_of(owner: Owner) -> str | None:
    """Return the person whose profile a chunk may fill; None if there is no such person.

    It is the person of a private direct chat, if no other person was present for the chunk.
    """
    person = owner.audience.only_person
    alone = owner.audience == Audience(open=False, people=(person,)) if person else False
    return person if alone and owner.scope == private_scope(user_id=person) else None


def filled(
    user: User,
    drafts: Sequence[ProfileDraft],
    owner: Owner,
    *,
    change_ids: Sequence[str],
    now: datetime,
) -> tuple[dict[str, Any], int]:
    """Fill a person's profile with values from a chunk.

    Args:
        user: The user as read.
        drafts: The values, at most one per field.
        owner: The owner of the chunk's memories, with the agent and the chat.
        change_ids: An id for each draft, under which its change of the profile is recorded.

    Returns:
        The changed fields of the user, and the number of values that were set.
    """
    revised, changed, count = user, set[str](), 0
    for draft, change_id in zip(drafts, change_ids, strict=True):
        if not may_set(revised, draft.field, draft.value, draft.said_at):
            continue
        source = ProfileSource(
            made_by="consolidation",
            agent_id=owner.agent_id,
            chat_id=owner.source_chat_id or "",
            seqs=draft.seqs,
            said_at=draft.said_at,
        )
        try:
            given = set_by_agent(
                revised, draft.field, draft.value, source, change_id=change_id, now=now
            )
        except Unprocessable as error:
            logger.info("profile value not taken", extra={"field": draft.field, "why": str(error)})
            continue
        revised = revised.model_copy(update=given)
        changed |= given.keys()
        count += bool(given)
    return {name: getattr(revised, name) for name in changed}, count


def _value(given: object) -> str | list[str] | None:
    """Clean a value, which is one text or several; None if it is empty, too long or unusable."""
    if isinstance(given, list):
        texts = [_text(one) for one in given]
        found = [one for one in texts if one is not None]
        return found if found and len(found) == len(texts) <= MAX_TEXTS else None
    return _text(given)


def _text(given: object) -> str | None:
    if not isinstance(given, str):
        return None
    text = well_formed(given).strip()
    return text if 0 < len(text) <= MAX_VALUE else None


def _shown(value: object) -> str:
    """Render a current value as JSON on one line."""
    if value is None:
        return NO_VALUE
    whole = json.dumps(value, ensure_ascii=False, default=str)
    return quoted_json(value) if len(whole) <= MAX_SHOWN else NOT_SHOWN
