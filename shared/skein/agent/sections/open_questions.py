"""OPEN QUESTIONS: unanswered questions to the person of a direct chat.

The list of the person's open choices is read with everything else. Questions before the history
window are read by key. Questions in other chats and questions before a reset are not shown.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.interface.history import words_of
from skein.interface.reading import SectionItems, SectionReads, person_at
from skein.interface.section import Section, SectionInput, listing
from skein.models.chats.chat import Message
from skein.models.chats.choice import INVITATION
from skein.models.chats.person_choices import PersonChoices
from skein.models.common.storage import Key
from skein.models.outbox.jobs import RunJob
from skein.models.visibility.provenance import Authors
from skein.services.chat_state.person_choices import current_choices
from skein.services.common.quoting import quoted

ONLY_PERSON = (
    "  Only the person can answer these, not you. Ask for their answer, and do not act before."
)
BY_OPTION = "answered by the button or the number of an option"
IN_WORDS = "answered in words, as a reply to it"


@dataclass(frozen=True, slots=True)
class OpenQuestions(SectionItems):
    """The agent's questions in a direct chat that its person can answer, oldest first."""

    messages: tuple[Message, ...] = ()

    @classmethod
    def guess(cls, job: RunJob) -> Iterable[Key]:
        """Return the key under which the choices of the run's person are stored."""
        if job.user_id is None:
            return ()
        return [PersonChoices.key_of(job.tenant, job.user_id)]

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the person's choices, and of questions before the history window."""
        person = person_at(read.chat)
        if person is None or read.chat is None:
            return []
        known = {message.seq for message in read.messages}
        more = [seq for seq in _asked(read) if seq not in known]
        keys = [Message.key_of(read.run.tenant, read.chat.id, seq) for seq in more]
        return [PersonChoices.key_of(read.run.tenant, person.id), *keys]

    @classmethod
    def found(cls, read: SectionReads) -> "OpenQuestions":
        """Keep the questions that are open now and may be shown."""
        chat, known = read.chat, {message.seq: message for message in read.messages}
        if chat is None:
            return cls()
        for seq in _asked(read):
            stored = Message.read(read.found, Message.key_of(chat.tenant, chat.id, seq))
            if stored is not None:
                known[seq] = chat.as_now(stored)
        asked = (known[seq] for seq in _asked(read) if seq in known)
        return cls(
            tuple(
                message
                for message in asked
                if message.choice is not None
                and message.choice.status(read.now) == "open"
                and read.admits(message)
                and not chat.hides(message.seq, message.created_at, here=chat)
            )
        )

    def authors(self) -> Iterable[Authors]:
        return [words_of(self.messages)]


def _asked(read: SectionReads) -> list[int]:
    """Return the `seq` of the agent's open questions in the chat; empty if no choices were read."""
    person = person_at(read.chat)
    if person is None or read.chat is None:
        return []
    item = read.found.get(PersonChoices.key_of(read.run.tenant, person.id))
    if item is None:
        return []
    choices = current_choices(item, read.run.tenant, person.id, read.now)
    return [
        choice.seq
        for choice in choices.open
        if choice.seq is not None
        and (choice.chat_id, choice.agent_id) == (read.chat.id, read.run.agent_id)
        and choice.purpose != INVITATION
    ]


def open_questions(given: SectionInput) -> Section | None:
    """Render the open questions and how to answer each of them; None without questions."""
    lines = []
    for message in given.reading.of(OpenQuestions).messages:
        if message.choice is not None:
            until = message.choice.expires_at.astimezone(given.context.zone)
            how = BY_OPTION if message.choice.options else IN_WORDS
            ends = f"until {until:%Y-%m-%d %H:%M %Z}"
            lines.append(f"  - msg:{message.seq} ({ends}; {how}): {quoted(message.text)}")
    if not lines:
        return None
    return listing("OPEN QUESTIONS", [ONLY_PERSON, *lines], given.list_limit, given.counter)
