"""The HTTP API for operators, through the gateway's own event shapes."""

import json
from typing import Any

import pytest

import admin_api
from skein.models.common.storage import Update
from skein.models.delivery.sms import InboundSms
from skein.models.directory.user import User
from tests.support.api_client import WHY, Client, operator, recorded
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.number_codes import newest_code, prove

HUSAM = person()


# ---------------------------------------------------------------------- agents


def test_the_recorded_event_makes_an_agent(world: World) -> None:
    answer = Client(world, api=admin_api).send(recorded("admin_api"))
    assert answer.status == 201
    assert answer.body["name"] == "Coach"


def test_a_deleted_agent_is_deleted_again_and_null_resets_a_field(admin: Client) -> None:
    path = f"/v1/agents/{admin.post('/v1/agents', {'name': 'Coach', 'model': 'gpt-x'}).body['id']}"
    assert admin.patch(path, {"model": None}).body["model"] is None
    assert admin.patch(path, {"max_concurrent_runs": 5}).body["max_concurrent_runs"] == 5
    assert admin.patch(path, {"max_concurrent_runs": None}).body["max_concurrent_runs"] is None
    assert [admin.delete(path).status, admin.delete(path).status] == [204, 204]


# ---------------------------------------------------------------------- people and lines


def test_user_is_created_read_changed_and_listed(admin: Client) -> None:
    given_ = {"id": "auth0|42", "name": "Ann", "phones": ["+1 500 555 0101"], "profile": {"a": 1}}
    made = admin.post("/v1/users", given_)
    assert (made.status, made.body) == (
        201,
        {
            "id": "auth0|42",
            "name": "Ann",
            "name_source": "given",
            "phones": ["+15005550101"],
            "time_zone": None,
            "quiet_hours": None,
            "profile": {"a": 1},
            "profile_changes": [],
            "roles": [],
        },
    )
    assert admin.get("/v1/users/auth0|42", reason=WHY).body == made.body
    assert admin.post("/v1/users", given_).code == "conflict"
    taken = admin.post("/v1/users", {"name": "Ben", "phones": ["+15005550101"]})
    assert (taken.status, taken.body["details"]) == (409, {"phones": ["+15005550101"]})
    fields = {"phones": [], "time_zone": "Asia/Amman"}
    changed = admin.patch("/v1/users/auth0|42", fields, reason=WHY)
    assert changed.body == made.body | {"phones": [], "time_zone": "Asia/Amman"}
    assert [item["id"] for item in admin.all_pages("/v1/users", limit=1)] == ["auth0|42"]


def test_quiet_hours_of_a_person_are_set_and_removed(admin: Client) -> None:
    night = {"from": "22:30", "to": "07:00"}
    made = admin.post("/v1/users", {"id": "usr_ann", "name": "Ann", "quiet_hours": night})
    assert made.body["quiet_hours"] == night
    other = admin.patch("/v1/users/usr_ann", {"quiet_hours": {"from": "00:00", "to": "00:00"}})
    assert other.body["quiet_hours"] == {"from": "00:00", "to": "00:00"}
    assert admin.patch("/v1/users/usr_ann", {"name": "Anna"}).body["quiet_hours"] is not None
    assert admin.patch("/v1/users/usr_ann", {"quiet_hours": None}).body["quiet_hours"] is None
    for wrong in ("22:30-07:00", {"from": "22:30"}, {"from": "9:00", "to": "10:00"}, {}):
        assert admin.patch("/v1/users/usr_ann", {"quiet_hours": wrong}).status == 422


def test_quiet_hours_of_a_tenant_are_set_and_removed(admin: Client) -> None:
    night = {"from": "22:30", "to": "07:00"}
    assert admin.patch("/v1/settings", {"quiet_hours": night}).body["quiet_hours"] == night
    assert admin.get("/v1/settings").body["quiet_hours"] == night
    assert admin.patch("/v1/settings", {"quiet_hours": None}).body["quiet_hours"] is None
    assert admin.patch("/v1/settings", {"quiet_hours": {"from": "25:00", "to": "1"}}).status == 422


@pytest.mark.parametrize("spelled", ["+15005550101", " 15005550101", "+1 500 555 0101"])
def test_users_with_a_phone_number_are_its_owner_alone(admin: Client, spelled: str) -> None:
    ann = admin.post("/v1/users", {"name": "Ann", "phones": ["+15005550101"]}).body
    admin.post("/v1/users", {"name": "Ben", "phones": ["+15005550102"]})
    answer = admin.get("/v1/users", phone=spelled)
    detail = ("profile", "profile_changes", "roles")
    listed = {name: value for name, value in ann.items() if name not in detail}
    assert (answer.status, answer.body) == (200, {"items": [listed], "next_cursor": None})


def test_search_by_unknown_phone_number_returns_empty_list(world: World, admin: Client) -> None:
    nobody: dict[str, Any] = {"items": [], "next_cursor": None}
    assert admin.get("/v1/users", phone="+15005550101").body == nobody
    admin.post("/v1/users", {"id": "usr_ann", "name": "Ann", "phones": ["+15005550101"]})
    assert operator(world, tenant="other").get("/v1/users", phone="+15005550101").body == nobody
    world.table.write(Update(User.key_of(TENANT, "usr_ann"), set={"erasure_id": "era_1"}))
    assert admin.get("/v1/users", phone="+15005550101").body == nobody


@pytest.mark.parametrize("phone", ["15005550101", "+15", "Ann", ""])
def test_users_with_an_invalid_phone_number_are_422(admin: Client, phone: str) -> None:
    assert admin.get("/v1/users", phone=phone).status == 422


def test_users_are_found_by_name_and_by_id(world: World) -> None:
    admin = operator(world)
    for user_id, name in (("usr_1", "Zoë Quill"), ("usr_2", "Zoe Ann"), ("usr_3", "Ben")):
        admin.post("/v1/users", {"id": user_id, "name": name})
    found = admin.get("/v1/users", q="ZOE")
    assert [user["id"] for user in found.body["items"]] == ["usr_1", "usr_2"]
    assert [user["id"] for user in admin.get("/v1/users", q="zo qu").body["items"]] == ["usr_1"]
    assert [user["id"] for user in admin.get("/v1/users", q="usr_3").body["items"]] == ["usr_3"]
    pages = admin.all_pages("/v1/users", limit=1, q="zoe")
    assert sorted(user["id"] for user in pages) == ["usr_1", "usr_2"]
    assert operator(world, tenant="other").get("/v1/users", q="zoe").body["items"] == []


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"q": ""}, 422),
        ({"q": "  "}, 422),
        ({"q": "x" * 201}, 422),
        ({"q": "ann", "phone": "+15005550101"}, 422),
        ({"q": "ann", "cursor": "none"}, 400),
    ],
)
def test_search_for_users_refuses_wrong_parameters(
    world: World, query: dict[str, str], status: int
) -> None:
    assert operator(world).get("/v1/users", **query).status == status


def test_users_with_a_phone_number_have_no_cursor(admin: Client) -> None:
    for number in (1, 2):
        admin.post("/v1/users", {"name": "Ann", "phones": [f"+1500555010{number}"]})
    cursor = admin.get("/v1/users", limit=1).body["next_cursor"]
    answer = admin.get("/v1/users", phone="+15005550101", cursor=cursor)
    assert (answer.status, answer.code) == (400, "invalid")


def test_chats_of_a_user_are_direct_chats_with_line_and_phone_without_text(
    world: World, admin: Client
) -> None:
    world.agent()
    world.line()
    world.app.sms_receiver.receive(
        InboundSms(account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hi")
    )
    world.drain()
    [user] = admin.get("/v1/users", phone=PHONE).body["items"]
    someone = person(user["id"], user["name"])
    world.chat(someone, bot(), chat_id="chat_group")
    world.chat(someone, bot(), chat_id="chat_app", kind="direct", visibility="private")
    answer = admin.get(f"/v1/users/{user['id']}/chats")
    assert (answer.status, answer.body["next_cursor"]) == (200, None)
    by_sms = next(chat for chat in answer.body["items"] if chat["phone"] is not None)
    nothing: dict[str, Any] = {"line": None, "channel": None, "phone": None, "opt_outs": {}}
    by_app = {"chat_id": "chat_app", "agent_id": "agt_a", **nothing}
    assert by_sms == {
        "chat_id": by_sms["chat_id"],
        "agent_id": "agt_a",
        "line": LINE,
        "channel": "sms",
        "phone": PHONE,
        "opt_outs": {},
        "last_seq": 2,
    }
    assert [chat for chat in answer.body["items"] if chat != by_sms] == [by_app | {"last_seq": 0}]
    world.app.sms_receiver.receive(
        InboundSms(account_sid="AC1", message_sid="SM2", sender=PHONE, recipient=LINE, body="STOP")
    )
    listed = admin.get(f"/v1/users/{user['id']}/chats").body["items"]
    assert [list(chat["opt_outs"]) for chat in listed if chat["phone"]] == [["sms"]]


def test_chats_of_a_user_page_through_all_direct_chats_once(world: World, admin: Client) -> None:
    world.agent()
    admin.post("/v1/users", {"id": HUSAM.id, "name": "Husam"})
    for n in range(6):
        kind = "direct" if n % 2 else "group"
        world.chat(HUSAM, bot(), chat_id=f"chat_{n}", kind=kind)
    listed = admin.all_pages(f"/v1/users/{HUSAM.id}/chats", limit=1)
    assert sorted(chat["chat_id"] for chat in listed) == ["chat_1", "chat_3", "chat_5"]


def test_chats_of_a_user_who_does_not_exist_are_not_found(world: World, admin: Client) -> None:
    admin.post("/v1/users", {"id": HUSAM.id, "name": "Husam"})
    assert admin.get("/v1/users/usr_nobody/chats").status == 404
    assert operator(world, tenant="other").get(f"/v1/users/{HUSAM.id}/chats").status == 404


def test_operator_path_from_a_phone_number_to_the_run_takes_four_calls(
    world: World, admin: Client
) -> None:
    world.agent()
    world.line()
    world.model.script.append("[silence]")
    world.app.sms_receiver.receive(
        InboundSms(account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hi")
    )
    world.drain()
    [user] = admin.get("/v1/users", phone=PHONE).body["items"]
    [chat] = admin.get(f"/v1/users/{user['id']}/chats").body["items"]
    path = f"/v1/chats/{chat['chat_id']}/messages/{chat['last_seq']}/reasons"
    [agent] = admin.get(path).body["agents"]
    run = admin.get(f"/v1/runs/{agent['runs'][0]['id']}").body
    assert (agent["reason"], run["reason"]) == ("chose_silence", "chose_silence")


def test_a_profile_is_changed_field_by_field(admin: Client) -> None:
    path = "/v1/users/usr_ann"
    admin.post("/v1/users", {"id": "usr_ann", "name": "Ann", "profile": {"goals": ["5k"]}})
    changed = admin.patch(path, {"profile": {"skill_level": 3, "pets": {"cats": 2}}}, reason=WHY)
    everything_known = {"goals": ["5k"], "skill_level": 3, "pets": {"cats": 2}}
    assert (changed.status, changed.body["profile"]) == (200, everything_known)
    admin.patch(path, {"profile": {"pets": None, "goals": "10k"}, "name": "Ann B."}, reason=WHY)
    assert admin.get(path, reason=WHY).body["profile"] == {"goals": "10k", "skill_level": 3}
    for wrong in ({"goals": 5}, {"skill_level": 1.5}, {"name": "Eve"}, {"time_zone": "UTC"}):
        assert admin.patch(path, {"profile": wrong}, reason=WHY).status == 422
    too_much = admin.patch(path, {"profile": {"a": "x" * 16_350}}, reason=WHY)
    assert (too_much.status, too_much.code) == (422, "unprocessable")
    assert admin.get(path, reason=WHY).body["profile"] == {"goals": "10k", "skill_level": 3}


def test_phone_is_linked_by_code_and_unlinked(world: World, admin: Client) -> None:
    world.agent()
    world.line()
    world.app.sms_receiver.receive(
        InboundSms(account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hi")
    )
    world.drain()
    admin.post("/v1/users", {"id": "usr_ann", "name": "Ann"})
    path = "/v1/users/usr_ann/phones/"
    sent = admin.call("POST", f"{path}+1 (500) 555-0100/code")
    assert (sent.status, sent.body["phone"], sent.body["line"]) == (202, PHONE, LINE)
    given = {"code": newest_code(world, PHONE)}
    wrong = {"code": "000000" if given["code"] != "000000" else "000001"}
    refused = admin.put(path + PHONE, wrong)
    assert (refused.status, refused.body["details"]) == (422, {"tries_left": 4})
    assert admin.get("/v1/users/usr_ann").body["phones"] == []
    linked = admin.put(f"{path}+1 (500) 555-0100", given)
    assert (linked.status, linked.body["phones"]) == (200, [PHONE])
    assert admin.put(path + PHONE, given).body == linked.body == admin.get("/v1/users/usr_ann").body
    assert [user["id"] for user in admin.all_pages("/v1/users")] == ["usr_ann"]
    [chat] = Client(world, sub="usr_ann").get("/v1/chats").body["items"]
    assert [member["name"] for member in chat["members"]] == ["Ann", "Coach"]

    admin.post("/v1/users", {"id": "usr_ben", "name": "Ben"})
    ben = f"/v1/users/usr_ben/phones/{PHONE}"
    assert admin.put(ben, given).status == 409
    given = {"code": prove(world.table, world.clock, "usr_ben", PHONE)}
    refused = admin.put(ben, given)
    assert (refused.status, refused.body["details"]) == (409, {"phones": [PHONE]})
    assert admin.put("/v1/users/usr_nobody/phones/+15005550111", given).status == 404
    for unfit in ("555", "+1500", "phone", "%20"):
        assert admin.put(path + unfit, given).status == 422

    assert admin.delete(path + PHONE).status == 204
    assert admin.delete(path + PHONE).status == 204
    assert admin.get("/v1/users/usr_ann").body["phones"] == []
    assert admin.put(ben, given).status == 200


def test_numbers_of_a_new_user_need_the_role_of_privacy(world: World) -> None:
    support = Client(world, admin_api, sub="usr_op", scope="support")
    assert support.post("/v1/users", {"name": "Ann"}).status == 201
    assert support.post("/v1/users", {"name": "Ben", "phones": [PHONE]}).status == 403
    assert support.call("POST", f"/v1/users/usr_ann/phones/{PHONE}/code").status == 403


def test_agent_profile_fields_are_set_by_the_operator(admin: Client) -> None:
    given_ = {"name": "Coach", "enabled_tools": ["update_profile"], "profile_fields": ["name"]}
    made = admin.post("/v1/agents", given_)
    assert made.body["profile_fields"] == ["name"]
    path = f"/v1/agents/{made.body['id']}"
    assert admin.patch(path, {"profile_fields": []}).body["profile_fields"] == []
    for wrong in (["Shoe Size"], ["x" * 65], [""], "name"):
        assert admin.patch(path, {"profile_fields": wrong}).status == 422


def test_operator_sees_the_source_of_an_agents_value_and_undoes_the_change(
    world: World, admin: Client
) -> None:
    world.agent()
    admin.post("/v1/users", {"id": HUSAM.id, "name": "Husam", "profile": {"pets": "Rex"}})
    world.chat(HUSAM, bot(), kind="direct", visibility="private", respond="manual")
    world.post("I want to run", HUSAM)
    values = [{"field": "goals", "value": "run", "from": [1]}]
    world.model.memories.append(json.dumps({"journal": [], "core": [], "profile": values}))
    admin.post("/v1/chats/chat_1/consolidate", {})
    world.drain()
    found = admin.get(f"/v1/users/{HUSAM.id}", reason=WHY).body
    [made] = found["profile_changes"]
    assert found["profile"] == {"pets": "Rex", "goals": "run"}
    assert (made["field"], made["before"], made["value"]) == ("goals", None, "run")
    assert made["source"] == {
        "made_by": "consolidation",
        "agent_id": "agt_a",
        "chat_id": "chat_1",
        "seqs": [1],
        "said_at": "2026-02-18T12:00:00.000Z",
        "run_id": None,
    }
    assert admin.get("/v1/chats/chat_1/consolidations").body["items"][0]["profile"] == 1
    exported = admin.get(f"/v1/users/{HUSAM.id}/export").body["user"]
    assert exported["profile_changes"] == [made]
    path = f"/v1/users/{HUSAM.id}/profile-changes/{made['id']}/undo"
    for _ in range(2):
        undone = admin.post(path, {}, reason=WHY)
        assert (undone.status, undone.body["profile"]) == (200, {"pets": "Rex"})
        assert undone.body["profile_changes"][0]["undone_at"] is not None
    assert admin.post(path.replace("pch_", "pch_x"), {}, reason=WHY).status == 404
    entries = admin.all_pages("/v1/audit", day="2026-02-18")
    [entry, _] = [entry for entry in entries if entry["route"].endswith("/undo")]
    assert (entry["verb"], entry["kind"]) == ("change", "profile")
    assert entry["ids"] == {"user_id": HUSAM.id, "profile_change_id": made["id"]}


def test_a_line_of_an_unknown_agent_is_refused(world: World, admin: Client) -> None:
    world.agent()
    world.line()
    assert admin.patch(f"/v1/lines/{LINE}", {"agent_id": "agt_unknown"}).status == 422
    assert admin.get("/v1/lines/nobody").status == 404


# ---------------------------------------------------------------------- runs


def test_get_run_shows_prompt_and_answers(world: World, admin: Client) -> None:
    world.agent()
    world.chat(HUSAM, bot(), kind="direct")
    world.post("Hello", HUSAM)
    world.drain()
    [run] = world.runs()

    shown = admin.get(f"/v1/runs/{run.id}")

    assert shown.status == 200
    assert shown.body["status"] == "done"
    assert shown.body["trigger"]["type"] == "chat_message"
    assert shown.body["usage"] == {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0}
    assert [step["text"] for step in shown.body["steps"]] == ["Hello!"]
    prompt = shown.body["prompt"]
    assert prompt["total_tokens"] > 0
    assert all({"name", "tokens", "text"} <= set(section) for section in prompt["sections"])

    [listed] = admin.get("/v1/agents/agt_a/runs").body["items"]
    by = {"kind": "user", "id": HUSAM.id, "name": HUSAM.name}
    preview = {"by": by, "asked": "Hello", "answered": "Hello!"}
    assert shown.body["preview"] == preview
    assert listed == shown.body | {"prompt": None, "steps": []}


def test_runs_are_listed_by_day_the_newest_first(world: World, admin: Client) -> None:
    world.agent()
    world.chat(HUSAM, bot())
    for day in ("18", "19"):
        for _ in range(3):
            world.post("Hello", HUSAM)
            world.drain()
        if day == "18":
            world.clock.advance(24 * 3600)
    made = [run.id for run in world.runs()]
    path = "/v1/agents/agt_a/runs"
    assert [run["id"] for run in admin.all_pages(path, limit=2)] == made[:2:-1]
    first_day = [run["id"] for run in admin.all_pages(path, limit=2, day="2026-02-18")]
    assert first_day == made[2::-1]
    assert admin.get(path, day="2026-02-20").body == {"items": [], "next_cursor": None}
    assert admin.get(path, day="yesterday").status == 422


@pytest.mark.parametrize(
    "run_id",
    [
        "x",
        "run_1_chat_1",
        "run__chat_1",
        "run_1_usr_1",
        "a_b_c_d",
        "run_1_chat_1_2",
        "%23",
        "_" * 5,
    ],
)
def test_odd_run_ids_are_not_there(admin: Client, run_id: str) -> None:
    answer = admin.get(f"/v1/runs/{run_id}")
    assert (answer.status, answer.code) == (404, "not_found")


# ---------------------------------------------------------------------- who may


def test_cursor_of_another_tenant_lists_only_own_items(world: World, admin: Client) -> None:
    for n in range(4):
        admin.post("/v1/agents", {"name": f"Ours {n}"})
    cursor = admin.get("/v1/agents", limit=2).body["next_cursor"]
    other = operator(world, tenant="other")
    other.post("/v1/agents", {"name": "Theirs"})
    names = [item["name"] for item in other.get("/v1/agents", cursor=cursor).body["items"]]
    assert names == ["Theirs"]


# ---------------------------------------------------------------------- settings


def test_tenant_setting_is_set_and_reset(admin: Client) -> None:
    nothing = admin.get("/v1/settings").body
    assert set(nothing.values()) == {None}
    change = {"conversation_gap_minutes": 45, "context_reset_phrases": ["begin anew"]}
    changed = admin.patch("/v1/settings", change)
    assert changed.status == 200
    assert changed.body == nothing | change
    more = admin.patch("/v1/settings", {"conversation_gap_minutes": None, "run_days": 90})
    assert more.body == nothing | {"context_reset_phrases": ["begin anew"], "run_days": 90}
    assert admin.get("/v1/settings").body == more.body


def test_settings_of_another_tenant_are_their_own(world: World, admin: Client) -> None:
    admin.patch("/v1/settings", {"apology": False})
    theirs = operator(world, tenant="other").get("/v1/settings").body
    assert theirs["apology"] is None


@pytest.mark.parametrize("body", [{"tone": "warm"}, {"apology": "perhaps"}, {"run_days": 0}])
def test_settings_that_do_not_fit_are_refused_everywhere(
    world: World, admin: Client, body: dict[str, Any]
) -> None:
    world.agent()
    world.line()
    assert admin.patch("/v1/settings", body).status == 422
    for path in ("/v1/agents/agt_a", f"/v1/lines/{LINE}"):
        assert admin.patch(path, {"settings": body}).status == 422
    assert admin.get("/v1/settings").body["run_days"] is None


def test_an_agents_and_a_lines_settings_are_changed_field_by_field(
    world: World, admin: Client
) -> None:
    world.agent()
    world.line()
    for path in ("/v1/agents/agt_a", f"/v1/lines/{LINE}"):
        admin.patch(path, {"settings": {"apology": False, "max_context_tokens": 900}})
        changed = admin.patch(path, {"settings": {"apology": None}})
        assert changed.body["settings"] == {"max_context_tokens": 900}
        assert admin.get(path).body["settings"] == {"max_context_tokens": 900}
