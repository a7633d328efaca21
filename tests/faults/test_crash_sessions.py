"""A wish to start anew and its answer, with a death at every single call on the way."""

from skein.models.runs.step import FIXED_ANSWER
from skein.prompts import render
from tests.faults.deployment import every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import COACH, TEXT, SmsLine

ANSWER = render("session_reset")
RESET = TEXT.but(MessageSid="SM" + "1" * 32, Body="Start over!")


def story() -> SmsLine:
    """Somebody has talked with the coach a while before."""
    world = SmsLine()
    world.tell()
    world.fuse.disarm()
    return world


def check(world: SmsLine) -> None:
    """The reset is one message, one session and one answer, for which no model was asked."""
    assert world.chat_id is not None
    messages = world.messages(world.chat_id)
    assert [message.text for message in messages[2:]] == ["Start over!", ANSWER]
    assert world.sms.bodies[1:] == [ANSWER]
    assert len(world.model.requests) == 1
    session = world.stored_chat(world.chat_id).session
    assert session is not None
    assert (session.first_seq, session.reset, session.reset_seq) == (3, True, 3)
    run = world.runs(world.chat_id)[-1]
    assert (run.status, run.steps_taken, run.usage.output_tokens) == ("done", 1, 0)
    assert world.steps()[-1].model == FIXED_ANSWER
    membership = world.membership(COACH, world.chat_id)
    assert (membership.running_run, membership.queued_run, membership.seen_seq) == (None, None, 3)
    record = world.stored_chat(world.chat_id).summary
    assert record is None or record.from_seq >= 3
    assert world.at_rest


def test_reset_death_is_answered_once_without_the_model(share: FaultShare) -> None:
    sweep = Sweep(story, play=lambda world: world.tell(RESET), check=check)
    sweep.one_death(share, of=every_death)
