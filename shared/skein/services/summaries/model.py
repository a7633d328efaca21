"""Ask a model for summaries, and take from its answer what may be kept."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skein.errors import ModelRejected, Transient
from skein.models.agent import Agent
from skein.models.chat import Chat, Message
from skein.models.completion import ModelMessage, ModelRequest, well_formed
from skein.models.jobs import SummaryJob
from skein.models.summary import MAX_AGENT_SUMMARY, MAX_CHAT_SUMMARY
from skein.ports import LanguageModel, Metrics
from skein.prompts import render
from skein.services.common.model_json import json_object_in
from skein.services.common.quoting import behind_bars, label
from skein.services.quotas.usage import Budget, OverBudget, UsageCounters
from skein.settings import Settings

MODEL_SECONDS = 60
ANSWER_TOKENS = 1_000
MESSAGE_CHARACTERS = 500
LONG_MESSAGE_CHARACTERS = 2_000  # of those that leave the window, and are then remembered by this

AGENT_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
    },
    "required": ["lines"],
    "additionalProperties": False,
}
CHAT_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarizer:
    """Asks the light model for summaries."""

    model: LanguageModel
    usage: UsageCounters
    budget: Budget
    metrics: Metrics
    settings: Settings

    def may_ask(self, tenant: str) -> bool:
        """Whether the tenant's budget of background work has tokens left today."""
        try:
            self.budget.check(tenant)
        except OverBudget:
            return False
        return True

    def ask(
        self,
        job: SummaryJob,
        question: tuple[ModelMessage, ...],
        schema: dict[str, object],
        fit: Callable[[str], str | None],
    ) -> str | None:
        """What of the model's answer is fit to be kept; None if nothing, which is logged.

        Args:
            job: What the summary is for.
            question: What the model is asked.
            schema: The form of its answer.
            fit: Gives the summary from the answer; None where there is none in it.
        """
        request = ModelRequest(
            model=self.settings.light_model,
            messages=question,
            max_output_tokens=ANSWER_TOKENS,
            timeout_seconds=MODEL_SECONDS,
            answer_schema=schema,
        )
        try:
            answer = self.model.complete(request)
        except (Transient, ModelRejected) as error:
            self._failed(job, str(error))
            return None
        self.usage.add(job.tenant, answer.usage, spread_by=job.chat_id, background=True)
        summary = fit(answer.text)
        if summary is None:
            self._failed(job, "the answer was unfit")
        return summary

    def _failed(self, job: SummaryJob, why: str) -> None:
        logger.warning(
            "a summary failed",
            extra={"chat_id": job.chat_id, "agent_id": job.agent_id, "why": why},
        )
        self.metrics.count("SummariesFailed")


def ask_agent(
    agent: Agent, chat: Chat, previous: str | None, messages: Sequence[Message]
) -> tuple[ModelMessage, ...]:
    """The question for an agent's own two lines on a chat."""
    own = (agent.summary_instruction or "").strip()
    system = render(
        "agent_summary",
        {
            "identity": agent.identity,
            "instruction": own or render("agent_summary_instruction"),
            "previous": _before(previous),
        },
    )
    asked = render("agent_summary_input", _input(chat, messages, MESSAGE_CHARACTERS))
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def ask_chat(
    chat: Chat, previous: str | None, messages: Sequence[Message]
) -> tuple[ModelMessage, ...]:
    """The question for the shared summary of a chat."""
    system = render("chat_summary", {"previous": _before(previous)})
    asked = render("chat_summary_input", _input(chat, messages, LONG_MESSAGE_CHARACTERS))
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def as_many_as_fit(messages: Sequence[Message], characters: int) -> Sequence[Message]:
    """The first of `messages` that a question about the chat holds; at least one."""
    size = 0
    for count, message in enumerate(messages):
        size += len(_line(message, LONG_MESSAGE_CHARACTERS)) + 1
        if size > characters and count:
            return messages[:count]
    return messages


def _input(chat: Chat, messages: Sequence[Message], characters: int) -> dict[str, str]:
    lines = [_line(message, characters) for message in messages]
    return {"title": _one_line(chat.display_title), "messages": "\n".join(lines)}


def _before(previous: str | None) -> str:
    """The summary so far, whose lines cannot look like ours or like messages."""
    return behind_bars(previous) if previous else "None yet."


def _line(message: Message, characters: int) -> str:
    """One message on one line, whatever a name or a text holds."""
    return f"- {label(message.sender.name)}: {_one_line(message.text)[:characters]}"


def two_lines(answer: str) -> str | None:
    """An agent's summary: exactly two lines, at most 500 characters, white space squeezed.

    An answer in two plain lines instead of JSON is taken, too; too long ones are cut.

    Returns:
        The summary; None when the answer is anything else, which is never stored.
    """
    found = json_object_in(answer, {"lines"})
    plain = [] if "{" in answer else answer.splitlines()  # braces: JSON that was cut off
    given = found.get("lines") if found is not None else plain
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        return None
    lines = [line for line in map(_one_line, given) if _says_something(line)]
    if len(lines) != 2:  # noqa: PLR2004 - two lines are two lines
        return None
    first, second = lines
    snapshot = MAX_AGENT_SUMMARY - 1
    if len(first) + len(second) > snapshot:
        first = first[: max(snapshot // 2, snapshot - len(second))].rstrip()
        second = second[: snapshot - len(first)].rstrip()
    return f"{first}\n{second}"


def paragraph(answer: str) -> str | None:
    """A chat's summary: text of at most 4,000 characters; None when there is none."""
    found = json_object_in(answer, {"summary"})
    text = found.get("summary") if found is not None else None
    if not isinstance(text, str) or not _says_something(text):
        return None
    return well_formed(text).strip()[:MAX_CHAT_SUMMARY].rstrip()


def _one_line(text: str) -> str:
    return " ".join(well_formed(text).split())


def _says_something(text: str) -> bool:
    """Whether there is a word in it; small models repeat the dots of an example."""
    return any(character.isalnum() for character in text)
