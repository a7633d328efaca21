"""Derive the audience of a chat, and the scope of the items that agents make in the chat."""

from collections.abc import Iterable

from skein.models.chats.chat import Chat
from skein.models.common.base import NamedMember
from skein.models.directory.agent import Agent
from skein.models.runs.run import Run
from skein.models.visibility.audience import OPEN, Audience, may_show
from skein.models.visibility.ownership import private_scope
from skein.models.visibility.provenance import SourceLabel

VISITOR_TOOLS = ("ask_choice", "ask_a_person", "end_run")
"""The tools in a chat with a visitor, unless the visitor's pool lists others."""


def audience_of(chat: Chat, *, since_seq: int) -> Audience:
    """Return the people who were present in `chat` for all messages from `since_seq` on."""
    if chat.visibility == "open":
        return OPEN
    people = sorted(
        member.id
        for member in chat.roster
        if member.kind == "user" and chat.joined_late.get(str(member.ref), 0) < max(since_seq, 1)
    )
    return Audience(open=False, people=tuple(people))


def everybody_since(chat: Chat) -> int:
    """Return the seq from which on all current people of a private chat have been present.

    When a person joins a private chat, content derived from the chat starts over (docs/security.md,
    "Audience"). For an open chat, which hides nothing, the result is 1.
    """
    if chat.visibility == "open":
        return 1
    people = {str(member.ref) for member in chat.roster if member.kind == "user"}
    joins = [seq for member, seq in chat.joined_late.items() if member in people]
    return max(joins, default=0) + 1


def destination_of(chat: Chat | None) -> Audience:
    return chat.readers if chat is not None else OPEN


def for_visitors(agent: Agent, tools: tuple[str, ...] | None) -> Agent:
    """Return an agent as it works in a chat with a visitor.

    The agent answers in text, and has the pool's tools instead of its own.

    Args:
        tools: The tools of the visitor's pool; None for the default.
    """
    tools = VISITOR_TOOLS if tools is None else tools
    return agent.model_copy(update={"enabled_tools": tools, "reply_mode": "text"})


def scope_of(chat: Chat | None) -> str | None:
    return chat.scope if chat is not None else None


def own_scope_of(run: Run, chat: Chat | None) -> str | None:
    """Return the scope of a run's new items if the run's prompt shows `chat`.

    If the prompt shows no chat and the run's audience is private, the scope is that of the run's
    plan (`Run.scope`), or else that of the only person in the audience.

    Returns:
        The scope; None if the items are open. For a run with a private audience, None means that
        the run has no scope for new items.
    """
    if chat is not None:
        return chat.scope
    if run.audience.open:
        return None
    return run.scope or private_scope(user_id=run.audience.only_person)


def label_in(chat: Chat, senders: Iterable[NamedMember], audience: Audience) -> SourceLabel | None:
    """Return the label of messages from a chat; None if only agents wrote the messages.

    The label has a title only for a group, and only if everyone in `audience` may know the title.
    `audience` is the people who may see the item that is made from the messages.
    """
    known = chat.kind == "group" and may_show(chat.readers, audience)
    label = SourceLabel.of(senders, title=chat.title if known else None)
    return label if label.named else None
