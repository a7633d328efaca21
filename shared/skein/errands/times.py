"""Ask the agent's model for the times in a person's answer; the model sees only this answer."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from skein.errands.models.errand import Errand, Slot
from skein.errands.models.meeting import Meeting
from skein.errors import ModelRejected, NotFound
from skein.models.common.base import Value
from skein.models.config.overrides import TenantSettings
from skein.models.directory.agent import Agent
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import ModelMessage, ModelRequest
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.trigger import Trigger
from skein.ports import Clock, Ids, LanguageModel, Table
from skein.prompts import render
from skein.services.common.quoting import quoted
from skein.services.quotas.token_budget import TokenBudgets, found_allowances, payer_keys
from skein.services.quotas.usage import UsageCounters
from skein.settings import Settings

MAX_TIMES = 20
MAX_TOKENS = 800
MODEL_SECONDS = 30
SPAN = {
    "type": "object",
    "properties": {"start": {"type": "string"}, "end": {"type": "string"}},
    "required": ["start", "end"],
    "additionalProperties": False,
}
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"clear": {"type": "boolean"}, "times": {"type": "array", "items": SPAN}},
    "required": ["clear", "times"],
    "additionalProperties": False,
}


class TimesAnswer(NamedTuple):
    """The times that the model found in an answer.

    Attributes:
        clear: Whether the answer says when the person can come, or that they can't come at all.
    """

    clear: bool
    times: tuple[Slot, ...] = ()


class _Span(Value):
    start: datetime
    end: datetime


class _Answer(Value):
    clear: bool
    times: tuple[_Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesReader:
    """The service that reads times."""

    table: Table
    clock: Clock
    ids: Ids
    model: LanguageModel
    token_budgets: TokenBudgets
    usage: UsageCounters
    settings: Settings

    def read(self, errand: Errand, meeting: Meeting) -> TimesAnswer:
        """Read the times in an errand's answer. The tokens count toward the asker's limit.

        Raises:
            NotFound: The agent is gone.
            OverLimit: The tokens of the day are used up.
            Transient: The model is out of reach.
        """
        run = Run(  # never stored; determines who is charged
            tenant=errand.tenant,
            id=run_id_in(errand.chat_id, self.ids.ulid()),
            agent_id=errand.agent_id,
            chat_id=errand.chat_id,
            trigger=Trigger(type="manual", traced_to=errand.asked_by.id),
            created_at=self.clock.now(),
        )
        agent_key = Agent.key_of(errand.tenant, errand.agent_id)
        settings_key = TenantSettings.key_of(errand.tenant)
        found = self.table.get_many([agent_key, settings_key, *payer_keys(run)])
        agent = Agent.read(found, agent_key)
        if agent is None or agent.deleted_at is not None:
            raise NotFound("agent not found")
        overrides = TenantSettings.from_optional(found.get(settings_key))
        limits = self.settings.overridden(overrides)
        budget = self.token_budgets.budget(run, found_allowances(run, found), limits)
        budget.check()
        request = ModelRequest(
            model=agent.model or self.settings.default_model,
            messages=self._prompt(errand, meeting),
            max_output_tokens=MAX_TOKENS,
            timeout_seconds=MODEL_SECONDS,
            answer_schema=SCHEMA,
        )
        try:
            answer = self.model.complete(request)
        except ModelRejected:
            return TimesAnswer(clear=False)
        self.usage.add(
            errand.tenant,
            answer.usage,
            spread_by=run.id,
            model=answer.model,
            payer=Payer(agent.id, errand.asked_by.id),
            budget=budget,
        )
        return parsed(answer.text or "", meeting)

    def _prompt(self, errand: Errand, meeting: Meeting) -> tuple[ModelMessage, ...]:
        zone = ZoneInfo(meeting.zone)
        variables = {
            "now": f"{self.clock.now().astimezone(zone):%A %Y-%m-%d %H:%M}",
            "earliest": f"{meeting.earliest.astimezone(zone):%A %Y-%m-%d %H:%M}",
            "latest": f"{meeting.latest.astimezone(zone):%A %Y-%m-%d %H:%M}",
        }
        words = quoted(errand.answer or "")
        return (
            ModelMessage(role="system", content=render("meeting_times", variables)),
            ModelMessage(role="user", content=words),
        )


def parsed(text: str, meeting: Meeting) -> TimesAnswer:
    """Parse the model's answer, and cut each time to the span in which the meeting may be."""
    zone = ZoneInfo(meeting.zone)
    try:
        answer = _Answer.model_validate_json(text)
        spans = [
            Slot(
                start=max(_in(span.start, zone), meeting.earliest),
                end=min(_in(span.end, zone), meeting.latest),
            )
            for span in answer.times[:MAX_TIMES]
        ]
    except (ValueError, OverflowError):
        return TimesAnswer(clear=False)
    kept = tuple(slot for slot in spans if slot.end - slot.start > timedelta())
    return TimesAnswer(clear=answer.clear, times=kept)


def _in(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
