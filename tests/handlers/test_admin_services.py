"""Services over the HTTP API for operators."""

from typing import Any

import pytest

import service_webhook
from skein.services.inbound.webhook_signature import sign
from tests.support.api_client import Client, everything, operator, recorded
from tests.support.builders import NOON, World
from tests.support.webhooks import invoke

SERVICES = "/v1/services"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    return world


@pytest.fixture
def admin(world: World) -> Client:
    return operator(world)


def delivered(world: World, service_id: str, secret: str) -> int:
    """The status of a delivery that is signed with `secret`."""
    event = recorded("service_webhook")
    event["pathParameters"] = {"service_id": service_id}
    sent_at = str(int(NOON.timestamp()))
    signature = sign(secret, sent_at, event["body"].encode())
    event["headers"]["x-skein-signature"] = f"t={sent_at},v1={signature}"
    return int(invoke(service_webhook, world, event)["statusCode"])


def test_a_service_from_its_beginning_to_its_end(world: World, admin: Client) -> None:
    made = admin.post(SERVICES, {"name": " jira-webhook ", "agent_ids": ["agt_a"]})
    assert made.status == 201
    service_id, secret = made.body["id"], made.body["secret"]
    shown = {
        "id": service_id,
        "name": "jira-webhook",
        "agent_ids": ["agt_a"],
        "created_at": "2026-02-18T12:00:00.000Z",
    }
    assert made.body == shown | {"secret": secret}
    path = f"{SERVICES}/{service_id}"
    assert admin.get(path).body == shown
    assert admin.get(SERVICES).body == {"items": [shown], "next_cursor": None}
    assert admin.patch(path, {"name": "Jira"}).body == shown | {"name": "Jira"}
    assert delivered(world, service_id, secret) == 202
    assert admin.delete(path).status == 204
    assert [admin.get(path).status, admin.delete(path).status] == [404, 404]
    assert delivered(world, service_id, secret) == 403


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


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_the_list_pages_through_everything_once(admin: Client, limit: int) -> None:
    made = [
        admin.post(SERVICES, {"name": f"S{n}", "agent_ids": ["agt_a"]}).body["id"] for n in range(5)
    ]
    assert [item["id"] for item in admin.all_pages(SERVICES, limit=limit)] == made


@pytest.mark.parametrize(
    "body",
    [
        {"name": "a"},
        {"name": "", "agent_ids": ["agt_a"]},
        {"name": "a", "agent_ids": []},
        {"name": "a", "agent_ids": "agt_a"},
        {"name": "a", "agent_ids": ["agt_none"]},
        {"name": "a", "agent_ids": [f"agt_{n}" for n in range(21)]},
        {"name": "a", "agent_ids": ["agt_a"], "secret": "mine"},
    ],
)
def test_values_that_do_not_fit_are_422_and_store_nothing(
    world: World, admin: Client, body: dict[str, Any]
) -> None:
    before = everything(world)
    answer = admin.post(SERVICES, body)
    assert (answer.status, answer.code) == (422, "unprocessable")
    assert everything(world) == before
