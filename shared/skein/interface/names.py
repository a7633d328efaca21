"""The names of members in one prompt."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from skein.models.chats.chat import Chat, Message
from skein.models.chats.names import FormerName, folded, numbered, numbers_of, plain_name
from skein.models.chats.origin import Origin
from skein.models.common.base import MemberRef, NamedMember
from skein.models.directory.address_index import is_caller_name
from skein.models.visibility.audience import Audience, may_show
from skein.services.common.quoting import quoted, quoted_id

YOU = "You"
EACH = " \u00b7 "
MAX_FORMERLY = 3  # the newest former names of a member that a legend shows


@dataclass(frozen=True, slots=True)
class Names:
    """The names of members in one prompt: plain text, and no two members have the same name.

    Attributes:
        agent: The agent that reads the prompt, which is called `You`; None if no agent reads it.
        known: The names of the other members.
        formerly: For each former user id of a person, the person's current id.
    """

    agent: MemberRef | None
    known: Mapping[MemberRef, str]
    formerly: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, agent: MemberRef | None, chat: Chat | None, messages: Iterable[Message] = ()
    ) -> "Names":
        """Name the members of a chat, and the senders of messages who have left the chat.

        Args:
            agent: The agent that reads the prompt; None if no agent is called `You`.
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
        """Return the names with more members, who get names that no other member has."""
        known = dict(self.known)
        taken = set(map(folded, known.values()))
        for member in map(self.current, members):
            if member.ref in known or member.ref == self.agent:
                continue
            plain, number = plain_name(member), 1
            while folded(numbered(plain, number)) in taken:
                number += 1
            known[member.ref] = numbered(plain, number)
            taken.add(folded(known[member.ref]))
        return Names(self.agent, known, self.formerly)

    def stored(self, ref: MemberRef, name: str) -> str:
        """Return the prompt's name for a member whose reference and name are stored in an item."""
        return self[named_member(ref, name)]

    def speaker(self, message: Message) -> str:
        """Return the sender's name: `Ann (by Coach)` if Ann agreed to words of the agent Coach."""
        name, via = self[message.sender], message.via
        if via is None:
            return name
        agent = MemberRef(kind="agent", id=via.agent_id)
        return f"{name} (by {self.stored(agent, via.agent_name)})"

    def __getitem__(self, member: NamedMember) -> str:
        current = self.current(member)
        if current.ref == self.agent:
            return YOU
        return self.known.get(current.ref) or plain_name(current)

    def current(self, member: NamedMember) -> NamedMember:
        """Return a member with their current id, which changes when accounts are linked."""
        now = self.formerly.get(member.id) if member.kind == "user" else None
        return member if now is None else member.model_copy(update={"id": now})


def named_member(ref: MemberRef, name: str) -> NamedMember:
    """Return a member, made from a reference and a name that an item stores."""
    return NamedMember(kind=ref.kind, id=ref.id, name=name)


def participants_of(chat: Chat, messages: Iterable[Message]) -> list[NamedMember]:
    """Return the members of a chat, followed by senders of the messages who have left it."""
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
    """Render members, such as `Husam (human, id usr_1) · Coach (agent, you)`.

    If a member was renamed in the chat, their former names are included.
    """
    present = {member.ref for member in chat.roster}
    return EACH.join(
        _entry(names, chat, each, present, with_ids=with_ids, with_full_name=with_full_names)
        for each in members
    )


def speakers(names: Names, chat: Chat, messages: Iterable[Message], *, named_in: str = "") -> str:
    """Render the senders of the messages, as in a legend.

    Args:
        names: The names in the prompt.
        named_in: A text. Members whose current or former names are in this text are included, too.
    """
    shown = {names.current(message.sender).ref: message.sender for message in messages}
    shown |= {each.ref: each for each in chat.former_names if _is_in(named_in, _name_of(each))}
    shown |= {each.ref: each for each in chat.roster if _is_in(named_in, names[each])}
    present = {member.ref: member for member in chat.roster if member.ref in shown}
    return legend(names, chat, (shown | present).values(), with_ids=False)


def _is_in(text: str, name: str) -> bool:
    return name != YOU and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def former_names(chat: Chat, member: NamedMember) -> list[str]:
    """Return the former names of a member in a chat, oldest first.

    Names such as `Caller 1234` are left out, because no one uses them once the member has a name.
    """
    former = (each for each in chat.former_names if each.ref == member.ref)
    own = [each for each in former if not is_caller_name(each.name)]
    now = folded(plain_name(member))
    return [_name_of(each) for each in own if folded(plain_name(each)) != now]


def _name_of(former: FormerName) -> str:
    return numbered(plain_name(former), former.number)


def _entry(
    names: Names,
    chat: Chat,
    member: NamedMember,
    present: set[MemberRef],
    *,
    with_ids: bool,
    with_full_name: bool,
) -> str:
    own = member.ref == names.agent
    facts = ["agent" if member.kind == "agent" else "human"]
    if own:
        facts.append("you")
    elif with_ids and member.kind == "user":
        facts.append(f"id {quoted_id(member.id)}")
    name = plain_name(member) if own else names[member]
    if with_full_name and plain_name(member) != member.name and member.kind != "team":
        facts.append(f"named {quoted(member.name)}")
    if former := former_names(chat, member)[-MAX_FORMERLY:]:
        facts.append(f"formerly {' and '.join(former)}")
    if member.ref not in present and member.kind != "team":
        facts.append("left")
    return f"{name} ({', '.join(facts)})"


def shown_origin(message: Message, agent: MemberRef | None, readers: Audience) -> Origin | None:
    """Return the origin of a message of `agent`, if these readers may know the origin."""
    origin = message.origin
    if origin is None or message.sender.ref != agent or not may_show(origin.audience, readers):
        return None
    return origin


def askers(
    messages: Iterable[Message], agent: MemberRef | None, readers: Audience
) -> list[NamedMember]:
    """Return the members who asked the agent for its messages, as far as readers may know."""
    origins = (shown_origin(message, agent, readers) for message in messages)
    return [named_member(one.asker, one.asked_by) for one in origins if one]
