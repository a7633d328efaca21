"""A run that ends with the calls of its answer, with a death at every call: all happens once."""

from typing import ClassVar

import pytest

from skein.models.runs.completion import ModelRequest
from skein.models.visibility.ownership import Reach
from tests.faults.deployment import every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import COACH, TEXT, SmsLine
from tests.support.builders import TENANT, live
from tests.support.fakes import Calls, calls


class SavesBesideText(SmsLine):
    """An agent whose text is posted saves a memory in the same answer."""

    manner: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.model.default = self.answer
        self.agent(enabled_tools=("send_message", "save_memory", "end_run"), **self.manner)

    def answer(self, request: ModelRequest) -> Calls:
        number = len(self.model.requests)
        return calls(self.saves(number), text=f"Answer {number}")

    def saves(self, number: int) -> tuple[str, dict[str, str]]:
        return "save_memory", {"text": f"They run on Mondays, says {number}", "kind": "core"}

    def check(self, *, lost_answers: int = 0) -> None:
        """The answer was posted once and the memory saved once, after one recorded answer."""
        assert self.chat_id is not None
        [_, answer] = self.messages(self.chat_id)
        assert self.sms.bodies == [answer.text]
        [step] = self.steps()
        assert step.ends_run
        number = answer.text.removeprefix("Answer ")
        [run] = self.runs(self.chat_id)
        assert (run.status, run.reason, run.steps_taken) == ("done", None, 1)
        assert len(self.model.requests) <= 1 + lost_answers
        user = run.trigger.user_id
        reach = Reach(tenant=TENANT, agent_id=COACH.id, scopes=(f"user:{user}",))
        [memory] = live(self.app.memories, reach)
        assert memory.text == self.saves(int(number))[1]["text"]
        membership = self.membership(COACH, self.chat_id)
        assert (membership.running_run, membership.queued_run) == (None, None)
        assert self.at_rest


class SendsAndSaves(SavesBesideText):
    """An agent that acts through tools sends its answer and saves a memory."""

    manner: ClassVar[dict[str, str]] = {"reply_mode": "tools", "history_format": "timeline"}

    def answer(self, request: ModelRequest) -> Calls:
        number = len(self.model.requests)
        return calls(("send_message", {"text": f"Answer {number}"}), self.saves(number))


@pytest.mark.parametrize("story", [SavesBesideText, SendsAndSaves])
def test_answer_that_ends_its_run_takes_effect_once(
    story: type[SavesBesideText], share: FaultShare
) -> None:
    sweep = Sweep(
        story,
        play=lambda world: world.tell(TEXT),
        check=lambda world: world.check(lost_answers=world.deaths),
    )
    sweep.one_death(share, of=every_death)
