"""Who is where: the audience of a chat, and where an agent keeps what it learns there."""

from skein.models.audience import OPEN, Audience
from skein.models.chat import Chat


def audience_of(chat: Chat, *, since_seq: int) -> Audience:
    """Who has been in `chat` for everything from message `since_seq` on.

    Someone who joined later was not there for all of it, and someone who left is not there now.
    """
    if chat.visibility == "open":
        return OPEN
    people = sorted(
        member.id
        for member in chat.roster
        if member.kind == "user" and chat.joined_late.get(str(member.ref), 0) < max(since_seq, 1)
    )
    return Audience(open=False, people=tuple(people))


def everybody_since(chat: Chat) -> int:
    """The first message of a private chat for which all who are there now were there.

    What is derived from a private chat starts afresh when somebody joins (DESIGN 5.8); in an open
    one there is nothing to hide.
    """
    if chat.visibility == "open":
        return 1
    people = {str(member.ref) for member in chat.roster if member.kind == "user"}
    joins = [seq for member, seq in chat.joined_late.items() if member in people]
    return max(joins, default=0) + 1


def destination_of(chat: Chat | None) -> Audience:
    """Who will read what is said in `chat`; a run without a chat is like an open one."""
    return chat.readers if chat is not None else OPEN


def scope_of(chat: Chat | None) -> str | None:
    """Which of an agent's partitions holds what it derives in `chat`; see `owned_partition`."""
    if chat is None or chat.visibility == "open":
        return None
    people = [member.id for member in chat.roster if member.kind == "user"]
    if chat.kind == "direct" and len(people) == 1:
        return f"user:{people[0]}"
    return f"chat:{chat.id}"
