"""The names of members in one prompt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from skein.models.chats.chat import Chat, Message
from skein.models.chats.names import folded, numbered, numbers_of, plain_name
from skein.models.common.audience import Audience, Origin, may_show
from skein.models.common.base import MemberRef, NamedMember
from skein.services.common.quoting import quoted, quoted_id

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
        return self[named_member(ref, name)]

    def speaker(self, message: Message) -> str:
        """Return the sender's name, and the agent whose words they agreed to: `Ann (by Coach)`."""
        name, via = self[message.sender], message.via
        if via is None:
            return name
        agent = MemberRef(kind="agent", id=via.agent_id)
        return f"{name} (by {self.stored(agent, via.agent_name)})"

    def __getitem__(self, member: NamedMember) -> str:
        current = self._current(member)
        if current.ref == self.agent:
            return YOU
        return self.known.get(current.ref) or plain_name(current)

    def _current(self, member: NamedMember) -> NamedMember:
        now = self.formerly.get(member.id) if member.kind == "user" else None
        return member if now is None else member.model_copy(update={"id": now})


def named_member(ref: MemberRef, name: str) -> NamedMember:
    """Return a member whom an item stores by reference and name."""
    return NamedMember(kind=ref.kind, id=ref.id, name=name)


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


def shown_origin(message: Message, agent: MemberRef, readers: Audience) -> Origin | None:
    """Return the origin of an agent's own message, if these readers may be shown it."""
    origin = message.origin
    if origin is None or message.sender.ref != agent or not may_show(origin.audience, readers):
        return None
    return origin


def askers(messages: Iterable[Message], agent: MemberRef, readers: Audience) -> list[NamedMember]:
    """Return the members who asked for an agent's messages, by the origins that are shown."""
    origins = (shown_origin(message, agent, readers) for message in messages)
    return [named_member(one.asker, one.asked_by) for one in origins if one]
