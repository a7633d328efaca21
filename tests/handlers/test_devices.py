"""Devices of the caller: registered, listed, removed, exported, and gone after a sign-out."""

import pytest

from skein.settings import Settings
from tests.support.api_client import Client, operator
from tests.support.builders import World, person

HUSAM = person()
TOKEN = "ab" * 32


@pytest.fixture
def world() -> World:
    world = World(settings=Settings(apns_application_arn="apns"))
    world.known(HUSAM)
    return world


def test_device_is_registered_listed_exported_and_removed(world: World, husam: Client) -> None:
    made = husam.put("/v1/me/devices", {"token": TOKEN, "platform": "apns"})
    assert made.status == 200
    assert set(made.body) == {"id", "platform", "registered_at"}
    assert TOKEN not in str(made.body)
    listed = husam.get("/v1/me/devices").body
    assert listed == {"items": [made.body], "next_cursor": None}
    exported = operator(world).get(f"/v1/users/{HUSAM.id}/export").body
    assert exported["devices"] == [made.body]
    path = f"/v1/me/devices/{made.body['id']}"
    assert [husam.delete(path).status for _ in range(2)] == [204, 404]
    assert (husam.get("/v1/me/devices").body["items"], world.push.known) == ([], {})


@pytest.mark.parametrize(
    "body",
    [
        {"token": TOKEN, "platform": "fcm"},  # which this deployment has not set up
        {"token": "z" * 64, "platform": "apns"},
        {"token": "short", "platform": "apns"},
        {"token": f"{TOKEN} {TOKEN}", "platform": "apns"},
        {"token": "a" * 1025, "platform": "apns"},
        {"token": TOKEN, "platform": "web"},
        {"token": TOKEN},
    ],
)
def test_wrong_devices_are_refused(world: World, husam: Client, body: dict[str, str]) -> None:
    assert husam.put("/v1/me/devices", body).status == 422
    assert world.push.known == {}


def test_sign_out_removes_the_devices(world: World, husam: Client) -> None:
    husam.put("/v1/me/devices", {"token": TOKEN, "platform": "apns"})
    assert operator(world).post(f"/v1/users/{HUSAM.id}/sign-out", None).status == 204
    assert world.push.known == {}
