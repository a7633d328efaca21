"""Who is where: the audience of a chat, and where an agent keeps what it learns there."""

from skein.models.audience import OPEN, Audience
from skein.models.chat import Chat
from skein.models.ownership import private_scope
from skein.models.run import Run


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


def own_scope_of(run: Run, chat: Chat | None) -> str | None:
    """Which of its agent's partitions holds what a run makes while it looks at `chat`.

    A run that looks at no chat, and whose plan was set in private, uses the plan's partition. A run
    that was stored without one uses that of its only person, else that of the plan's chat. None for
    a private audience: there is no partition for it.
    """
    if chat is not None:
        return scope_of(chat)
    if run.audience.open:
        return None
    if run.scope is not None:
        return run.scope
    if run.audience.only_person is not None:
        return private_scope(user_id=run.audience.only_person)
    return private_scope(chat_id=run.trigger.plan.chat_id if run.trigger.plan else None)
