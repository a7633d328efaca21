"""The desk: a person of the team takes a chat over, answers, and hands it back."""

import pytest

from skein.models.common.reason import Reason
from tests.support.api_client import WHY, Client
from tests.support.builders import World, bot, person
from tests.support.desk import Desk
from tests.support.fakes import ScriptedModel, calls

ANN, COACH = person("ann", "Ann"), bot()


@pytest.fixture
def world() -> World:
    world = World(model=ScriptedModel.saying(default="Good."))
    world.agent()
    world.known(ANN)
    world.chat(ANN, COACH, kind="direct", visibility="private", title=None)
    return world


def test_holder_answers_and_agents_are_silent_until_the_return(world: World) -> None:
    mia = Desk(world)
    taken = mia.take()
    assert taken.status == 200, taken.body
    assert (taken.body["state"], taken.body["reason_code"]) == ("held", "operator")
    assert taken.body["holder"] == {"id": "op_mia", "name": "Mia"}
    asked = world.post("Where is my parcel?", ANN).message
    world.drain()
    assert (asked.reason, asked.runs) == (Reason.DESK, {})
    assert mia.say("It comes today.").status == 201
    assert mia.say("It comes today.").status == 200
    world.drain()
    assert mia.read() == ["Ann: Where is my parcel?", "Mia: It comes today."]
    thanks = world.post("And the other one?", ANN).message

    assert mia.hand_back("Promised the parcel for today.").status == 204
    world.drain()

    assert mia.chat.desk is None
    assert [m.text for m in world.messages()][-1] == "Good."
    [run] = world.runs()
    assert run.trigger.seqs == range(thanks.seq, thanks.seq + 1)
    assert mia.get().status == 404


def test_two_people_of_the_team_never_hold_one_chat(world: World) -> None:
    mia, tom = Desk(world), Desk(world, sub="op_tom", name="Tom")
    assert (mia.take().status, mia.take().status) == (200, 200)
    refused = tom.take()
    assert (refused.status, refused.code) == (409, "conflict")
    assert refused.body["details"] == {"holder": {"id": "op_mia", "name": "Mia"}}
    assert [tom.say("Hi").status, tom.hand_back().status] == [409, 409]
    assert tom.client.get(f"{tom.path}/messages").status == 409
    assert [m.text for m in world.messages()] == []


def test_private_chat_takes_the_role_privacy_and_a_reason(world: World) -> None:
    mia = Desk(world)
    assert mia.take(reason=None).status == 403
    assert mia.chat.desk is None
    support = Desk(world)
    support.client = Client(
        world, api=support.client.api, sub="op_mia", scope="support", claims={"name": "Mia"}
    )
    assert support.take().status == 403


def test_people_see_who_of_the_team_has_taken_their_chat_over_and_why(world: World) -> None:
    mia = Desk(world)
    mia.take()
    mia.say("Hello")
    mia.read()
    mia.client.post(f"{mia.path}/drafts", {"kind": "answer"})
    seen = Client(world, sub=ANN.id).get("/v1/me/access").body["items"]
    assert [(each["who"], each["kind"], each["reason"]) for each in seen] == [
        ("op_mia", "desk", WHY)
    ]


def test_queue_lists_chats_without_words_and_the_summary_for_the_holder_only(world: World) -> None:
    mia, tom = Desk(world), Desk(world, sub="op_tom", name="Tom")
    mia.take()
    [entry] = tom.client.get("/v1/desk").body["items"]
    assert (entry["chat_id"], entry["state"]) == ("chat_1", "held")
    mia.hand_back()
    assert tom.client.get("/v1/desk").body["items"] == []


def test_operators_click_puts_chat_on_the_desk_once_and_counts_the_waits(world: World) -> None:
    mia = Desk(world)
    assert mia.client.post(mia.path, {}).status == 403
    assert [mia.client.post(mia.path, {}, reason=WHY).status for _ in range(2)] == [201, 200]
    world.drain()
    [entry] = mia.client.get("/v1/desk").body["items"]
    assert (entry["state"], entry["reason_code"], entry["holder"]) == ("waiting", "operator", None)
    assert [m.kind for m in world.messages()] == ["notice"]
    world.clock.advance(60)
    assert mia.take().body["since"] == entry["since"]
    world.clock.advance(30)
    mia.say("Here I am.")
    assert mia.get().body["answer_seconds"] == 90
    counts = world.metrics.counts
    assert (counts["DeskWaitSeconds"], counts["DeskAnswerSeconds"]) == (60, 90)


def test_words_of_the_agent_are_shown_to_the_holder_only(world: World) -> None:
    asked = {"reason": "A refund", "summary": "She wants 20 euros back"}
    world.agent(enabled_tools=("ask_a_person",))
    world.model.script.append(calls(("ask_a_person", asked)))
    world.post("Refund me", ANN)
    world.drain()
    mia, tom = Desk(world), Desk(world, sub="op_tom", name="Tom")
    mia.take()
    words = [(each.get().body["reason"], each.get().body["summary"]) for each in (mia, tom)]
    assert words == [("A refund", "She wants 20 euros back"), (None, None)]


def test_chat_that_waits_is_dismissed_without_a_holder_and_may_come_again(world: World) -> None:
    mia, tom = Desk(world), Desk(world, sub="op_tom", name="Tom")
    assert mia.dismiss().status == 204  # it is not there
    mia.client.post(mia.path, {}, reason=WHY)
    world.drain()
    assert tom.dismiss(briefing="Nothing").status == 422
    assert (mia.chat.desk is None, tom.dismiss().status, tom.dismiss().status) == (False, 204, 204)
    assert (mia.chat.desk, mia.client.get("/v1/desk").body["items"]) == (None, [])
    world.drain()
    world.post("Thanks", ANN)
    world.drain()
    assert [m.text for m in world.messages()][-1] == "Good."

    assert mia.client.post(mia.path, {}, reason=WHY).status == 201
    mia.take()
    assert (tom.dismiss().status, mia.get().body["state"]) == (409, "held")


def test_looks_at_the_desk_leave_one_audit_entry_an_hour_and_refused_ones_each(
    world: World,
) -> None:
    mia = Desk(world)
    mia.take()

    def looks() -> int:
        for _ in range(3):
            mia.client.get("/v1/desk")
            mia.get()
            mia.read()
        entries = mia.client.get("/v1/audit", limit=100).body["items"]
        return sum(each["verb"] == "read" and each["kind"] != "audit" for each in entries)

    assert looks() == 3
    world.clock.advance(3_600)
    assert looks() == 6
    person_of = Client(world, api=mia.client.api, sub="op_mia", scope="owner")
    assert [person_of.get("/v1/desk").status for _ in range(2)] == [403, 403]
    entries = mia.client.get("/v1/audit", limit=100).body["items"]
    assert [each["refused"] for each in entries].count(True) == 2


def test_queue_names_the_members_of_its_chats(world: World) -> None:
    mia = Desk(world)
    mia.client.post(mia.path, {}, reason=WHY)
    [entry] = mia.client.get("/v1/desk").body["items"]
    assert [each["name"] for each in entry["members"]] == ["Ann", COACH.name]
