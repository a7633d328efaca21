"""Replay a run's prompt: call the model with edits or as another agent, and run no tools."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from skein.agent.reading.loader import ContextLoader
from skein.agent.sections.basics import identity_of
from skein.agent.sections.builder import PromptBuilder
from skein.agent.sections.participants import speakers_in
from skein.agent.tools import enabled, offered
from skein.errors import (
    Conflict,
    Forbidden,
    GuardrailBlocked,
    ModelRejected,
    NotFound,
    Unprocessable,
)
from skein.interface.section import SEPARATOR, speaks_in_text
from skein.models.config.overrides import Overrides, TenantOnlySettings, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.quotas.prices import Money
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import ModelAnswer, ModelRequest, ToolSpec
from skein.models.runs.run import Run
from skein.models.runs.step import PROMPT_GONE, PromptRecord, PromptSection, Step, newest_prompt
from skein.models.runs.trigger import Trigger
from skein.own_tools.items import OwnToolItems, keys_of_tools
from skein.ports import Clock, Guardrails, LanguageModel, ModelTokens, Table
from skein.services.chat_state.pictures import Pictures
from skein.services.chat_state.snapshot import chat_of_agent
from skein.services.config.resolution import effective_settings
from skein.services.config.tenant_settings import check_reading
from skein.services.quotas.money import money_of
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.quotas.token_budget import (
    TokenBudget,
    TokenBudgets,
    found_allowances,
    payer_keys,
)
from skein.services.quotas.usage import UsageCounters
from skein.services.runs.queries import RunViews
from skein.settings import Settings

IDENTITY = "IDENTITY"
OF_AGENT = frozenset({IDENTITY, "INSTRUCTIONS"})  # sections that depend on the agent's fields alone
MODEL_SECONDS = 25  # the gateway waits for 30
PRIVATE_RUN = "the run is private: its replay needs the scope 'privacy' and a reason"


@dataclass(frozen=True, slots=True)
class ReplayedPrompt:
    """A recorded prompt in the form in which it is sent again.

    Attributes:
        agent: The agent, possibly with edited fields.
        overrides: The tenant's settings.
        tools: The tools that the model is offered.
        in_text: Whether the text of the answer is posted.
        names: The names in the prompt, which a model may put before its text.
    """

    agent: Agent
    prompt: PromptRecord
    overrides: Overrides
    tools: tuple[ToolSpec, ...]
    in_text: bool = True
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """The prompt of a run's newest activation, and the steps of all its activations."""

    run: Run
    prompt: PromptRecord
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer to a replayed prompt.

    Attributes:
        run: The run as it was.
        answer: The model's answer. Its tool calls are not carried out.
        prompt: The edited prompt, in readable form.
        money: The cost at the tenant's prices; None if the tenant has not set prices.
        started_at: When the model was asked.
        ended_at: When the answer was complete.
    """

    run: Run
    answer: ModelAnswer
    prompt: PromptRecord
    money: Money | None
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    """Service that replays prompts for operators."""

    table: Table
    clock: Clock
    runs: RunViews
    model: LanguageModel
    guardrails: Callable[[], Guardrails]
    tokens: ModelTokens
    rate_limiter: RateLimiter
    token_budgets: TokenBudgets
    usage: UsageCounters
    pictures: Pictures
    context_loader: ContextLoader
    prompt_builder: PromptBuilder
    settings: Settings

    def replay(
        self,
        tenant: str,
        run_id: str,
        *,
        operator: str,
        private: bool = False,
        system_prompt: str | None = None,
        sections: Mapping[str, str] | None = None,
    ) -> Replay:
        """Ask the model again with the prompt of a run's newest activation, after edits.

        The model is offered the agent's current tools, but no tool call is carried out. Only the
        usage is stored. The operator's rate limit and the tenant's token limit apply.

        Args:
            private: Whether the operator may see private content.
            system_prompt: Replaces the system prompt in the section IDENTITY.
            sections: Replace the texts of other sections, by name.

        Raises:
            NotFound: The run or its agent no longer exists.
            Forbidden: The tenant forbids operators to read chats, or the run is private and
                `private` is false.
            Conflict: The run has no prompt, or its prompt was erased.
            Unprocessable: A section is not in the prompt, the edited prompt is too long, both the
                system prompt and IDENTITY are given, or the agent's guardrail blocks the edits or
                the answer.
            OverLimit: The operator's or the tenant's limit is used up.
            Transient: The model is out of reach.
        """
        recorded = self.recorded(tenant, run_id)
        run, prompt = recorded.run, recorded.prompt
        if run.private and not private:
            raise Forbidden(PRIVATE_RUN)
        agent, overrides, budget = self._charged(run)
        edited = self._edited(prompt, agent, system_prompt, sections or {}, overrides)
        self.rate_limiter.admit(tenant, operator)
        budget.check()
        started_at = self.clock.now()
        tools = tuple(tool.spec for tool in enabled(agent.enabled_tools))
        sent = ReplayedPrompt(agent, edited, overrides, tools)
        answer = self.step(sent, edits=(sections or {}).values())
        prices = TenantOnlySettings.model_validate(overrides).prices
        self.usage.add(
            tenant,
            answer.usage,
            spread_by=run.id,
            model=answer.model,
            payer=Payer(agent.id),
            budget=budget,
        )
        return Replay(
            run=run,
            answer=answer,
            prompt=edited.readable(),
            money=money_of([(answer.model, answer.usage)], prices),
            started_at=started_at,
            ended_at=self.clock.now(),
        )

    def _charged(self, run: Run) -> tuple[Agent, Overrides, TokenBudget]:
        """Return the run's agent, the tenant's settings, and the token budget to charge."""
        settings_key = TenantSettings.key_of(run.tenant)
        agent_key = Agent.key_of(run.tenant, run.agent_id)
        # A run whose trigger has no person is charged to the tenant.
        charged = run.model_copy(update={"trigger": Trigger(type="manual")})
        found = self.table.get_many([settings_key, agent_key, *payer_keys(charged)])
        overrides = TenantSettings.from_optional(found.get(settings_key))
        check_reading(overrides)
        agent = Agent.read(found, agent_key)
        if agent is None or agent.deleted_at is not None:
            raise NotFound("the run's agent was deleted")
        limits = self.settings.overridden(overrides)
        budget = self.token_budgets.budget(charged, found_allowances(charged, found), limits)
        return agent, overrides, budget

    def recorded(self, tenant: str, run_id: str) -> RecordedPrompt:
        """Return the prompt of a run's newest activation, with the run's steps.

        Raises:
            NotFound: The run no longer exists.
            Conflict: The run has no prompt, or its prompt was erased.
        """
        view = self.runs.get(tenant, run_id)
        newest = newest_prompt(view.steps)
        if newest is None:
            raise Conflict(PROMPT_GONE)
        return RecordedPrompt(view.run, newest[1], view.steps)

    def rendered(
        self, recorded: RecordedPrompt, agent: Agent, overrides: Overrides
    ) -> ReplayedPrompt:
        """Return a recorded prompt with the tools and the sections (`OF_AGENT`) of `agent`.

        Raises:
            NotFound: The agent or the chat of the prompt no longer exists.
        """
        run = recorded.run
        shown = run.shown.chat_id if run.shown is not None else None
        chat, member = (
            chat_of_agent(self.table, run.tenant, run.agent_id, shown) if shown else (None, None)
        )
        keys = keys_of_tools(agent)
        own = OwnToolItems.of_agent(agent, self.table.get_many(keys) if keys else {})
        read = self.context_loader.again(run, chat, member)
        reading = replace(read, agent=agent).having(own)
        tools = tuple(tool.spec for tool in offered(reading))
        built = self.prompt_builder.build(run, reading, tools)
        of_agent = {part.name: part for part in built.sections if part.name in OF_AGENT}
        sections = tuple(of_agent.get(part.name, part) for part in recorded.prompt.sections)
        prompt = recorded.prompt.model_copy(update={"sections": sections})
        return ReplayedPrompt(
            agent, prompt, overrides, tools, speaks_in_text(reading), speakers_in(reading)
        )

    def _edited(
        self,
        prompt: PromptRecord,
        agent: Agent,
        system_prompt: str | None,
        sections: Mapping[str, str],
        overrides: Overrides,
    ) -> PromptRecord:
        """Return the prompt with the edits and new token counts."""
        effective = effective_settings(agent, None, overrides, self.settings, chat=None)
        model = agent.model or self.settings.default_model
        counter = self.tokens.for_model(effective.tokenizer_model or model)
        texts = dict(sections)
        if system_prompt is not None:
            if IDENTITY in texts:
                raise Unprocessable("give system_prompt or the section IDENTITY, not both")
            changed = agent.model_copy(update={"system_prompt": system_prompt})
            texts[IDENTITY] = identity_of(changed, counter).text
        sent = {section.name for section in prompt.sections if section.text}
        missing = sorted(texts.keys() - sent)
        if missing:
            raise Unprocessable(
                "these sections are not in the prompt, or are sent as messages",
                details={"sections": missing},
            )
        parts = tuple(
            PromptSection(
                name=part.name,
                text=texts[part.name],
                tokens=counter.count(texts[part.name] + SEPARATOR),
            )
            if part.name in texts
            else part
            for part in prompt.sections
        )
        total = sum(part.tokens for part in parts)
        longest = agent.max_prompt_tokens or self.settings.max_prompt_tokens
        if total > longest:
            raise Unprocessable(f"the edited prompt has {total} tokens; the limit is {longest}")
        return prompt.model_copy(update={"sections": parts, "total_tokens": total})

    def step(
        self,
        sent: ReplayedPrompt,
        earlier: Sequence[Step] = (),
        *,
        edits: Iterable[str] = (),
        seconds: float = MODEL_SECONDS,
    ) -> ModelAnswer:
        """Ask the model for one step.

        Args:
            earlier: The steps so far, with their results.
            edits: The texts that the guardrail of the agent checks first.
            seconds: The time limit. The setting `model_timeout_seconds` may lower it.

        Raises:
            Unprocessable: The provider or the agent's guardrail refuses the prompt.
            Transient: The model is out of reach.
        """
        agent, overrides = sent.agent, sent.overrides
        effective = effective_settings(agent, None, overrides, self.settings, chat=None)
        further = (message for step in earlier for message in step.messages())
        pictured = self.pictures.sent(agent.tenant, (*sent.prompt.messages(), *further))
        request = ModelRequest(
            model=agent.model or self.settings.default_model,
            messages=pictured.messages,
            tools=sent.tools,
            max_output_tokens=effective.reserved_response_tokens,
            timeout_seconds=min(seconds, self.settings.model_timeout_seconds),
            image_bytes=pictured.image_bytes,
            image_detail=effective.image_detail,
        )
        try:
            if effective.guardrail is None:
                return self.model.complete(request)
            from skein.services.runs.guarding import Guarding  # noqa: PLC0415 - few agents have one

            guarding = Guarding(self.guardrails(), effective.guardrail)
            return guarding.complete(self.model, request, edits)
        except GuardrailBlocked as error:
            raise Unprocessable(str(error)) from None
        except ModelRejected:
            raise Unprocessable("the provider of the model refuses this prompt") from None
