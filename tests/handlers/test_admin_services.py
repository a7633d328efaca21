"""Services over the HTTP API for operators."""

import pytest

import service_webhook
from skein.inbound.webhook_signature import sign
from tests.support.api_client import Client, recorded
from tests.support.builders import NOON, World
from tests.support.webhooks import invoke

SERVICES = "/v1/services"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    return world


def delivered(world: World, service_id: str, secret: str) -> int:
    """The status of a delivery that is signed with `secret`."""
    event = recorded("service_webhook")
    event["pathParameters"] = {"service_id": service_id}
    sent_at = str(int(NOON.timestamp()))
    signature = sign(secret, sent_at, event["body"].encode())
    event["headers"]["x-skein-signature"] = f"t={sent_at},v1={signature}"
    return int(invoke(service_webhook, world, event)["statusCode"])


def test_webhooks_of_a_service_are_accepted_until_its_end(world: World, admin: Client) -> None:
    made = admin.post(SERVICES, {"name": "Jira", "agent_ids": ["agt_a"]}).body
    assert delivered(world, made["id"], made["secret"]) == 202
    path = f"{SERVICES}/{made['id']}"
    assert [admin.delete(path).status, admin.delete(path).status] == [204, 404]
    assert delivered(world, made["id"], made["secret"]) == 403


def test_a_new_secret_takes_the_old_ones_place(world: World, admin: Client) -> None:
    made = admin.post(SERVICES, {"name": "Jira", "agent_ids": ["agt_a"]}).body
    renewed = admin.post(f"{SERVICES}/{made['id']}/secret", {})
    assert renewed.status == 200
    assert renewed.body["secret"] != made["secret"]
    assert renewed.body | {"secret": made["secret"]} == made
    assert delivered(world, made["id"], made["secret"]) == 403
    assert delivered(world, made["id"], renewed.body["secret"]) == 202


def test_a_secret_is_renewed_without_a_body_too(admin: Client) -> None:
    made = admin.post(SERVICES, {"name": "Jira", "agent_ids": ["agt_a"]}).body
    assert admin.call("POST", f"{SERVICES}/{made['id']}/secret").status == 200
