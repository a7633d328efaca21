"""What is to be answered alone: what an agent answers from when there is no more to be had.

That is the current message and, of a burst, those before it that the same run is to answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from skein.agent.reading.reader import Reading
from skein.agent.reading.trigger import current_seq
from skein.errors import NotFound
from skein.models.agent import Agent
from skein.models.audience import may_show
from skein.models.base import MemberRef
from skein.models.chat import Chat, Membership, Message
from skein.models.overrides import StackSettings
from skein.models.run import Run
from skein.models.storage import Key
from skein.ports import Table
from skein.services.chat_state.audience import audience_of, destination_of, own_scope_of
from skein.services.config.resolution import found_settings, keys_of_settings, resolved
from skein.services.quotas.token_budget import found_allowances, payer_keys
from skein.settings import Settings

MAX_BETWEEN = 20  # messages that are looked at to know how far SEEN may move
SPEAKING_TRIGGERS = frozenset({"plan", "service"})  # these say in the run itself what is wanted


def can_do_alone(run: Run, chat: Chat | None) -> bool:
    """Whether there is a current message, or words in its place, that can be answered alone."""
    if current_seq(run, chat) is not None:
        return True
    return chat is None and run.trigger.type in SPEAKING_TRIGGERS


def read_alone(
    table: Table,
    run: Run,
    chat: Chat | None,
    member: Membership | None,
    *,
    now: datetime,
    settings: Settings,
) -> Reading:
    """Read the agent and what the run is to answer, in one call.

    Args:
        table: Where they are.
        run: One that `can_do_alone`.
        chat: Which it looks at.
        member: The agent's place there.
        now: The present.
        settings: Of the deployment.

    Raises:
        NotFound: The agent, or the message, is gone.
        Transient: Not even that could be read.
    """
    current, agent_key = current_seq(run, chat), Agent.key_of(run.tenant, run.agent_id)
    seen = member.seen_seq if member else 0
    asked_from = _asked_from(run, chat, current)
    keys = _keys_of_messages(chat, current, seen, asked_from)
    stack_key = StackSettings.key_for(run.id)
    found = table.get_many(
        [agent_key, stack_key, *keys_of_settings(run.tenant, chat), *payer_keys(run), *keys]
    )
    if agent_key not in found or found[agent_key].get("deleted_at"):
        raise NotFound("the agent is gone")
    messages = [Message.from_item(found[key]) for key in keys if key in found]
    me = MemberRef(kind="agent", id=run.agent_id)
    if current is not None and current not in {message.seq for message in messages}:
        raise NotFound("the message is gone")
    shown = _asked(messages, asked_from, current, me)
    agent = Agent.from_item(found[agent_key])
    line, tenant = found_settings(run.tenant, chat, found)
    home = chat if chat is not None and chat.id == run.chat_id else None
    destination = destination_of(chat)
    return Reading(
        agent=agent,
        chat=chat,
        member=member,
        messages=shown,
        before=None,
        borrowed=None,
        home=home,
        trigger_message=shown[-1] if home and shown else None,
        destination=destination,
        audience=audience_of(chat, since_seq=asked_from or 1) if chat else run.audience,
        scope=own_scope_of(run, chat),
        chats=(),
        elsewhere=(),
        goals=(),
        plans=(),
        live_runs=(),
        now=now,
        effective=resolved(agent, line, tenant, settings, chat=chat),
        tenant=tenant,
        stack=StackSettings.found_in(found.get(stack_key)),
        allowances=found_allowances(run, found),
        told=chat is None or home is not None or may_show(run.audience, destination),
        mark="context_unavailable",
        seen_to=seen_to(seen, messages, shown, me),
    )


def without_context(run: Run, reading: Reading) -> Reading:
    """What is left for somebody whose agents are given no context: what is to be answered.

    Where nothing is to be answered, as after a wait in vain, the newest words of somebody else.
    """
    agent = MemberRef(kind="agent", id=run.agent_id)
    texts = [message for message in reading.messages if message.kind == "text"]
    current = current_seq(run, reading.chat)
    if current is None:
        current = max((one.seq for one in texts if one.sender.ref != agent), default=None)
    seen = reading.member.seen_seq if reading.member else 0
    shown = _asked(texts, _asked_from(run, reading.chat, current), current, agent)
    return replace(
        reading,
        messages=shown,
        before=None,
        borrowed=None,
        chats=(),
        elsewhere=(),
        goals=(),
        plans=(),
        live_runs=(),
        person=None,
        mark="context_off",
        seen_to=seen_to(seen, reading.messages, shown, agent),
    )


def seen_to(
    seen: int, messages: Sequence[Message], shown: Sequence[Message], agent: MemberRef
) -> int:
    """How far SEEN may move when only some messages were shown.

    Over those, over the agent's own and over those that no agent is shown; not over what somebody
    else said meanwhile, which stays new (DESIGN section 5, invariant 7).
    """
    known = {message.seq: message for message in messages}
    while (following := known.get(seen + 1)) is not None:
        is_new = following.kind == "text" and following.sender.ref != agent
        if is_new and following not in shown:
            break
        seen += 1
    return seen


def _asked_from(run: Run, chat: Chat | None, current: int | None) -> int | None:
    """The first of the messages that are to be answered with the current one."""
    trigger = run.trigger
    here = chat is not None and chat.id == run.chat_id
    if current is None or not here or trigger.seq != current or trigger.from_seq is None:
        return current
    return max(trigger.from_seq, current - MAX_BETWEEN + 1)


def _asked(
    messages: Sequence[Message], first: int | None, current: int | None, agent: MemberRef
) -> tuple[Message, ...]:
    """Those of the messages that are to be answered, the current one last."""
    if first is None or current is None:
        return ()
    return tuple(
        message
        for message in messages
        if message.seq == current
        or (
            first <= message.seq < current
            and message.kind == "text"
            and message.sender.ref != agent
        )
    )


def _keys_of_messages(
    chat: Chat | None, current: int | None, seen: int, asked_from: int | None
) -> list[Key]:
    """What is to be answered and, if it is little, what lies between it and what was seen."""
    if chat is None or current is None or asked_from is None:
        return []
    first = seen + 1 if current - seen <= MAX_BETWEEN else asked_from
    return [
        Message.key_of(chat.tenant, chat.id, seq)
        for seq in range(min(first, asked_from), current + 1)
    ]
