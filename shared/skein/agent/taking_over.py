"""What an earlier attempt at an activation has left for the next one to go by."""

from collections.abc import Sequence

from skein.agent.tools.runs import end_run
from skein.models.step import PromptRecord, Step


def ended_in(step: Step) -> bool:
    """Whether the agent ended its run in a step that an earlier attempt carried out."""
    done = [result.name for result in step.results or () if result.status == "done"]
    return end_run.name in done


def recorded_prompt(steps: Sequence[Step]) -> PromptRecord | None:
    """The prompt that an earlier attempt at this activation was given."""
    if not steps or steps[0].prompt is None:
        return None
    return PromptRecord.unpacked(steps[0].prompt)
