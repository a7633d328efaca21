"""Drafts for the person of the team who holds a chat: an answer, a briefing or a summary.

The model is shown the agent's identity and messages of the chat's current session. Messages that
one of the chat's current readers may not see are left out. A draft contains nothing that was said
in other chats.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from skein.desk.queue import DeskQueue
from skein.errors import (
    Conflict,
    GuardrailBlocked,
    ModelRejected,
    NotFound,
    Unavailable,
    Unprocessable,
)
from skein.interface.names import Names, speakers
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.desk import MAX_BRIEFING, DraftKind, Holder
from skein.models.chats.names import TEAM
from skein.models.common.base import Value
from skein.models.common.storage import Query
from skein.models.config.guardrail import Guardrail
from skein.models.directory.agent import Agent
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import ModelAnswer, ModelMessage, ModelRequest
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.trigger import Trigger
from skein.ports import Clock, Guardrails, Ids, LanguageModel, Table
from skein.prompts import render
from skein.services.chat_state.sessions import first_of_session, first_to_summarize
from skein.services.common.quoting import quoted
from skein.services.config.resolution import (
    effective_settings,
    found_settings,
    keys_of_settings,
)
from skein.services.config.tenant_settings import check_reading
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.quotas.token_budget import TokenBudgets, found_allowances, payer_keys
from skein.services.quotas.usage import UsageCounters
from skein.settings import Settings

MAX_MESSAGES = 60  # newest messages of the session that the model is shown
MESSAGE_CHARACTERS = 2_000
MODEL_SECONDS = 25  # the gateway waits for 30 seconds


class Draft(Value):
    """A draft, and the messages that the model was shown.

    Attributes:
        from_seq: The first message of the session that the model was shown.
        to_seq: The last message of the session that the model was shown.
    """

    kind: DraftKind
    agent_id: str
    text: str
    from_seq: int
    to_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """The service that asks an agent of a chat for a draft."""

    table: Table
    clock: Clock
    ids: Ids
    model: LanguageModel
    guardrails: Callable[[], Guardrails]
    queue: DeskQueue
    rate_limiter: RateLimiter
    token_budgets: TokenBudgets
    usage: UsageCounters
    settings: Settings

    def draft(
        self,
        tenant: str,
        chat_id: str,
        holder_id: str,
        kind: DraftKind,
        *,
        agent_id: str | None = None,
    ) -> Draft:
        """Ask an agent of a chat for a draft. Only the token usage is stored, not the draft.

        The holder's rate limit and the tenant's token limit apply.

        Args:
            holder_id: The operator who holds the chat.
            agent_id: The agent to ask. None chooses the agent that put the chat on the desk, or
                else the chat's first agent.

        Raises:
            NotFound: The chat does not exist, or the agent is not in it.
            Conflict: The operator does not hold the chat, or the session has no messages.
            Forbidden: The tenant forbids operators to read chats.
            Unprocessable: The model's provider refuses the prompt, or the agent's guardrail blocks
                the draft.
            OverLimit: A limit is used up.
            Transient: The model is out of reach, or gave no usable answer.
        """
        chat = self.queue.held_by(tenant, chat_id, holder_id)
        messages = session_of(self.table, chat)
        if chat.holder is None or not messages:
            raise Conflict("nothing was said in this session")
        agent_id = agent_id or _first_agent(chat)
        run = Run(  # never stored; determines who is charged
            tenant=tenant,
            id=run_id_in(chat.id, self.ids.ulid()),
            agent_id=agent_id,
            chat_id=chat.id,
            trigger=Trigger(type="manual"),
            created_at=self.clock.now(),
        )
        agent_key, of_settings = Agent.key_of(tenant, agent_id), keys_of_settings(tenant, chat)
        keys = [*of_settings, agent_key, *payer_keys(run)]
        found = self.table.get_many(list(dict.fromkeys(keys)))
        line, overrides = found_settings(tenant, chat, found)
        check_reading(overrides)
        if agent_key not in found or not any(m.id == agent_id for m in chat.roster):
            raise NotFound("the agent is not in this chat")
        agent = Agent.must_read(found, agent_key)
        limits = self.settings.overridden(overrides)
        budget = self.token_budgets.budget(run, found_allowances(run, found), limits)
        self.rate_limiter.admit(tenant, holder_id)
        budget.check()
        effective = effective_settings(agent, line, overrides, self.settings, chat=chat)
        request = ModelRequest(
            model=agent.model or self.settings.default_model,
            messages=_prompt(kind, agent, chat, chat.holder, messages),
            max_output_tokens=effective.reserved_response_tokens,
            timeout_seconds=min(MODEL_SECONDS, self.settings.model_timeout_seconds),
        )
        answer = self._ask(request, effective.guardrail, messages)
        self.usage.add(
            tenant,
            answer.usage,
            spread_by=run.id,
            model=answer.model,
            payer=Payer(agent.id),
            budget=budget,
        )
        text = (answer.text or "").strip()
        if answer.fault is not None or not text:
            raise Unavailable("the model gave no usable draft; try again")
        return Draft(
            kind=kind,
            agent_id=agent.id,
            text=text[:MAX_BRIEFING],
            from_seq=messages[0].seq,
            to_seq=messages[-1].seq,
        )

    def _ask(
        self, request: ModelRequest, guardrail: Guardrail | None, messages: Sequence[Message]
    ) -> ModelAnswer:
        try:
            if guardrail is None:
                return self.model.complete(request)
            from skein.services.runs.guarding import Guarding  # noqa: PLC0415 - few agents have one

            guarding = Guarding(self.guardrails(), guardrail)
            return guarding.complete(self.model, request, _newest(messages))
        except GuardrailBlocked as error:
            raise Unprocessable(str(error)) from None
        except ModelRejected:
            raise Unprocessable("the provider of the model refuses this prompt") from None


def session_of(table: Table, chat: Chat) -> Sequence[Message]:
    """Read the newest messages of the current session that all readers of the chat may be shown."""
    first = max(first_of_session(chat), first_to_summarize(chat))
    page = table.query(
        Query(
            chat_partition(chat.tenant, chat.id),
            first=Message.key_of(chat.tenant, chat.id, first).sk,
            last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
            limit=MAX_MESSAGES,
            newest_first=True,
        )
    )
    messages = (chat.as_now(each) for each in Message.each_of(reversed(page.items)))
    return [message for message in messages if message.conversational and message.full_text]


def _newest(messages: Sequence[Message]) -> list[str]:
    """Return people's texts since the last message of an agent or the team, newest first."""
    people = takewhile(lambda message: message.sender.kind == "user", reversed(messages))
    return [message.full_text for message in people]


def _first_agent(chat: Chat) -> str:
    """Return the agent that put the chat on the desk, or else the chat's first agent.

    Raises:
        NotFound: No agent is in the chat.
    """
    agents = [member.id for member in chat.roster if member.kind == "agent"]
    asked = chat.desk.agent_id if chat.desk is not None else None
    if asked in agents and asked is not None:
        return asked
    if not agents:
        raise NotFound("no agent is in this chat")
    return agents[0]


def _prompt(
    kind: DraftKind, agent: Agent, chat: Chat, holder: Holder, messages: Sequence[Message]
) -> tuple[ModelMessage, ...]:
    """Render the question for a draft, with the agent's own lines as `You`."""
    names = Names.of(agent.as_member.ref, chat, messages)
    lines = [
        f"- {names.speaker(message)}: {quoted(message.full_text[:MESSAGE_CHARACTERS])}"
        for message in messages
    ]
    variables = {"identity": agent.identity, "name": names[holder.sender].removesuffix(TEAM)}
    shown = {"speakers": speakers(names, chat, messages), "messages": "\n".join(lines)}
    return (
        ModelMessage(role="system", content=render(f"desk_{kind}", variables)),
        ModelMessage(role="user", content=render("desk_session", shown)),
    )
