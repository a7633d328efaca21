"""Resources of the HTTP API: runs, their steps, and previews of prompts."""

from datetime import datetime
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field

from skein.models.api.base import CreatedAt, EndedAt, Id, IdOfAgent, Page, Resource
from skein.models.api.chats import SenderResource
from skein.models.api.inspection import PromptResource, SectionResource
from skein.models.common.base import Instant
from skein.models.common.reason import Reason, RecordedReason, meaning_of
from skein.models.quotas.prices import Money
from skein.models.runs.completion import AnswerFault, TokenUsage, ToolCall
from skein.models.runs.run import HeldContent, PromptMark, Run, RunMark, RunStatus
from skein.models.runs.step import ModelFailure, PromptRecord, Step, ToolResult, ToolTokens
from skein.models.runs.trigger import Trigger

SHOWN_IF_WITHHELD = (
    "id",
    "agent_id",
    "status",
    "reason",
    "reasons",
    "created_at",
    "started_at",
    "ended_at",
)

# The marks that tell nothing of the words of a private run.
PLAIN: frozenset[RunMark] = frozenset({"knowledge_missing"})


class ContextResource(Resource):
    """A preview of an agent's prompt: its sections and their size in tokens."""

    sections: Annotated[tuple[SectionResource, ...], Field(description="The sections, in order.")]
    total_tokens: Annotated[int, Field(description="Tokens of all sections together.")]
    marks: Annotated[
        tuple[PromptMark, ...], Field(description="Notes on how the prompt was built.")
    ]
    tools: Annotated[
        tuple[ToolTokens, ...],
        Field(description="What each tool adds to a request, besides the sections."),
    ]

    @classmethod
    def of(cls, prompt: PromptRecord) -> Self:
        sections = tuple(
            SectionResource.from_parts(each, prompt.entries) for each in prompt.sections
        )
        return cls(
            sections=sections,
            total_tokens=prompt.total_tokens,
            marks=prompt.marks,
            tools=prompt.tools,
        )


class StepResource(Resource):
    """One answer of the model in a run, with the results of the called tools."""

    n: Annotated[int, Field(description="The number of the step in its run, from 1.")]
    activation: Annotated[
        int, Field(description="The number of the activation to which the step belongs, from 1.")
    ]
    model: Annotated[str, Field(description="The name of a model.")]
    text: Annotated[str, Field(description="The text.")]
    tool_calls: Annotated[
        tuple[ToolCall, ...], Field(description="The tools that the model called.")
    ]
    fault: Annotated[
        AnswerFault | None,
        Field(description="Why the answer could not be used as it is; null if it could."),
    ]
    follow_up: Annotated[
        str | None,
        Field(description="The message with which the model was asked again after this answer."),
    ]
    results: Annotated[
        tuple[ToolResult, ...] | None,
        Field(description="The results of the tool calls; null until all calls are executed."),
    ]
    usage: Annotated[TokenUsage, Field(description="The tokens that were used.")]
    cache_written_tokens: Annotated[
        int, Field(description="Input tokens that were written to the provider's prefix cache.")
    ]
    instead_of: Annotated[
        ModelFailure | None,
        Field(description="The agent's own model, if a fallback answered in its place."),
    ]
    money: Annotated[Money | None, Field(description="The cost; null if there are no prices.")]
    started_at: Annotated[Instant, Field(description="When it started; null before.")]
    ended_at: Annotated[Instant, Field(description="When it ended; null before.")]

    @classmethod
    def of(cls, step: Step, money: Money | None = None) -> Self:
        apart = {"results", "money"}
        shared = {name: getattr(step, name) for name in cls.model_fields if name not in apart}
        return cls(results=step.results if step.tool_calls else (), money=money, **shared)


class RunPreviewResource(Resource):
    """The first words of the message that a run answers, and of the run's answer."""

    by: Annotated[
        SenderResource | None,
        Field(description="Who wrote the message that the run answers; null without a message."),
    ]
    asked: Annotated[
        str | None, Field(description="The first words of that message; null without one.")
    ]
    answered: Annotated[
        str | None,
        Field(description="The first words of what the run posted last; null if it posted none."),
    ]


class RunInspection(NamedTuple):
    """The parts of a run that only its inspection shows."""

    prompt: PromptResource | None
    steps: tuple[StepResource, ...]
    money: Money | None
    previous_run_id: str | None


class RunResource(Resource):
    """A run. In lists, `prompt` is null and `steps` is empty; get a single run to read them."""

    id: Id
    agent_id: IdOfAgent
    chat_id: Annotated[
        str | None,
        Field(description="The chat that the run belongs to. A plan or a service can name it."),
    ]
    status: Annotated[RunStatus, Field(description="The current state.")]
    agent_version: Annotated[
        int | None,
        Field(description="The version of the agent in the newest prompt; null before it."),
    ]
    withheld: Annotated[
        bool,
        Field(
            description="Whether the caller sees only the ids, status, times and reasons of the run"
            "; all other fields are null or empty."
        ),
    ]
    trigger: Annotated[Trigger | None, Field(description="What started the run; null if withheld.")]
    chain_depth: Annotated[
        int | None,
        Field(
            description="How many agents' messages lie between the run and a person; 0 for a "
            "person's, null if withheld."
        ),
    ]
    attempts: Annotated[
        int | None,
        Field(description="Number of attempts; a run fails after three. Null if withheld."),
    ]
    prompt: Annotated[
        PromptResource | None, Field(description="The prompt of the newest activation.")
    ]
    steps: Annotated[tuple[StepResource, ...], Field(description="All steps of the run, in order.")]
    usage: Annotated[
        TokenUsage | None, Field(description="The tokens that were used; null if withheld.")
    ]
    money: Annotated[
        Money | None,
        Field(
            description="The cost of all steps; in lists that of the tokens. Null if there are no "
            "prices."
        ),
    ]
    preview: Annotated[
        RunPreviewResource | None,
        Field(description="The first words of the question and the answer; null if withheld."),
    ]
    held: Annotated[
        HeldContent | None,
        Field(description="The chat and the people for whom the newest prompt was built."),
    ]
    previous_run_id: Annotated[
        str | None,
        Field(description="The agent's run before in the same chat, for comparison; not in lists."),
    ]
    marks: Annotated[
        tuple[RunMark, ...],
        Field(description="Notes on the prompts and the answers, e.g. that content was left out."),
    ]
    tools: Annotated[
        tuple[str, ...],
        Field(
            description="The names of the tools that the run used, in order of first use; empty "
            "if withheld."
        ),
    ]
    reason: Annotated[
        Reason | None,
        Field(
            description="Why there is no answer, or not yet. Null if the run has answered. In "
            "lists only what the run records."
        ),
    ]
    meaning: Annotated[str | None, Field(description="The reason in one sentence.")]
    reasons: Annotated[
        tuple[RecordedReason, ...],
        Field(description="The newest reasons that the run has recorded, oldest first."),
    ]
    merged_into: Annotated[
        str | None, Field(description="The run that answers the messages of this one.")
    ]
    waits_until: Annotated[
        Instant | None,
        Field(description="Until when the run waits for a reply; null if it does not wait."),
    ]
    error: Annotated[str | None, Field(description="The error in words; null without one.")]
    created_at: CreatedAt
    started_at: Annotated[Instant | None, Field(description="When it started; null before.")]
    ended_at: EndedAt

    @classmethod
    def of(cls, run: Run, inspected: RunInspection | None = None) -> Self:
        """Build the resource of a run, in full if `inspected` is given."""
        made: dict[str, Any] = {
            "withheld": False,
            "prompt": None,
            "steps": (),
            "money": None,
            "preview": None,
            "previous_run_id": None,
            "meaning": meaning_of(run.reason),
            "chat_id": run.own_chat_id,
            "waits_until": _waits_until(run),
            "marks": run.all_marks,
        }
        if inspected is not None:
            made |= inspected._asdict()
        shared = {name: getattr(run, name) for name in cls.model_fields if name not in made}
        return cls(**made, **shared)

    @classmethod
    def without_content(cls, run: Run) -> Self:
        """Build the resource of a run whose content is withheld: ids, status, times and reasons."""
        shown = {name: getattr(run, name) for name in SHOWN_IF_WITHHELD}
        own = {
            "withheld": True,
            "chat_id": run.own_chat_id,
            "meaning": meaning_of(run.reason),
            "waits_until": _waits_until(run),
        }
        return cls(
            **dict.fromkeys(cls.model_fields)
            | {
                "steps": (),
                "marks": tuple(each for each in run.all_marks if each in PLAIN),
                "tools": (),
            }
            | shown
            | own
        )

    @classmethod
    def for_operators(
        cls,
        run: Run,
        *,
        private: bool,
        preview: RunPreviewResource | None = None,
        money: Money | None = None,
    ) -> Self:
        """Build the resource of a run for a list, without content if the run is private.

        Args:
            private: Whether the operator may see private content, too.
            preview: The first words of the run.
            money: The cost of the run's tokens.
        """
        if run.private and not private:
            return cls.without_content(run)
        return RunResource.model_copy(cls.of(run), update={"preview": preview, "money": money})

    @classmethod
    def for_members(cls, run: Run) -> Self:
        """Build the resource of a run, as members of its chat may see it.

        `error`, the reasons, `merged_into` and `tools` are omitted because they can reveal another
        chat. `held` and `traced_to` are omitted because they can reveal people who are not members.
        """
        trigger = run.trigger.model_copy(update={"traced_to": None})
        shown = run.model_copy(
            update={
                "error": None,
                "reason": None,
                "reasons": (),
                "merged_into": None,
                "held": None,
                "tools": (),
                "trigger": trigger,
            }
        )
        return cls.of(shown)


def _waits_until(run: Run) -> datetime | None:
    """Return when a run stops waiting for a reply; None if it does not wait."""
    return run.wait.until if run.wait is not None else None


class ToolTokensResource(Resource):
    """How many tokens a tool adds to each request to the model."""

    name: Annotated[str, Field(description="The name of the tool.")]
    tokens: Annotated[int, Field(description="The tokens of its name, description and schema.")]


class ToolTokensList(Page[ToolTokensResource]):
    """The tokens that each tool adds to a request; built-in tools first, then the tenant's own."""


class RunPage(Page[RunResource]):
    """A page of runs, newest first."""
