"""Start an activation: read the chat, build the prompt, and find recorded steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from skein.agent.reading.loader import ContextLoader
from skein.agent.sections.builder import PromptBuilder
from skein.agent.tools import offered
from skein.agent.turn_state import Opened, Turn
from skein.agent.turn_steps import (
    NO_PROMPT,
    ended_in,
    fixed_answer,
    open_stream,
    reaches_nobody,
    recorded_prompt,
)
from skein.errors import Conflict, Forbidden, NotFound, ReadersChanged
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.live.answer_streams import AnswerStreams
from skein.models.chats.chat import Chat
from skein.models.common.reason import Reason
from skein.models.runs.run import Run
from skein.models.runs.step import PromptRecord, Step
from skein.models.visibility.audience import may_show
from skein.models.visibility.sharing_rules import RULES_CHANGED
from skein.own_tools.asking import Approvals
from skein.ports import Clock, Metrics, Table
from skein.services.chat_state.snapshot import with_opt_outs_now
from skein.services.quotas.token_budget import TokenBudget, TokenBudgets
from skein.services.replies.sharing_notices import SharingNotices
from skein.services.runs.activations import Activations
from skein.services.runs.claim import membership_elsewhere
from skein.services.visibility.disclosure import check_readers
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReadings:
    """Service that reads the active chat of a turn."""

    table: Table
    clock: Clock
    context_loader: ContextLoader

    def read(self, turn: Turn, steps: Sequence[Step]) -> Reading:
        """Read the data for the active chat of the newest activation.

        A worker that takes over an activation uses the chat, the readers and the audience of the
        recorded prompt.

        Args:
            steps: The recorded steps of the activation.

        Raises:
            ReadersChanged: The chat's readers or the sharing rules changed, and the activation has
                more to do.
            Rejected: The run of a plan or a service can no longer work in its chat.
        """
        claim, prefetched = turn.activation.claim, turn.prefetched
        run, chat, member = claim.run, claim.chat, claim.member
        recorded = run.shown.chat_id if run.shown else None
        shown_chat_id = recorded if steps else run.active_chat_id
        if shown_chat_id is None:
            chat, member = None, None
        elif chat is None or chat.id != shown_chat_id:
            chat, member = membership_elsewhere(self.table, claim, shown_chat_id)
        if not steps:
            _check_own_chat(run, shown_chat_id, chat)
            return self.context_loader.fresh(run, chat, member, prefetched)
        if not steps[-1].is_last and not ended_in(steps[-1]):
            _check_recorded(run, chat)
        reading = self.context_loader.again(run, chat, member, prefetched)
        if run.held is None:
            return reading
        if not steps[-1].is_last and not run.tells_shared(self.table, self.clock.now()):
            raise ReadersChanged(RULES_CHANGED)
        return replace(reading, destination=run.held.readers, audience=run.held.audience)

    def check_opt_out(self, run: Run, reading: Reading, steps: Sequence[Step]) -> None:
        """Check, before a step, that the person has not opted out.

        Args:
            steps: The earlier steps. Without any, the reading is new. Otherwise, the check costs
                one read in a direct chat whose person is on SMS.

        Raises:
            Forbidden: The person has opted out of SMS and would not get an answer.
        """
        if reading.snapshot is None:
            return
        snapshot = with_opt_outs_now(self.table, reading.snapshot) if steps else reading.snapshot
        if reaches_nobody(run, replace(reading, snapshot=snapshot)):
            raise Forbidden(Reason.OPTED_OUT.meaning, reason=Reason.OPTED_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOpenings:
    """Service that opens the activations of a turn."""

    activations: Activations
    readings: TurnReadings
    prompt_builder: PromptBuilder
    token_budgets: TokenBudgets
    approvals: Approvals
    sharing_notices: SharingNotices
    streams: AnswerStreams
    clock: Clock
    metrics: Metrics
    settings: Settings

    def open(self, turn: Turn) -> None:
        """Open the newest activation of a turn's run.

        If the person has opted out, the run only makes the calls that were approved.

        Raises:
            ReadersChanged: The chat's readers or the sharing rules changed, and the activation has
                more to do.
            Rejected: The run can no longer work in its chat, or its person has opted out of SMS.
        """
        activation, run, began = turn.activation, turn.activation.run, self.clock.now()
        steps = list(self.activations.steps(activation.claim))
        reading = self.readings.read(turn, steps)
        read = self.clock.now() - began
        turn.prefetched = {}
        activation.insiders = reading.insiders
        if reading.sharing is not None and reading.sharing.unnoticed:
            self.sharing_notices.tell(activation.claim, reading.sharing.unnoticed)
        fixed = fixed_answer(run, reading)
        opened = Opened(
            number=run.activation, reading=reading, steps=steps, fixed=fixed, prompt=NO_PROMPT
        )
        if not steps and _may_be_agreed(run, reading):
            opened.agreed = self.approvals.agreed_step(run, reading)
        if not steps and opened.agreed is None:
            self.readings.check_opt_out(run, reading, steps)
        if fixed is None:
            open_stream(self.streams, activation, reading)
            opened.tools = offered(reading)
            opened.budget = self._budget(turn, reading)
            opened.prompt = recorded_prompt(steps) or self._built(run, opened, read)
            shown = (each for step in steps for each in step.cited)
            activation.cited = [*opened.prompt.cited, *shown]
            activation.ended = bool(steps) and ended_in(steps[-1])
        turn.opened = opened

    def _built(self, run: Run, opened: Opened, read: timedelta) -> PromptRecord:
        """Build the prompt, and count how long reading and building took.

        Args:
            opened: The activation.
            read: How long the reading took.
        """
        began, specs = self.clock.now(), [tool.spec for tool in opened.tools]
        prompt = self.prompt_builder.build(run, opened.reading, specs)
        took = read + (self.clock.now() - began)
        self.metrics.count("ContextSeconds", took.total_seconds(), unit="Seconds")
        return prompt

    def _budget(self, turn: Turn, reading: Reading) -> TokenBudget:
        """Return the token budget of the run's person, agent and tenant."""
        config, run = reading.config, turn.activation.run
        return self.token_budgets.budget(
            run,
            {**config.allowances, **turn.activation.claim.permits},
            config.effective,
            agent_limit=reading.agent.max_concurrent_runs or self.settings.max_concurrent_runs,
        )


def _check_recorded(run: Run, chat: Chat | None) -> None:
    """Check that the recorded prompt was built for the current readers of the chat.

    Raises:
        ReadersChanged: The readers changed, or the run has no record of the prompt's content.
    """
    if run.held is None:
        raise ReadersChanged(f"{run.id}: the activation has no record of its held content")
    if chat is not None:
        check_readers(run.held, chat)


def _may_be_agreed(run: Run, reading: Reading) -> bool:
    """Return whether an operator, or a message that the run answers, may have approved a call."""
    service, history = run.trigger.service, reading.of(History)
    if service is not None and service.decided is not None:
        return True
    first = run.trigger.from_seq
    if reading.chat is not None and first is not None and history.begins_after(first):
        return True
    return any(message.reply_to is not None for message in history.messages)


def _check_own_chat(run: Run, shown_chat_id: str | None, chat: Chat | None) -> None:
    """Check that the run of a plan or a service can still work in its chat.

    Args:
        shown_chat_id: The id of the active chat.
        chat: The active chat; None if the agent is no longer a member.

    Raises:
        NotFound: The agent has left the run's chat.
        Conflict: The chat is discarded, or a team member has taken it over.
        Forbidden: Someone joined who may not be shown the run's trigger.
    """
    if shown_chat_id is None or shown_chat_id != run.for_chat_id:
        return
    if chat is None:
        raise NotFound("the agent has left the chat", reason=Reason.AGENT_LEFT)
    if chat.discarded_at is not None:
        raise Conflict("the chat is discarded", reason=Reason.CHAT_DISCARDED)
    if chat.held:
        raise Conflict("a team member has taken over the chat", reason=Reason.DESK)
    if not may_show(run.audience, chat.readers):
        raise Forbidden(
            "someone joined the chat who may not be shown the trigger",
            reason=Reason.DISCLOSURE_REFUSED,
        )
