"""The handler of the table's stream, on a recorded event."""

from typing import cast

from aws_lambda_powertools.utilities.typing import LambdaContext

import feed
from skein import bootstrap
from skein.models.outbox.jobs import RecallJob
from tests.support.api_client import Context, recorded
from tests.support.builders import TENANT, World


def test_event_of_the_stream_leads_to_jobs_of_recall() -> None:
    world = World()
    bootstrap.use(world.app)
    assert feed.handler(recorded("feed"), cast("LambdaContext", Context(feed))) == {
        "batchItemFailures": []
    }
    where = {"tenant": TENANT, "chat_id": "chat_1"}
    assert [each.job for each in world.queues.sent if isinstance(each.job, RecallJob)] == [
        RecallJob(first_seq=8, agent_id="agt_a", **where),
        RecallJob(first_seq=1, last_seq=7, **where),
    ]
