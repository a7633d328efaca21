"""Consents to texts over the API: of operators with a proof, and of people in the app."""

import pytest

import admin_api
import mobile_api
from tests.support.api_client import Client
from tests.support.builders import NOON, PHONE, World
from tests.support.first_contact import SARAH, reachable, text_in

ON_NUMBER = f"/phones/{PHONE}/consents"


@pytest.fixture
def here() -> World:
    world = World()
    world.agent()
    world.line()
    reachable(world, consent=False)
    return world


def admin(here: World, scope: str = "privacy") -> Client:
    return Client(here, admin_api, sub="usr_op", scope=scope)


def test_operator_records_a_consent_with_its_proof(here: World) -> None:
    path = f"/v1/users/{SARAH}{ON_NUMBER}"
    assert admin(here).call("PUT", f"{path}/sms", {}).status == 422
    assert admin(here, "support").call("PUT", f"{path}/sms", {"proof": "A form"}).status == 403

    given = admin(here).call("PUT", f"{path}/sms", {"proof": "A form"})

    assert given.body == {
        "phone": PHONE,
        "channel": "sms",
        "at": "2026-02-18T12:00:00.000Z",
        "how": "operator",
        "by": "usr_op",
        "proof": "A form",
    }
    assert admin(here).get(path).body["items"] == [given.body]
    exported = admin(here).get(f"/v1/users/{SARAH}/export").body
    assert exported["text_consents"] == [given.body]
    [entry, *_] = [
        each
        for each in admin(here).get("/v1/audit", day=str(NOON.date())).body["items"]
        if each["route"].startswith("PUT") and not each["refused"]
    ]
    assert (entry["kind"], entry["ids"]["user_id"]) == ("number", SARAH)

    assert admin(here).call("DELETE", f"{path}/sms").status == 204
    assert admin(here).get(path).body["items"] == []


def test_person_consents_in_the_app_and_stop_revokes(here: World) -> None:
    sarah = Client(here, mobile_api, sub=SARAH, scope="chat")
    path = f"/v1/me{ON_NUMBER}"
    assert sarah.call("PUT", f"{path}/sms").body["how"] == "person"
    text_in(here, "STOP")
    assert sarah.get(path).body["items"] == []


def test_number_of_somebody_else_has_no_consents_for_the_caller(here: World) -> None:
    stranger = Client(here, mobile_api, sub="usr_other", scope="chat")
    for method in ("PUT", "DELETE"):
        assert stranger.call(method, f"/v1/me{ON_NUMBER}/sms").status == 404
    assert stranger.get(f"/v1/me{ON_NUMBER}").status == 404
