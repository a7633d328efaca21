"""YOUR CHATS and ACTIVE RUNS: the agent's chats that may be shown, and its runs in them.

- What is read: as many of the agent's most recently active chats as fit into the batch, each with
  the agent's membership, and the pointers to its live runs without a chat.
- What is kept: the active chat and the most recently active other chats that may be shown, 20 in
  all. A private prompt shows only a few chats of outsiders, that is, of people who do not read the
  prompt (`for_readers`).
- Order: newest first. If all chats are shown, they are in the order of creation instead, which new
  messages do not change, and the section comes before the history. In a private prompt, chats of
  outsiders come after the others.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo

from skein.interface.names import Names
from skein.interface.reading import OwnChat, Reading, SectionItems, SectionReads
from skein.interface.section import Section, SectionInput, listing
from skein.models.chats.chat import Chat, Message
from skein.models.common.base import NamedMember
from skein.models.common.storage import Key
from skein.models.runs.run import LIVE_RUN, Run
from skein.models.runs.trigger import Wait
from skein.models.visibility.audience import Audience, may_show
from skein.models.visibility.provenance import Authors
from skein.services.common.quoting import quoted, quoted_id
from skein.services.visibility.audience import destination_of

SHOWN_CHATS = 20
ACTIVE_FOR = timedelta(hours=6)
MAX_OF_OUTSIDER = 3  # chats of one outsider in one section of a private prompt
NOBODY = ""  # the person of a chat that everyone has left
NAMED_MEMBERS = 20  # members of a chat that are listed by name; further ones are only counted
CHAT_ID = "chat_id"
QUESTION_CHARACTERS = 200  # of the question that a waiting run has asked


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run of the agent that has not ended.

    Attributes:
        run_id: The id of the run.
        chat: The chat where the run works or waits; None for a run without a chat.
        waiting: Whether the run waits for a reply in that chat.
        named: Whether the run's id may be shown. The id contains the id of the chat to which the
            run belongs.
        wait: The run's wait, if it waits in `chat`.
    """

    run_id: str
    chat: Chat | None
    waiting: bool
    named: bool = True
    wait: Wait | None = None


@dataclass(frozen=True, slots=True)
class YourChats(SectionItems):
    """The agent's chats that may be shown, including the active chat, and its live runs.

    Attributes:
        listed: The chats to list.
        complete: Whether `listed` has all of the agent's chats that may be shown.
        live_runs: The agent's runs that have not ended.
        question: The question that a waiting run has asked in the active chat; None if there is no
            such question, or if it may not be shown.
    """

    listed: tuple[OwnChat, ...] = ()
    complete: bool = False
    live_runs: tuple[LiveRun, ...] = ()
    question: Message | None = None
    owned = (LIVE_RUN,)

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the key of the question that a waiting run has asked in the active chat."""
        wait = read.member.wait if read.member is not None else None
        if wait is None or read.chat is None or any(m.seq == wait.seq for m in read.messages):
            return []
        return [Message.key_of(read.run.tenant, read.chat.id, wait.seq)]

    @classmethod
    def found(cls, read: SectionReads) -> "YourChats":
        """Keep the active chat and the newest other chats that may be shown, with their runs."""
        readers = read.readers
        active = [
            replace(own, chat=own.chat.titled_by(read.insiders, readers)) for own in read.active
        ]
        shown = [own for own in read.others if may_show(destination_of(own.chat), readers)]
        known, unknown = for_readers(read, shown)
        listed = newest_first([*active, *known[: SHOWN_CHATS - len(active)]])
        complete = read.all_others and not unknown and len(listed) == len(active) + len(known)
        listed += unknown[: SHOWN_CHATS - len(listed)]
        if complete:
            listed.sort(key=lambda own: (own.chat.created_at, own.chat.id))
        lone = [
            item["run_id"]
            for item in read.owned
            if LIVE_RUN.holds(item) and may_show(Audience.model_validate(item["audience"]), readers)
        ]
        homes = {own.chat.id for own in (*active, *shown)}
        runs = _live_runs(listed, lone, homes=homes)
        return cls(tuple(listed), complete, runs, _question(read))

    def authors(self) -> Iterable[Authors]:
        words = [self.question.words] if self.question is not None else []
        return (*(own.chat.title_authors for own in self.listed), *words)

    @property
    def awaiting(self) -> LiveRun | None:
        """A run that waits for days for a reply in the active chat; see the tool `resume_run`."""
        question = self.question
        if question is None:
            return None
        return next(
            (
                live
                for live in self.live_runs
                if live.wait is not None and live.chat is not None
                if (live.chat.id, live.wait.seq) == (question.chat_id, question.seq)
                if live.wait.any_until is not None
            ),
            None,
        )


def _question(read: SectionReads) -> Message | None:
    """Return the question that a waiting run has asked in the active chat, if it may be shown."""
    wait, chat = read.member.wait if read.member is not None else None, read.chat
    if wait is None or chat is None:
        return None
    stored = Message.read(read.found, Message.key_of(chat.tenant, chat.id, wait.seq))
    known = [chat.as_now(stored)] if stored is not None else read.messages
    asked = next((message for message in known if message.seq == wait.seq), None)
    if asked is None or not read.insiders.admit(asked.words):
        return None
    return None if chat.hides(asked.seq, asked.created_at, here=chat) else asked


def for_readers(
    read: SectionReads, chats: Iterable[OwnChat]
) -> tuple[list[OwnChat], list[OwnChat]]:
    """Return the chats that a prompt may name: its readers' chats and other chats, newest first.

    In the prompt of an open chat, all chats count as chats of its readers. The readers of a prompt
    without a chat are the audience of its run.

    A private prompt shows an outsider's open chats only if they had a message in the last six
    hours, and at most three of each outsider. A person therefore cannot fill the prompts of people
    with whom they share no chat. All chats that everyone has left count together as chats of one
    outsider, because anyone could open chats and leave them. A prompt that must not contain
    outsiders' words shows no chats of outsiders.

    Args:
        read: What was read.
        chats: Chats that may be shown to the readers.

    Returns:
        The chats of the readers, and the chats of outsiders.
    """
    newest = newest_first(chats)
    readers = read.readers if read.chat is not None else read.run.audience
    if readers.open:
        return newest, []
    known, unknown, shown = [], [], Counter[str]()
    for own in newest:
        people = own.chat.person_ids or (NOBODY,)
        if own.chat.visibility == "private" or readers.counts(people):
            known.append(own)
        elif (
            not read.insiders.alone
            and own.last_active_at >= read.now - ACTIVE_FOR
            and all(shown[person] < MAX_OF_OUTSIDER for person in people)
        ):
            unknown.append(own)
            shown.update(people)
    return known, unknown


def newest_first(chats: Iterable[OwnChat]) -> list[OwnChat]:
    """Return the chats sorted by their last message, newest first."""
    return sorted(chats, key=lambda own: own.last_active_at, reverse=True)


def _live_runs(
    chats: Sequence[OwnChat], lone: Sequence[str], *, homes: Collection[str]
) -> tuple[LiveRun, ...]:
    """Return the live runs in `chats` and those without a chat, each once.

    If a run that belongs to no chat waits for a reply in a chat, it is returned as waiting there.
    If a run of a private chat waits in an open chat, its id is not shown in the open chat.

    Args:
        chats: The chats that are shown.
        lone: The ids of runs without a chat that may be shown.
        homes: The ids of all chats that may be shown.
    """
    live = {run_id: LiveRun(run_id, None, waiting=False) for run_id in lone}
    for own in chats:
        running, wait = own.member.running_run, own.member.wait
        if running is not None:
            live[running] = LiveRun(running, own.chat, waiting=False)
        if wait is not None:
            named = wait.run_id in lone or Run.home_of(wait.run_id) in homes
            live[wait.run_id] = LiveRun(wait.run_id, own.chat, waiting=True, named=named, wait=wait)
    return tuple(live.values())


def listed_elsewhere(reading: Reading) -> tuple[Chat, ...]:
    """Return the listed chats except the active chat; empty if there is no active chat."""
    return others_listed(reading) if reading.chat is not None else ()


def others_listed(reading: Reading) -> tuple[Chat, ...]:
    """Return the chats that YOUR CHATS lists, except the active chat."""
    active = reading.chat.id if reading.chat is not None else None
    listed = (own.chat for own in reading.of(YourChats).listed)
    return tuple(chat for chat in listed if chat.id != active)


def askable_elsewhere(reading: Reading) -> tuple[Chat, ...]:
    """Return the listed chats for which a person in the active chat may approve a post.

    These chats share a person with the active chat, but have readers who may not see it.
    """
    here = set(reading.chat.person_ids) if reading.chat is not None else set()
    others = (c for c in listed_elsewhere(reading) if not may_show(reading.destination, c.readers))
    return tuple(chat for chat in others if not here.isdisjoint(chat.person_ids))


def name_of(given: SectionInput, title: str, chat_id: str) -> str:
    """Return the quoted title of another chat, with the chat's id if the model needs the id.

    The id is left out if no tool takes it, or if YOUR CHATS lists the chat under a unique title.
    """
    listed = [own.chat for own in given.reading.of(YourChats).listed]
    unique = [chat.id for chat in listed if chat.display_title == title] == [chat_id]
    if unique or not given.takes(CHAT_ID):
        return quoted(title)
    return f"{quoted(title)} (id: {quoted_id(chat_id)})"


def all_your_chats(given: SectionInput) -> Section | None:
    """Render the agent's chats if all of them are listed; this list rarely changes."""
    return _your_chats(given) if given.reading.of(YourChats).complete else None


def your_newest_chats(given: SectionInput) -> Section | None:
    """Render the agent's newest chats if not all of them fit; this list changes often."""
    return None if given.reading.of(YourChats).complete else _your_chats(given)


def _your_chats(given: SectionInput) -> Section | None:
    """Render the agent's chats, with up to 20 members of each chat except the active one.

    Returns:
        The section. None if no tool takes a chat's id, or if the active chat is the only one.
    """
    if not given.takes(CHAT_ID) or not given.reading.of(YourChats).listed:
        return None
    active, names, lines = given.reading.chat, given.names, []
    for own in given.reading.of(YourChats).listed:
        name = f"{quoted(own.chat.display_title)} (id: {quoted_id(own.chat.id)})"
        if active is not None and own.chat.id == active.id:
            lines.append(f"  - {name} [ACTIVE]")
            continue
        others = [member for member in own.chat.roster if member.ref != names.agent]
        shown = [_in_roster(member, names) for member in others[:NAMED_MEMBERS]]
        if len(others) > NAMED_MEMBERS:
            shown.append(f"and {len(others) - NAMED_MEMBERS} more")
        members = f": {', '.join(shown)}" if shown else ""
        lines.append(f"  - {name}{members}")
    if all(line.endswith(" [ACTIVE]") for line in lines):
        return None
    return listing("YOUR CHATS", lines, given.list_limit, given.counter)


def active_runs(given: SectionInput) -> Section | None:
    """Render the agent's other live runs; None without other runs.

    The entry of a waiting run names the members who can reply. If the run waits for days, the entry
    also says until when. If the run asked its question in the active chat, the entry quotes the
    question.
    """
    lines, names, with_ids = [], given.names, given.takes("run_id")
    here = given.reading.of(YourChats).awaiting
    for live in given.reading.of(YourChats).live_runs:
        if live.run_id == given.run.id:
            continue
        state = "waiting for a reply" if live.waiting else "running"
        where = f" in {quoted(live.chat.display_title)}" if live.chat else ""
        whom = _awaited(live.chat, names) if live.waiting and live.chat else ""
        name = f" (id: {quoted_id(live.run_id)})" if with_ids and live.named else ""
        until, asked = _until(live, given.context.zone), _asked(given) if live is here else ""
        lines.append(f"  - {state}{whom}{where}{until}{name}{asked}")
    if not lines:
        return None
    return listing("ACTIVE RUNS", lines, given.list_limit, given.counter)


def _until(live: LiveRun, zone: tzinfo) -> str:
    """Return the end of a wait of several days, in words; '' for a shorter wait."""
    if live.wait is None or live.wait.any_until is None:
        return ""
    return f" until {live.wait.until.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def _asked(given: SectionInput) -> str:
    """Return the text that quotes the question of a waiting run."""
    question = given.reading.of(YourChats).question
    if question is None:
        return ""
    return f"; it asked in msg:{question.seq}: {quoted(question.text[:QUESTION_CHARACTERS])}"


def _in_roster(member: NamedMember, names: Names) -> str:
    return f"{names[member]} (agent)" if member.kind == "agent" else names[member]


def _awaited(chat: Chat, names: Names) -> str:
    others = [names[member] for member in chat.roster if member.ref != names.agent]
    if len(others) > NAMED_MEMBERS:
        others = [*others[:NAMED_MEMBERS], f"{len(others) - NAMED_MEMBERS} more"]
    return f" by {' or '.join(others)}" if others else ""
