"""What people change of their own records."""

from typing import Any

import pytest

from skein.models.common.person_names import tagged
from skein.models.delivery.sms import InboundSms
from skein.models.directory.profile_change import ProfileSource
from skein.models.directory.user import User
from skein.services.common.optimistic import revise
from skein.services.directory.profile_changes import may_fill, set_by_agent
from tests.support.api_client import WHY, Client, operator
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.number_codes import newest_code

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
SAM = tagged("Sam", TENANT, HUSAM.id)
SOURCE = ProfileSource(
    made_by="update_profile", agent_id="agt_a", chat_id="chat_1", seqs=(1,), said_at=NOON
)


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, bot())
    return world


def stored(world: World, user_id: str) -> User:
    return world.app.users.get(TENANT, user_id)


def set_by_an_agent(world: World, field: str, value: Any, number: int = 1) -> None:
    user = stored(world, HUSAM.id)
    given = set_by_agent(user, field, value, SOURCE, change_id=f"pch_{number}", now=NOON)
    world.table.write(revise(user, given)[1])
    world.clock.advance(1)


# ---------------------------------------------------------------------- the own record


def test_patch_me_changes_and_returns_the_own_record(world: World, husam: Client) -> None:
    hours = {"from": "22:00", "to": "07:00"}
    change = {
        "name": "  Sam ",
        "time_zone": "Asia/Amman",
        "quiet_hours": hours,
    }
    answer = husam.patch("/v1/me", change)
    assert answer.status == 200
    assert answer.body == {
        "id": "usr_husam",
        "name": "Sam",
        "name_source": "chosen",
        "phones": [],
        "time_zone": "Asia/Amman",
        "quiet_hours": hours,
        "profile": {},
        "tenant": TENANT,
        "scopes": ["chat"],
        "operators_read_chats": {"on": True, "since": None},
    }
    assert husam.get("/v1/me").body == answer.body


def test_patch_me_with_null_resets_time_zone_and_quiet_hours_only(husam: Client) -> None:
    hours = {"from": "22:00", "to": "07:00"}
    husam.patch("/v1/me", {"time_zone": "Asia/Amman", "quiet_hours": hours, "name": "Sam"})
    change = {"time_zone": None, "quiet_hours": None, "name": None}
    body = husam.patch("/v1/me", change).body
    assert (body["time_zone"], body["quiet_hours"]) == (None, None)
    assert body["name"] == "Sam"


def test_patch_me_without_a_record_makes_one(world: World) -> None:
    new = Client(world, sub="usr_new", claims={"name": "Nora"})
    assert new.patch("/v1/me", {"time_zone": "Asia/Amman"}).body["name"] == "Nora"
    assert stored(world, "usr_new").time_zone == "Asia/Amman"
    assert [user.id for user in world.app.users.list(TENANT).items][-1] == "usr_new"


def test_patch_me_with_the_same_values_writes_nothing(world: World, husam: Client) -> None:
    husam.patch("/v1/me", {"name": "Sam"})
    version = stored(world, HUSAM.id).version
    husam.patch("/v1/me", {"name": "Sam"})
    husam.patch("/v1/me", {})
    assert stored(world, HUSAM.id).version == version


@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"name": "Sam (chosen, k3f9)"},
        {"name": "trigger:"},
        {"time_zone": "Amman"},
        {"quiet_hours": {"from": "25:00", "to": "07:00"}},
        {"phones": []},
        {"profile": {}},
        {"id": "usr_ahmad"},
    ],
)
def test_patch_me_with_a_bad_value_is_422(world: World, husam: Client, body: Any) -> None:
    before = stored(world, HUSAM.id)
    assert husam.patch("/v1/me", body).status == 422
    assert stored(world, HUSAM.id) == before


def test_patch_me_with_a_new_name_renames_the_caller_in_their_chats(
    world: World, husam: Client
) -> None:
    husam.patch("/v1/me", {"name": "Sam"})
    world.clock.advance(60)
    world.drain()
    members = husam.get("/v1/chats/chat_1").body["members"]
    assert [member["name"] for member in members] == [SAM, "Coach"]
    husam.post("/v1/chats/chat_1/messages", {"text": "Hi", "client_id": "1"})
    [message] = husam.get("/v1/chats/chat_1/messages").body["items"]
    assert message["sender"]["name"] == SAM


def test_operators_name_takes_the_tag_off(world: World, husam: Client) -> None:
    husam.patch("/v1/me", {"name": "Sam"})
    answer = operator(world).patch("/v1/users/usr_husam", {"name": "Sam"})
    assert (answer.body["name"], answer.body["name_source"]) == ("Sam", "given")
    world.clock.advance(60)
    world.drain()
    assert world.stored_chat().roster[0].name == "Sam"


@pytest.mark.parametrize("name", ["Sam (chosen, k3f9)", "You"])
def test_operator_cannot_give_an_unfit_name(world: World, name: str) -> None:
    assert operator(world).patch("/v1/users/usr_husam", {"name": name}).status == 422
    assert operator(world).post("/v1/users", {"name": name}).status == 422


def test_chosen_name_is_kept_when_the_token_has_the_same_name(world: World, husam: Client) -> None:
    husam.patch("/v1/me", {"name": "Sam"})
    again = Client(world, sub=HUSAM.id, claims={"name": "Sam"})
    assert again.get("/v1/me").body["name_source"] == "chosen"
    assert again.patch("/v1/me", {"name": "Sam"}).body["name_source"] == "chosen"
    assert again.post("/v1/chats", {"kind": "group"}).body["members"][0]["name"] == SAM


def test_name_of_the_token_is_given_to_the_first_record_only(world: World) -> None:
    mira = Client(world, sub="usr_mira", claims={"name": "Mira"})
    assert mira.get("/v1/me").body["name_source"] == "given"
    assert mira.patch("/v1/me", {"name": "Mira"}).body["name_source"] == "given"
    mira.post("/v1/chats", {"kind": "group"})
    later = Client(world, sub="usr_mira", claims={"name": "Mira Lee"})
    assert later.get("/v1/me").body["name"] == "Mira"


def test_name_of_the_token_like_a_tag_is_not_used(world: World) -> None:
    mira = Client(world, sub="usr_mira", claims={"name": "Sam (chosen, k3f9)"})
    assert mira.get("/v1/me").body["name"] == "usr_mira"


def test_renaming_does_not_change_the_name_rank(world: World, husam: Client) -> None:
    """A chosen name, even another member's given name, changes how a person is called only."""
    was, place = stored(world, HUSAM.id), world.membership(HUSAM)
    husam.patch("/v1/me", {"name": AHMAD.name})
    world.clock.advance(60)
    world.drain()
    now, there = stored(world, HUSAM.id), world.membership(HUSAM)
    assert now.as_member.name == tagged(AHMAD.name, TENANT, HUSAM.id)
    changed = {"name", "name_source", "profile_changes", "version"}
    assert now.model_dump(exclude=changed) == was.model_dump(exclude=changed)
    assert there.model_dump(exclude={"member"}) == place.model_dump(exclude={"member"})
    assert there.member == now.as_member


def test_patch_me_while_the_caller_is_being_erased_is_409(world: World, husam: Client) -> None:
    world.app.erasures.request(TENANT, HUSAM.id, by="usr_op")
    assert husam.patch("/v1/me", {"name": "Sam"}).status == 409


def test_patch_me_over_the_limit_of_changes_is_429(world: World, husam: Client) -> None:
    for number in range(world.settings.user_chat_changes_per_hour):
        assert husam.patch("/v1/me", {"name": f"Sam {number}"}).status == 200
    assert husam.patch("/v1/me", {"name": "Sam"}).status == 429


# ---------------------------------------------------------------------- sources


def test_own_change_keeps_the_changes_by_agents_with_their_sources(
    world: World, husam: Client
) -> None:
    set_by_an_agent(world, "name", "Hussam", 1)
    set_by_an_agent(world, "preferences", "tea", 2)
    husam.patch("/v1/me", {"name": "Sam"})
    changes = operator(world).get("/v1/users/usr_husam", reason=WHY).body["profile_changes"]
    told = {(each["field"], each["before"], each["value"]): each["source"] for each in changes}
    source = SOURCE.model_dump(mode="json") | {"said_at": "2026-02-18T12:00:00.000Z"}
    assert told == {
        ("name", "Hussam", "Sam"): None,
        ("preferences", None, "tea"): source,
        ("name", "Husam", "Hussam"): source,
    }


@pytest.mark.parametrize("name", ["Sam", "Hussam"], ids=["another", "confirmed"])
def test_own_value_is_not_filled_by_consolidation(world: World, husam: Client, name: str) -> None:
    set_by_an_agent(world, "name", "Hussam")
    assert may_fill(stored(world, HUSAM.id), "name")
    husam.patch("/v1/me", {"name": name})
    assert not may_fill(stored(world, HUSAM.id), "name")


def test_own_changes_of_a_field_are_recorded_once(world: World, husam: Client) -> None:
    set_by_an_agent(world, "name", "Hussam")
    for name in ("A", "B", "C"):
        husam.patch("/v1/me", {"name": name})
    values = [made.value for made in stored(world, HUSAM.id).profile_changes]
    assert values == ["Hussam", "C"]


def test_own_change_cannot_be_undone_by_operators(world: World, husam: Client) -> None:
    husam.patch("/v1/me", {"name": "Sam"})
    [made] = stored(world, HUSAM.id).profile_changes
    path = f"/v1/users/usr_husam/profile-changes/{made.id}/undo"
    answer = operator(world).post(path, {}, reason=WHY)
    assert answer.status == 409
    assert stored(world, HUSAM.id).name == "Sam"


def test_person_proves_a_number_and_gets_its_chats(world: World, husam: Client) -> None:
    world.line()
    sms = InboundSms(account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hi")
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    world.drain()
    path = f"/v1/me/phones/{PHONE}"
    assert husam.call("POST", f"{path}/code").status == 202
    code = {"code": newest_code(world, PHONE)}
    assert Client(world, sub=AHMAD.id).put(path, code).status == 409
    linked = husam.put(path, code)
    assert (linked.status, linked.body["phones"]) == (200, [PHONE])
    assert posted.message.chat_id in [chat["id"] for chat in husam.get("/v1/chats").body["items"]]


def test_person_without_a_record_proves_a_number(world: World) -> None:
    world.line()
    eve = Client(world, sub="usr_eve", claims={"name": "Eve"})
    path = f"/v1/me/phones/{PHONE}"
    assert eve.call("POST", f"{path}/code").status == 202
    linked = eve.put(path, {"code": newest_code(world, PHONE)})
    assert (linked.status, linked.body["name"], linked.body["phones"]) == (200, "Eve", [PHONE])
