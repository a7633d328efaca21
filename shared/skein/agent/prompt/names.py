"""The names of members in one prompt, and the section PARTICIPANTS."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from skein.agent.prompt.section import SEPARATOR, Section
from skein.agent.reading.reading import Reading
from skein.models.chats.chat import Chat, Message
from skein.models.chats.names import folded, numbered, numbers_of, plain_name
from skein.models.common.audience import Audience, Origin, may_show
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
        formerly: Old user ids of people, with their current ids.
    """

    agent: MemberRef
    known: Mapping[MemberRef, str]
    formerly: Mapping[str, str] = field(default_factory=dict)

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
        return cls(agent, known, chat.formerly).joined(senders.values())

    def joined(self, members: Iterable[NamedMember]) -> "Names":
        """Return the names with those of further members, numbered after the known ones."""
        known = dict(self.known)
        taken = set(map(folded, known.values()))
        for member in map(self._current, members):
            if member.ref in known or member.ref == self.agent:
                continue
            plain, number = plain_name(member), 1
            while folded(numbered(plain, number)) in taken:
                number += 1
            known[member.ref] = numbered(plain, number)
            taken.add(folded(known[member.ref]))
        return Names(self.agent, known, self.formerly)

    def stored(self, ref: MemberRef, name: str) -> str:
        """Return the name of a member whom an item stores by reference and name."""
        return self[_named(ref, name)]

    def __getitem__(self, member: NamedMember) -> str:
        current = self._current(member)
        if current.ref == self.agent:
            return YOU
        return self.known.get(current.ref) or plain_name(current)

    def _current(self, member: NamedMember) -> NamedMember:
        now = self.formerly.get(member.id) if member.kind == "user" else None
        return member if now is None else member.model_copy(update={"id": now})


def _named(ref: MemberRef, name: str) -> NamedMember:
    return NamedMember(kind=ref.kind, id=ref.id, name=name)


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
        chat: The active chat.
        messages: The messages that the prompt shows.
        limit: The token limit of the section. If it does not suffice, the ids are left out, then
            the full names, then members who sent none of the messages.
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
    """Return the names in the prompt of a reading.

    The names of the active chat come first. Then come those of the other chats, of those who asked
    for the agent's messages, and of the authors in borrowed context.
    """
    messages, other_chats = reading.history.messages, reading.other_chats
    names = Names.of(reading.agent.as_member.ref, reading.chat, messages)
    home, message = reading.trigger.home, reading.trigger.message
    chats = [own.chat for own in other_chats.listed] + ([home] if home is not None else [])
    formerly = {old: now for chat in chats for old, now in chat.formerly.items()}
    names = replace(names, formerly=formerly | dict(names.formerly))
    others = [member for chat in chats for member in chat.roster]
    borrowed = other_chats.borrowed.messages if other_chats.borrowed is not None else ()
    return names.joined(
        [
            *others,
            *([message.sender] if message is not None else []),
            *askers(messages, names.agent, reading.destination),
            *(entry.message.sender for entry in reading.recalled),
            *(_named(each.sender, each.author) for each in borrowed),
        ]
    )


def shown_origin(message: Message, agent: MemberRef, readers: Audience) -> Origin | None:
    """Return the origin of an agent's own message, if these readers may be shown it."""
    origin = message.origin
    if origin is None or message.sender.ref != agent or not may_show(origin.audience, readers):
        return None
    return origin


def askers(messages: Iterable[Message], agent: MemberRef, readers: Audience) -> list[NamedMember]:
    """Return the members who asked for an agent's messages, by the origins that are shown."""
    origins = (shown_origin(message, agent, readers) for message in messages)
    return [_named(one.asker, one.asked_by) for one in origins if one]
