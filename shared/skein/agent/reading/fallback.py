"""Build readings (the data for a prompt) that contain only the messages to answer."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from skein.agent.sections.trigger import ShownTrigger
from skein.errors import NotFound
from skein.interface.history import History
from skein.interface.reading import (
    Reading,
    current_seq,
    found_configuration,
    keys_of_configuration,
)
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Key
from skein.models.runs.run import Run
from skein.models.visibility.audience import may_show
from skein.ports import Table
from skein.services.chat_state.snapshot import found_snapshot, keys_of_snapshot
from skein.services.visibility.audience import audience_of, destination_of, own_scope_of
from skein.services.visibility.insiders import insiders_of, keys_of_insiders
from skein.settings import Settings
from skein.workspace.sections.threads import Threads

MAX_BETWEEN = 20  # messages that are read to find how far SEEN may move
SPEAKING_TRIGGERS = frozenset({"plan", "service"})  # their text is stored in the run itself


def can_degrade(run: Run, chat: Chat | None) -> bool:
    """Return whether a run can answer without context.

    This requires a current message, or a trigger with a text of its own.
    """
    if current_seq(run, chat) is not None:
        return True
    if run.trigger.type not in SPEAKING_TRIGGERS:
        return False
    return chat is None or run.leaves_messages(chat.id)


def read_degraded(
    table: Table,
    run: Run,
    chat: Chat | None,
    member: Membership | None,
    *,
    now: datetime,
    settings: Settings,
) -> Reading:
    """Read the agent and the messages that a run answers, in one batch call.

    Args:
        run: A run for which `can_degrade` is true.
        chat: The active chat.
        member: The agent's membership in the active chat.
        settings: The settings of the deployment.

    Raises:
        NotFound: The agent or the current message no longer exists.
        Transient: Reading failed.
    """
    current = current_seq(run, chat)
    seen = member.seen_seq if member else 0
    asked_from = _asked_from(run, chat, current)
    keys = _keys_of_messages(chat, current, seen, asked_from)
    snapshot_keys, home_keys = keys_of_snapshot(chat, member), keys_of_insiders(run, chat)
    found = table.get_many([*keys_of_configuration(run, chat), *snapshot_keys, *home_keys, *keys])
    homes = Chat.read_each(found, home_keys)
    agent, config = found_configuration(run, chat, found, settings)
    messages = Message.read_each(found, keys)
    me = MemberRef(kind="agent", id=run.agent_id)
    if current is not None and current not in {message.seq for message in messages}:
        raise NotFound("message not found", reason=Reason.MESSAGE_GONE)
    shown = _asked(messages, asked_from, current, me)
    history = History(messages=shown, seen_to=seen_to(seen, messages, shown, me))
    return Reading(
        agent=agent,
        chat=chat,
        member=member,
        destination=destination_of(chat),
        audience=audience_of(chat, since_seq=asked_from or 1) if chat else run.audience,
        scope=own_scope_of(run, chat),
        now=now,
        config=config,
        items=(history, _shown_trigger(run, chat, shown)),
        insiders=insiders_of(run, [chat, *homes]),
        snapshot=found_snapshot(chat, member, found),
        prompt_mark="context_unavailable",
    )


def _shown_trigger(run: Run, chat: Chat | None, shown: Sequence[Message]) -> ShownTrigger:
    home = chat if chat is not None and chat.id == run.own_chat_id else None
    return ShownTrigger(
        home=home,
        message=shown[-1] if home and shown else None,
        may_be_shown=(
            chat is None or home is not None or may_show(run.audience, destination_of(chat))
        ),
    )


def without_context(run: Run, reading: Reading) -> Reading:
    """Reduce the data for a prompt to the messages that the run answers.

    A run may answer no message, for example after a wait has timed out. The data then includes the
    newest message of another member. For the run of a plan or a service, the data includes the
    trigger.
    """
    if reading.chat is not None and run.leaves_messages(reading.chat.id):
        return _reduced(reading, History(seen_to=reading.member.seen_seq if reading.member else 0))
    agent = MemberRef(kind="agent", id=run.agent_id)
    messages = reading.of(History).messages
    texts = [message for message in messages if message.kind in {"text", "team"}]
    current = current_seq(run, reading.chat)
    if current is None:
        current = max((one.seq for one in texts if one.sender.ref != agent), default=None)
    seen = reading.member.seen_seq if reading.member else 0
    shown = _asked(texts, _asked_from(run, reading.chat, current), current, agent)
    return _reduced(reading, History(messages=shown, seen_to=seen_to(seen, messages, shown, agent)))


def _reduced(reading: Reading, history: History) -> Reading:
    """Return the reading with only this history, the trigger and the threads.

    The prompt does not show the threads. They are kept because the run still belongs to its active
    thread.
    """
    items = (history, reading.of(ShownTrigger), reading.of(Threads))
    return replace(reading, items=items, person=None, prompt_mark="context_off")


def seen_to(
    seen: int, messages: Sequence[Message], shown: Sequence[Message], agent: MemberRef
) -> int:
    """Return the new SEEN watermark if a prompt shows only some messages.

    SEEN moves past messages that are shown, the agent's own messages, and messages that agents are
    never shown. It stops before the first message of another member that is not shown. This message
    therefore stays new for the agent's next run.

    Args:
        seen: The current position, a `seq`.
        messages: The messages that were read.
        shown: The messages that the prompt shows.
    """
    known = {message.seq: message for message in messages}
    while (following := known.get(seen + 1)) is not None:
        is_new = following.kind in {"text", "team"} and following.sender.ref != agent
        if is_new and following not in shown:
            break
        seen += 1
    return seen


def _asked_from(run: Run, chat: Chat | None, current: int | None) -> int | None:
    """Return the `seq` of the first message that the run answers, or None."""
    trigger = run.trigger
    here = chat is not None and chat.id == run.chat_id
    if current is None or not here or trigger.seq != current or trigger.from_seq is None:
        return current
    return max(trigger.from_seq, current - MAX_BETWEEN + 1)


def _asked(
    messages: Sequence[Message], first: int | None, current: int | None, agent: MemberRef
) -> tuple[Message, ...]:
    if first is None or current is None:
        return ()
    return tuple(
        message
        for message in messages
        if message.seq == current
        or (
            first <= message.seq < current
            and message.kind in {"text", "team"}
            and message.sender.ref != agent
        )
    )


def _keys_of_messages(
    chat: Chat | None, current: int | None, seen: int, asked_from: int | None
) -> list[Key]:
    """Return the keys of the messages to answer, and of the messages after SEEN.

    If more than `MAX_BETWEEN` messages follow SEEN, only the messages to answer are included.
    """
    if chat is None or current is None or asked_from is None:
        return []
    first = seen + 1 if current - seen <= MAX_BETWEEN else asked_from
    return [
        Message.key_of(chat.tenant, chat.id, seq)
        for seq in range(min(first, asked_from), current + 1)
    ]
