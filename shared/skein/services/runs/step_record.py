"""The record of a step: a model's answer, with facts about its prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skein.models.common.storage import Missing, Put, Write
from skein.models.runs.run import Held, PromptMark, Shown, ShownStaging
from skein.models.runs.step import Step
from skein.models.workspace.thread import Thread
from skein.services.runs.claim import Claim, stored_of


@dataclass(frozen=True, slots=True)
class Recording:
    """A step to be recorded, alone or in the transaction of its consequences.

    Attributes:
        claim: The run's claim as it is after the write.
        changes: The changes of the run's item.
        beside: The writes of other items, which no other worker makes.
    """

    claim: Claim
    changes: dict[str, Any]
    beside: tuple[Write, ...]


def recording(
    claim: Claim,
    step: Step,
    *,
    shown: Shown | None,
    held: Held | None = None,
    borrowed: ShownStaging | None = None,
    marks: Sequence[PromptMark] = (),
    thread: Thread | None = None,
    at_thread: Sequence[Write] = (),
) -> Recording:
    """Build the writes that record a step.

    `shown`, `held` and `thread` count only if the step is its activation's first.

    Args:
        claim: The claim of the run.
        step: The step, with the prompt if it is the activation's first.
        shown: The chat that the prompt showed, and up to which message; None for no chat.
        held: The content that the prompt held, with its audience.
        borrowed: The borrowed context that the prompt held, if any.
        marks: The marks of the prompt.
        thread: The active thread of the prompt.
        at_thread: The writes that record the run's work at the thread.
    """
    changed = claim.with_run(
        steps_taken=step.n,
        usage=claim.run.usage + step.usage,
        shown=shown if step.prompt is not None else claim.run.shown,
        held=held if step.prompt is not None else claim.run.held,
        borrowed=(*claim.run.borrowed, borrowed) if borrowed else claim.run.borrowed,
        marks=tuple(dict.fromkeys([*claim.run.marks, *marks])),
    )
    names = ["steps_taken", "usage", "shown", "held", "borrowed", "marks"]
    if step.prompt is not None:
        changed = changed.with_run(active_thread_id=thread.id if thread else None)
        names.append("active_thread_id")
    kept = step.model_copy(update={"expires_at": claim.kept_until(step.ended_at)})
    beside = (Put(step.key, kept.to_item(), Missing()), *at_thread)
    return Recording(changed, stored_of(changed, *names), beside)
