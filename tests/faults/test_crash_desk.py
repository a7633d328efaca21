"""The desk with a death at every call: one holder, no word of an agent meanwhile, one answer after.

The person of the team sends each request until it is answered.
"""

from typing import Any

import pytest

from tests.faults.desk_story import Handed
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep


class Silent(Handed):
    """Mia is silent for an hour, so the chat goes back by itself."""

    def play(self) -> None:
        self.held()
        self.live()

    def check(self) -> None:
        texts = [message.text for message in self.messages()]
        left = "Mia has left the conversation. I can answer again."
        assert texts[:3] == ["Help", "I am Mia", "And my parcel?"]
        assert sorted(texts[3:]) == sorted([left, "I can answer"])
        [stay] = self.stays()
        assert (stay.ended_by, stay.notified) == ("silence", True)
        assert [run.status for run in self.runs()] == ["canceled", "done"]
        assert self.at_rest


SWEEPS = {
    story.__name__: Sweep(story, play=story.play, check=story.check) for story in (Handed, Silent)
}


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
def test_desk_death_leaves_one_holder_and_one_answer(sweep: Sweep[Any], share: FaultShare) -> None:
    sweep.one_death(share)
