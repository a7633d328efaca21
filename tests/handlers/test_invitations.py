"""Strangers are invited to a chat, and join when they accept."""

from typing import Any

import pytest

from skein.models.chats.person_choices import MAX_INVITATIONS
from skein.models.common.person_names import tagged
from tests.support.api_client import Answer, Client
from tests.support.builders import TENANT, World, bot, person

HUSAM, AHMAD, LENA = person(), person("usr_ahmad", "Ahmad"), person("usr_lena", "Lena")
CHAT = "/v1/chats/chat_1"
DAY = 24 * 3_600


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(HUSAM, AHMAD, LENA)
    world.chat(HUSAM, bot())
    return world


def adding(client: Client, way: str, user_id: str = AHMAD.id) -> Answer:
    """The answer to a person who adds another to a chat, in one of three ways."""
    if way == "add":
        return client.put(f"{CHAT}/members/user/{user_id}")
    kind = "direct" if way == "direct" else "group"
    members = [{"kind": "user", "id": user_id}]
    return client.post("/v1/chats", {"kind": kind, "members": members})


def state_of(body: dict[str, Any], who: str = AHMAD.id) -> str | None:
    """The state of a person in a chat's resource."""
    return next((each["state"] for each in body["members"] if each["id"] == who), None)


WAYS = pytest.mark.parametrize("way", ["add", "group", "direct"])


@WAYS
def test_stranger_is_invited(husam: Client, way: str) -> None:
    answer = adding(husam, way)
    assert answer.status in {200, 201}
    assert state_of(answer.body) == "invited"
    shown = husam.get(f"/v1/chats/{answer.body['id']}").body
    assert shown["members"] == answer.body["members"]
    listed = husam.get(f"/v1/chats/{answer.body['id']}/members").body["items"]
    assert {"kind": "user", "id": AHMAD.id, "name": "Ahmad"} | {
        "state": "invited",
        "role": "member",
        "seen_seq": 0,
    } in listed


@WAYS
def test_person_of_a_shared_chat_is_added(world: World, husam: Client, way: str) -> None:
    world.chat(HUSAM, AHMAD, chat_id="chat_2")
    assert state_of(adding(husam, way).body) == "member"


@pytest.mark.parametrize("ending", ["discard", "caller leaves", "person leaves"])
def test_person_of_a_former_shared_chat_is_invited(
    world: World, husam: Client, ahmad: Client, ending: str
) -> None:
    world.chat(HUSAM, AHMAD, LENA, chat_id="chat_2")
    if ending == "discard":
        husam.delete("/v1/chats/chat_2")
    elif ending == "caller leaves":
        husam.delete(f"/v1/chats/chat_2/members/user/{HUSAM.id}")
    else:
        ahmad.delete(f"/v1/chats/chat_2/members/user/{AHMAD.id}")
    assert state_of(adding(husam, "add").body) == "invited"


def test_person_who_has_left_a_chat_is_not_pulled_back(husam: Client, ahmad: Client) -> None:
    adding(husam, "add")
    ahmad.post(f"{CHAT}/invitation", {"accept": True})
    ahmad.delete(f"{CHAT}/members/user/{AHMAD.id}")
    assert state_of(adding(husam, "add").body) == "invited"
    assert ahmad.get(CHAT).status == 404


def test_pending_invitation_does_not_make_people_contacts(husam: Client, ahmad: Client) -> None:
    adding(husam, "add")
    assert state_of(adding(husam, "group").body) == "invited"
    added = ahmad.post(
        "/v1/chats", {"kind": "group", "members": [{"kind": "user", "id": HUSAM.id}]}
    )
    assert state_of(added.body, HUSAM.id) == "invited"


def test_membership_row_without_roster_entry_does_not_make_people_contacts(
    world: World, husam: Client
) -> None:
    world.chat(HUSAM, AHMAD, chat_id="chat_2")
    world.chat(HUSAM, chat_id="chat_2")  # the roster decides; Ahmad's row remains
    assert state_of(adding(husam, "add").body) == "invited"


def test_unknown_people_are_named(husam: Client) -> None:
    members = [{"kind": "user", "id": user_id} for user_id in ("usr_nobody", AHMAD.id)]
    answer = husam.post("/v1/chats", {"kind": "group", "members": members})
    assert answer.status == 404
    assert answer.body["details"] == {"user_ids": ["usr_nobody"]}


@WAYS
def test_invitation_of_a_person_with_a_chosen_name_has_its_tag(
    world: World, husam: Client, ahmad: Client, way: str
) -> None:
    husam.patch("/v1/me", {"name": "Ahmad's boss"})
    world.clock.advance(60)
    world.drain()
    adding(husam, way)
    [listed] = ahmad.get("/v1/me/choices").body["items"]
    name = tagged("Ahmad's boss", TENANT, HUSAM.id)
    assert listed["question"].startswith(f"{name} invites you")
    assert listed["invitation"]["by"]["name"] == name


def test_invited_person_sees_who_title_and_members(husam: Client, ahmad: Client) -> None:
    adding(husam, "add")
    [listed] = ahmad.get("/v1/me/choices").body["items"]
    assert listed == {
        "chat_id": "chat_1",
        "chat_title": "Project Alpha",
        "seq": None,
        "agent_id": None,
        "purpose": "invitation",
        "question": 'Husam invites you to "Project Alpha" (Husam and Coach). Join? Yes adds you.',
        "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
        "expires_at": "2026-02-19T12:00:00.000Z",
        "invitation": {
            "by": {"kind": "user", "id": HUSAM.id, "name": "Husam"},
            "title": "Project Alpha",
            "members": [
                {
                    "kind": "user",
                    "id": HUSAM.id,
                    "name": "Husam",
                    "state": "member",
                    "role": "owner",
                },
                {
                    "kind": "agent",
                    "id": "agt_a",
                    "name": "Coach",
                    "state": "member",
                    "role": "member",
                },
                {
                    "kind": "user",
                    "id": AHMAD.id,
                    "name": "Ahmad",
                    "state": "invited",
                    "role": "member",
                },
            ],
        },
    }
    assert husam.get("/v1/me/choices").body["items"] == []
    ahmad.post(f"{CHAT}/invitation", {"accept": False})
    assert ahmad.get("/v1/me/choices").body["items"] == []


# ---------------------------------------------------------------------- before acceptance


def test_invited_person_reads_nothing(world: World, husam: Client, ahmad: Client) -> None:
    husam.post(f"{CHAT}/messages", {"text": "A secret number: 7", "client_id": "1"})
    adding(husam, "add")
    refused = [
        ahmad.get(CHAT),
        ahmad.get(f"{CHAT}/members"),
        ahmad.get(f"{CHAT}/messages"),
        ahmad.post(f"{CHAT}/messages", {"text": "Hi", "client_id": "1"}),
        ahmad.post(f"{CHAT}/read", {"seq": 1}),
        ahmad.post(f"{CHAT}/respond", {"all": True}),
        ahmad.patch(CHAT, {"title": "Mine"}),
        ahmad.put(f"{CHAT}/members/user/{LENA.id}"),
        ahmad.delete(f"{CHAT}/members/user/{AHMAD.id}"),
        ahmad.delete(CHAT),
    ]
    assert [answer.status for answer in refused] == [404] * len(refused)
    assert ahmad.get("/v1/chats").body["items"] == []


def test_accepting_joins_as_of_now(world: World, husam: Client, ahmad: Client) -> None:
    husam.post(f"{CHAT}/messages", {"text": "Hello", "client_id": "1"})
    adding(husam, "add")
    husam.post(f"{CHAT}/messages", {"text": "Again", "client_id": "2"})
    for _ in range(2):
        assert ahmad.post(f"{CHAT}/invitation", {"accept": True}).status == 204
    assert (world.membership(AHMAD).joined_seq, world.membership(AHMAD).seen_seq) == (2, 2)
    assert world.stored_chat().joined_late == {"user#usr_ahmad": 2}
    assert state_of(ahmad.get(CHAT).body) == "member"
    assert ahmad.post(f"{CHAT}/invitation", {"accept": False}).status == 409


def test_declining_ends_the_invitation(husam: Client, ahmad: Client) -> None:
    adding(husam, "add")
    assert ahmad.post(f"{CHAT}/invitation", {"accept": False}).status == 204
    assert state_of(husam.get(CHAT).body) is None
    assert ahmad.post(f"{CHAT}/invitation", {"accept": True}).status == 404
    assert state_of(adding(husam, "add").body) == "invited"


def test_only_the_invited_person_answers(world: World, husam: Client) -> None:
    adding(husam, "add")
    lena = Client(world, sub=LENA.id, claims={"name": "Lena"})
    assert lena.post(f"{CHAT}/invitation", {"accept": True}).status == 404
    assert lena.post("/v1/chats/chat_none/invitation", {"accept": True}).status == 404


def test_member_withdraws_an_invitation(husam: Client, ahmad: Client) -> None:
    made = adding(husam, "direct").body["id"]
    assert husam.delete(f"/v1/chats/{made}/members/user/{AHMAD.id}").status == 204
    assert state_of(husam.get(f"/v1/chats/{made}").body) is None
    assert ahmad.post(f"/v1/chats/{made}/invitation", {"accept": True}).status == 404


def test_discarding_the_chat_ends_its_invitations(
    world: World, husam: Client, ahmad: Client
) -> None:
    adding(husam, "add")
    assert husam.delete(CHAT).status == 204
    assert ahmad.post(f"{CHAT}/invitation", {"accept": True}).status == 404
    assert world.stored_chat().invited == ()


def test_invitation_expires(world: World, husam: Client, ahmad: Client) -> None:
    adding(husam, "add")
    world.clock.advance(DAY)
    assert state_of(husam.get(CHAT).body) is None
    assert [each["id"] for each in husam.get(f"{CHAT}/members").body["items"]] == [
        "agt_a",
        HUSAM.id,
    ]
    assert ahmad.post(f"{CHAT}/invitation", {"accept": True}).status == 409
    assert state_of(adding(husam, "add").body) == "invited"
    assert ahmad.post(f"{CHAT}/invitation", {"accept": True}).status == 204


# ---------------------------------------------------------------------- limits


def test_fourth_open_invitation_is_refused(world: World, husam: Client) -> None:
    for _ in range(MAX_INVITATIONS):
        assert adding(husam, "group").status == 201
    answer = adding(husam, "group")
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert len(husam.get("/v1/chats").body["items"]) == 1 + MAX_INVITATIONS
    world.clock.advance(DAY)
    assert adding(husam, "group").status == 201


def test_inviting_again_changes_nothing(world: World, husam: Client) -> None:
    first = adding(husam, "add")
    world.clock.advance(60)
    assert adding(husam, "add").body == first.body
    for _ in range(MAX_INVITATIONS - 1):
        assert adding(husam, "group").status == 201


def test_invited_people_count_as_members_of_a_full_chat(world: World, husam: Client) -> None:
    people = [person(f"usr_{n}") for n in range(98)]
    world.known(*people)
    world.chat(HUSAM, *people, chat_id="chat_1")
    assert adding(husam, "add").status == 200
    assert adding(husam, "add", LENA.id).status == 409
    world.clock.advance(DAY)
    assert adding(husam, "add", LENA.id).status == 200
