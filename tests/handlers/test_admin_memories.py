"""Memories over the HTTP API for operators."""

from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Conflict
from skein.memory.models.memory import JOURNAL_DAYS
from skein.models.common.base import rfc3339
from skein.models.visibility.audience import OPEN
from skein.models.visibility.ownership import Actor, Owner, Reach
from skein.models.visibility.provenance import MadeFrom
from tests.support.api_client import WHY, Client
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.owners import ANN, TEAM

MEMORIES = "/v1/agents/agt_a/memories"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(person("usr_ann", "Ann"))
    world.chat(bot(), chat_id="chat_team", visibility="private")
    return world


def test_a_removed_memory_is_restored(world: World, admin: Client) -> None:
    made = admin.post(MEMORIES, {"kind": "core", "text": "Ann likes tea"}).body
    path = f"{MEMORIES}/{made['id']}"
    world.clock.advance(60)
    assert [admin.delete(path).status, admin.delete(path).status] == [204, 204]
    gone = made | {"deleted_at": "2026-02-18T12:01:00.000Z"}
    assert admin.get(path).body == gone
    assert admin.get(MEMORIES, state="live").body["items"] == []
    assert admin.get(MEMORIES, state="ended").body["items"] == [gone]
    for _ in range(2):
        back = admin.post(f"{path}/restore", {})
        assert (back.status, back.body) == (200, made)
    assert admin.get(MEMORIES, state="live").body["items"] == [made]


def test_post_existing_memory_returns_it(admin: Client) -> None:
    first = admin.post(MEMORIES, {"kind": "core", "text": "Ann likes tea"})
    again = admin.post(MEMORIES, {"kind": "journal", "text": "ann likes TEA."})
    assert (again.status, again.body) == (200, first.body)


def test_superseded_memory_names_its_successor(admin: Client) -> None:
    note = admin.post(MEMORIES, {"kind": "journal", "text": "Ann likes tea"}).body
    assert note["expires_at"] == rfc3339(NOON + timedelta(days=JOURNAL_DAYS))
    law = admin.post(MEMORIES, {"kind": "core", "text": "Ann likes tea", "constitutional": True})
    assert (law.status, law.body["constitutional"]) == (201, True)
    assert admin.get(f"{MEMORIES}/{note['id']}").body["superseded_by"] == law.body["id"]
    restored = admin.post(f"{MEMORIES}/{note['id']}/restore", {}).body
    assert restored == note
    assert admin.delete(f"{MEMORIES}/{law.body['id']}").status == 204


def test_lists_are_by_kind_and_state(world: World, admin: Client) -> None:
    note = admin.post(MEMORIES, {"kind": "journal", "text": "Note"}).body["id"]
    core = admin.post(MEMORIES, {"kind": "core", "text": "Core"}).body["id"]
    law = admin.post(MEMORIES, {"kind": "core", "text": "L", "constitutional": True}).body["id"]

    def ids(**wanted: Any) -> list[str]:
        return [item["id"] for item in admin.get(MEMORIES, **wanted).body["items"]]

    assert ids() == [note, core, law]
    assert (ids(kind="core"), ids(kind="journal")) == ([core, law], [note])
    world.clock.advance(JOURNAL_DAYS * 86_400)
    assert (ids(state="live"), ids(state="ended")) == ([core, law], [note])
    for limit in (1, 2):
        paged = [item["id"] for item in admin.all_pages(MEMORIES, limit=limit)]
        assert paged == [note, core, law]


def by_one_person(world: World, text: str, *writers: str, **fields: Any) -> str:
    made_from = MadeFrom.messages("chat_1", 1, 2, writers)
    owner = Owner(tenant=TENANT, agent_id="agt_a", source_chat_id="chat_1", made_from=made_from)
    given = {"made_by": "consolidation"} | fields
    return world.app.memories.add(owner, text, "core", **given).memory.id


def test_open_memories_that_rest_on_one_person_are_listed_until_confirmed(
    world: World, admin: Client
) -> None:
    one = by_one_person(world, "Refunds need no approval", "usr_ben")
    by_one_person(world, "Two say so", "usr_ann", "usr_ben")
    by_one_person(world, "Agents only")
    admin.post(MEMORIES, {"kind": "core", "text": "An operator's"})

    def listed() -> list[str]:
        return [item["id"] for item in admin.get(MEMORIES, rests_on="one_person").body["items"]]

    assert listed() == [one]
    path = f"{MEMORIES}/{one}"
    assert admin.get(path).body["confirmed"] is False
    assert admin.patch(path, {"confirmed": True}).body["confirmed"] is True
    assert listed() == []
    agents = Reach(tenant=TENANT, agent_id="agt_a", readers=OPEN, actor=Actor(chat_id="chat_1"))
    with pytest.raises(Conflict, match="only operators"):
        world.app.memories.forget(agents, one)
    ids = {"agent_id": "agt_a", "memory_id": one}
    changes = [e["ids"] for e in admin.get("/v1/audit").body["items"] if e["verb"] == "change"]
    assert changes == [ids]
    assert admin.patch(path, {"confirmed": False}).body["confirmed"] is False
    assert listed() == [one]
    assert admin.delete(path).status == 204
    assert admin.patch(path, {"confirmed": True}).status == 409
    assert admin.patch(path, {}).status == 422


def test_memory_of_an_operator_stays_confirmed(admin: Client) -> None:
    made = admin.post(MEMORIES, {"kind": "core", "text": "An operator's"}).body
    assert admin.patch(f"{MEMORIES}/{made['id']}", {"confirmed": False}).body == made
    assert made["confirmed"] is True


def test_operators_memory_takes_the_place_of_the_same_words_of_a_person(
    world: World, admin: Client
) -> None:
    said = by_one_person(world, "Refunds need approval", "usr_ben")
    made = admin.post(MEMORIES, {"kind": "core", "text": "refunds need approval."})
    assert (made.status, made.body["confirmed"]) == (201, True)
    assert admin.get(f"{MEMORIES}/{said}").body["superseded_by"] == made.body["id"]
    assert admin.post(MEMORIES, {"kind": "core", "text": "Refunds need approval"}).status == 200


def test_private_items_are_listed_only_by_their_person_or_chat(world: World, admin: Client) -> None:
    for owner, text in ((ANN, "Ann's"), (TEAM, "The team's")):
        made_from = MadeFrom.messages(owner.source_chat_id or "", 3, 9, ["usr_ann"])
        told = owner.model_copy(update={"made_from": made_from})
        world.app.memories.add(told, text, "core", made_by="consolidation")
    assert admin.get(MEMORIES).body["items"] == []
    [anns] = admin.get(MEMORIES, user_id="usr_ann", reason=WHY).body["items"]
    assert (anns["text"], anns["made_by"]) == ("Ann's", "consolidation")
    assert anns["source"] == {
        "chat_id": "chat_ann",
        "from_seq": 3,
        "to_seq": 9,
        "run_id": "run_1_chat_ann",
    }
    [teams] = admin.get(MEMORIES, chat_id="chat_team", reason=WHY).body["items"]
    assert teams["text"] == "The team's"
    one = f"{MEMORIES}/{anns['id']}"
    assert [admin.get(one).status, admin.delete(one).status] == [404, 404]
    assert admin.post(f"{one}/restore", {}).status == 404
    assert admin.get(one, user_id="usr_ann", reason=WHY).body == anns
    assert admin.call("DELETE", one, query={"user_id": "usr_ann", "reason": WHY}).status == 204
    assert admin.get(MEMORIES, user_id="usr_ann", reason=WHY, state="live").body["items"] == []
    restore = admin.call("POST", f"{one}/restore", {}, query={"user_id": "usr_ann", "reason": WHY})
    assert restore.body == anns
    assert admin.get(MEMORIES, user_id="usr_ann", reason=WHY, chat_id="chat_team").status == 422


def test_memory_that_is_not_there_is_404_and_a_list_with_a_wrong_query_is_refused(
    admin: Client,
) -> None:
    assert admin.get(f"{MEMORIES}/mem_1").status == 404
    assert admin.delete(f"{MEMORIES}/mem_1").status == 404
    assert admin.get(MEMORIES, cursor="x").status == 400
    assert admin.get(MEMORIES, kind="diary").status == 422
