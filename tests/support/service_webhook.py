"""An agent that listens to the recorded service, and what the service signs with."""

from skein.inbound.webhook_signature import secret_of
from skein.models.common.storage import Put
from skein.models.directory.webhook_service import WebhookService
from tests.support.api_client import recorded
from tests.support.builders import NOON, SERVICES_KEY, TENANT, World

RECORDED = recorded("service_webhook")
SERVICE = RECORDED["pathParameters"]["service_id"]
NONCE = "6f2d9c0a1b7e4c35a8d1f0e9b6c3a7d24e5f8091a2b3c4d5e6f708192a3b4c5d"
SECRET = secret_of(NONCE, key=SERVICES_KEY)
SENT_AT = str(int(NOON.timestamp()))


def listening() -> World:
    """A world with an agent that listens to the recorded service."""
    world = World()
    world.agent()
    source = WebhookService(
        tenant=TENANT,
        id=SERVICE,
        name="jira-webhook",
        agent_ids=("agt_a",),
        nonce=NONCE,
        created_at=NOON,
    )
    world.table.write(Put(source.key, source.to_item()))
    return world
