"""Stories with a model of Bedrock, called over HTTP, with a death at every call.

`SKEIN_CONVERSE=1` plays all stories of this folder so; `make test-slow` takes whole sweeps.
"""

from tests.faults.answer_story import AnswersThen
from tests.faults.deployment import every_death
from tests.faults.over_converse import over_converse
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.webhooks import Webhook


def test_death_at_any_call_loses_and_doubles_nothing(share: FaultShare) -> None:
    text = Webhook.recorded("sms_webhook")
    sweep = Sweep(
        AnswersThen,
        play=lambda world: world.tell(text),
        check=lambda world: world.check(lost_answers=world.deaths),
    )
    with over_converse() as through:
        sweep.one_death(share, of=every_death)
        models = {call["modelId"] for call in through["bridge"].sent}
    assert "gpt-4.1-mini" in models
