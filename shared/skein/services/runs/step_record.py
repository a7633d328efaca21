"""A model's answer as it is written down, with what is noted of the prompt that it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skein.models.run import Held, PromptMark, Shown, ShownStaging
from skein.models.step import Step
from skein.models.storage import Missing, Put, Write
from skein.models.thread import Thread
from skein.services.runs.claim import Claim, stored_of


@dataclass(frozen=True, slots=True)
class Recording:
    """An answer that is to be written down, alone or together with all that follows from it.

    Attributes:
        claim: The run's, as it is once that is done.
        changes: Of the run's item.
        beside: The writes of other items, which nobody else makes.
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
    """What writes a model's answer down.

    Args:
        claim: The run's.
        step: The answer, with the prompt if it is the activation's first.
        shown: Of that prompt: which chat it showed, and how much of it; None for no chat.
        held: Of that prompt: what it holds, and who was present for it.
        borrowed: Of that prompt: the borrowed context that it held, if any.
        marks: Of that prompt: what was noted of it.
        thread: Of that prompt: the active one.
        at_thread: What is noted of the run's work at it.
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
