"""The names of members in one prompt, and the section PARTICIPANTS."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skein.agent.prompt.section import SEPARATOR, Section
from skein.agent.reading.reading import Reading
from skein.models.chats.chat import Chat, Message
from skein.models.chats.names import folded, numbered, numbers_of, plain_name
from skein.models.common.base import MemberRef, NamedMember
from skein.ports import TokenCounter
from skein.services.common.quoting import quoted, quoted_id

PARTICIPANTS_GIVE_WAY = 4  # see `sections` for the order in which sections are shortened
YOU = "You"
EACH = " \u00b7 "


@dataclass(frozen=True, slots=True)
class Names:
    """The names of members in one prompt: plain, and unique.

    Attributes:
        agent: The agent that reads the prompt, which is `You`.
        known: The names of the other members.
    """

    agent: MemberRef
    known: Mapping[MemberRef, str]

    @classmethod
    def of(cls, agent: MemberRef, chat: Chat | None, messages: Iterable[Message] = ()) -> "Names":
        """Name the members of a chat, and the senders of messages who have left it.

        Args:
            agent: The agent that reads the prompt.
            chat: The active chat.
            messages: The messages of the active chat that the prompt shows, oldest first.
        """
        if chat is None:
            return cls(agent, {})
        numbers = numbers_of(chat.roster, chat.former_names)
        known = {ref: numbered(plain, number) for ref, (plain, number) in numbers.items()}
        former = {each.ref: each for each in chat.former_names}
        for ref, member in former.items():
            known.setdefault(ref, numbered(plain_name(member), member.number))
        senders = {message.sender.ref: message.sender for message in messages}
        return cls(agent, known).joined(senders.values())

    def joined(self, members: Iterable[NamedMember]) -> "Names":
        """Return the names with those of further members, numbered after the known ones."""
        known = dict(self.known)
        taken = set(map(folded, known.values()))
        for member in members:
            if member.ref in known or member.ref == self.agent:
                continue
            plain, number = plain_name(member), 1
            while folded(numbered(plain, number)) in taken:
                number += 1
            known[member.ref] = numbered(plain, number)
            taken.add(folded(known[member.ref]))
        return Names(self.agent, known)

    def __getitem__(self, member: NamedMember) -> str:
        if member.ref == self.agent:
            return YOU
        return self.known.get(member.ref) or plain_name(member)


def participants(
    names: Names,
    chat: Chat,
    messages: Iterable[Message],
    limit: int,
    counter: TokenCounter,
    *,
    with_ids: bool,
) -> Section:
    """Render the legend of a chat: its members in order of joining, then senders who have left.

    Args:
        names: The names in the prompt.
        chat: The active chat.
        messages: The messages that the prompt shows.
        limit: The token limit of the section. If it does not suffice, the ids are left out, then
            the full names, then members who sent none of the messages.
        counter: The exact token counter.
        with_ids: Whether to show the ids of people.
    """
    members = participants_of(chat, messages)
    senders = {message.sender.ref for message in messages}
    first = sorted(members, key=lambda each: each.ref not in {names.agent, *senders})

    def rendered(kept: int, *, ids: bool = False, full_names: bool = False) -> Section:
        shown = {member.ref for member in first[:kept]}
        listed = [member for member in members if member.ref in shown]
        entries = legend(names, chat, listed, with_ids=ids, with_full_names=full_names)
        more = f"{EACH}and {len(members) - kept} more" if kept < len(members) else ""
        text = f"PARTICIPANTS:\n  {entries}{more}"
        size = counter.count(text + SEPARATOR)
        return Section("PARTICIPANTS", text, size, PARTICIPANTS_GIVE_WAY, shorter)

    def shorter(tokens: int) -> Section:
        whole = rendered(len(members), full_names=True)
        if whole.tokens <= tokens:
            return whole
        kept = bisect_right(
            range(1, len(members) + 1), tokens, key=lambda number: rendered(number).tokens
        )
        return rendered(max(kept, 1))

    return rendered(len(members), ids=with_ids, full_names=True).within(limit)


def participants_of(chat: Chat, messages: Iterable[Message]) -> list[NamedMember]:
    """Return the members of a chat, then the senders of messages who have left it."""
    members = {member.ref: member for member in chat.roster}
    senders = {message.sender.ref: message.sender for message in messages}
    return list((members | senders | members).values())


def legend(
    names: Names,
    chat: Chat,
    members: Iterable[NamedMember],
    *,
    with_ids: bool,
    with_full_names: bool = True,
) -> str:
    """Render members as `Husam (human, id usr_1) · Coach (agent, you)`."""
    present = {member.ref for member in chat.roster}
    return EACH.join(
        _entry(names, each, present, with_ids=with_ids, with_full_name=with_full_names)
        for each in members
    )


def _entry(
    names: Names,
    member: NamedMember,
    present: set[MemberRef],
    *,
    with_ids: bool,
    with_full_name: bool,
) -> str:
    own = member.ref == names.agent
    facts = ["human" if member.kind == "user" else "agent"]
    if own:
        facts.append("you")
    elif with_ids and member.kind == "user":
        facts.append(f"id {quoted_id(member.id)}")
    name = plain_name(member) if own else names[member]
    if with_full_name and plain_name(member) != member.name:
        facts.append(f"named {quoted(member.name)}")
    if member.ref not in present:
        facts.append("left")
    return f"{name} ({', '.join(facts)})"


def names_in(reading: Reading) -> Names:
    """Return the names in the prompt of a reading: of the active chat, then of the other chats."""
    names = Names.of(reading.agent.as_member.ref, reading.chat, reading.history.messages)
    home, message = reading.trigger.home, reading.trigger.message
    others = [member for own in reading.other_chats.listed for member in own.chat.roster]
    others += home.roster if home is not None else ()
    return names.joined([*others, *([message.sender] if message is not None else [])])
