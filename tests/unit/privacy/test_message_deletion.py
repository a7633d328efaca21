"""A person deletes a message of theirs: its number stays, and its words are nowhere any more."""

import json
from typing import Any

import pytest

from skein.errors import Forbidden, NotFound, RateLimited
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary
from skein.models.common.storage import Query, Update
from skein.models.outbox.jobs import ErasureJob
from skein.models.runs.completion import ModelRequest
from skein.models.runs.step import Step
from skein.models.visibility.audience import OPEN as EVERYONE
from skein.recall.models.stored import RecallPassage
from tests.support.agents import ASK, COACH, DESIGNER, END, actor, settle
from tests.support.api_client import operator
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, person
from tests.support.choices import answer, ask, choice_in
from tests.support.erasure import BEN, MARK, ZOE, indexed, lines_of
from tests.support.fakes import ScriptedModel, calls
from tests.support.routes import sms_route

CHAT = "chat_1"
SAID = f"I love {MARK}"


def world_of(*script: Any, **chat: Any) -> World:
    """Zoë and Ben share a group with Coach, who has all tools."""
    world = World(model=ScriptedModel.saying(*script, default=calls("end_run")))
    actor(world, reply_mode="text")
    world.known(ZOE, BEN)
    world.chat(ZOE, BEN, COACH, **chat)
    return world


def delete(world: World, seq: int = 1, by: Any = ZOE, chat_id: str = CHAT) -> None:
    world.app.message_deletion.delete(TENANT, by.ref, chat_id, seq)


def finish(world: World) -> None:
    """Let the erasure come to its end."""
    for _ in range(6):
        settle(world)
        if not [key for key in world.table.all_keys() if "#ERASURES" in key.pk]:
            return
        world.clock.advance(1_000)
        world.tick()
    raise AssertionError("the erasure never ends")


def traces(world: World) -> list[str]:
    """The keys of all items in which the words can still be found."""
    return [key for key, text in lines_of(world) if MARK in text]


def steps(world: World, chat_id: str = CHAT) -> list[Step]:
    page = world.table.query(Query.under(world.stored_chat(chat_id).key.pk, "RUN#"))
    return [Step.from_item(item) for item in page.items if Step.is_stored_as(item)]


def membership(world: World) -> Membership:
    item = world.table.get(Membership.key_of(TENANT, CHAT, COACH.ref))
    assert item is not None
    return Membership.from_item(item)


# ---------------------------------------------------------------------- the message


def test_deleted_message_keeps_number_sender_and_time() -> None:
    world = world_of()
    before = world.post(SAID, ZOE, client_id="a").message
    world.post("And you?", BEN, reply_to=1)
    delete(world)
    after = world.messages()[0]
    assert (after.kind, after.text, after.media) == ("deleted", "", ())
    stays = ("id", "seq", "sender", "client_id", "created_at", "runs")
    assert [getattr(after, name) for name in stays] == [getattr(before, name) for name in stays]
    assert world.stored_chat(CHAT).last_seq == 2


def test_deleted_answer_leaves_no_option_in_its_question() -> None:
    world = world_of()
    ask(world, ZOE)
    answer(world, 1, ZOE)
    delete(world, 2)
    given = choice_in(world, 1).answer
    assert given is not None
    assert (given.option, given.seq) == (None, 2)
    assert choice_in(world, 1).status(NOON) == "answered"
    assert world.messages()[1].answers is None


def test_deleting_again_changes_nothing() -> None:
    world = world_of()
    world.post(SAID, ZOE)
    delete(world)
    finish(world)
    before = world.table.all_stored()
    delete(world)
    assert {k: v for k, v in world.table.all_stored().items() if "#LIMIT#" not in k.pk} == {
        k: v for k, v in before.items() if "#LIMIT#" not in k.pk
    }
    assert not world.queues.take(ErasureJob)


def test_message_of_another_member_is_not_deleted() -> None:
    world = world_of("Hello!")
    world.post("Hi", ZOE)
    settle(world)
    for seq in (1, 2):
        with pytest.raises(Forbidden):
            delete(world, seq, by=BEN)
    assert world.texts() == ["Hi", "Hello!"]


@pytest.mark.parametrize("case", ["stranger", "left", "no message", "no chat", "erased"])
def test_message_that_is_not_there_for_the_person_is_not_found(case: str) -> None:
    world = world_of()
    world.post(SAID, ZOE)
    by, seq, chat_id = ZOE, 1, CHAT
    if case == "stranger":
        by = person("usr_nobody", "Nobody")
    elif case == "left":
        world.app.chat_admin.remove_member(TENANT, CHAT, ZOE.ref, ZOE.ref)
    elif case == "erased":
        world.table.write(Update(world.messages()[0].key, set={"kind": "erased"}))
    else:
        seq, chat_id = (9, CHAT) if case == "no message" else (1, "chat_none")
    with pytest.raises(NotFound):
        delete(world, seq, by=by, chat_id=chat_id)


def test_message_of_a_discarded_chat_is_deleted() -> None:
    world = world_of()
    world.post(SAID, ZOE)
    world.app.chat_admin.discard(TENANT, CHAT, ZOE.ref)
    delete(world)
    finish(world)
    assert traces(world) == []
    assert "upkeep_at" not in (world.table.get(world.stored_chat(CHAT).key) or {})


def test_repeated_post_after_the_deletion_posts_nothing() -> None:
    world = world_of()
    world.post(SAID, ZOE, client_id="a")
    delete(world)
    again = world.post(SAID, ZOE, client_id="a")
    assert (again.created, again.message.kind) == (False, "deleted")
    assert world.texts() == [""]


def test_deletions_count_against_the_limit_of_changes() -> None:
    world = world_of(respond="manual")
    limit = world.settings.user_chat_changes_per_hour
    for _ in range(limit + 1):
        world.post("Hi", ZOE)
        world.clock.advance(1)
    for seq in range(1, limit + 1):
        delete(world, seq)
    with pytest.raises(RateLimited):
        delete(world, limit + 1)
    delete(world, 1)  # repeated: not counted


# ---------------------------------------------------------------------- what was derived


def test_deletion_reaches_everything_of_the_chat_that_holds_the_words() -> None:
    def summary(request: ModelRequest) -> str:
        told = "\n".join(message.content for message in request.messages)
        word = MARK if MARK in told else "nothing"
        return json.dumps({"lines": [f"{word} here.", "Open."], "summary": f"About {word}."})

    world = world_of(
        calls(("send_message", {"text": f"{ZOE.name} said something", "chat_id": "chat_else"})),
        "Noted.",
    )
    world.model.summaries.extend([summary] * 40)
    world.chat(ZOE, BEN, COACH, chat_id="chat_else", respond="manual")
    world.post("Good morning", BEN)
    world.post(SAID, ZOE)
    settle(world)
    for number in range(12):
        world.post(f"Message {number}", BEN)
        settle(world)
        world.clock.advance(400)
        world.tick()
        settle(world)
    chat = world.stored_chat(CHAT)
    assert MARK in str(chat.summary)
    assert MARK in str(membership(world).summary)
    found = str(traces(world))
    assert "RUN#" in found
    assert "chat_else" in found
    delete(world, 2)
    assert MARK not in str(world.stored_chat(CHAT))
    finish(world)
    assert traces(world) == []
    assert "Good morning" in world.texts()
    for _ in range(3):
        world.clock.advance(400)
        world.tick()
        settle(world)
    renewed = world.stored_chat(CHAT).summary
    assert renewed is not None
    assert (renewed.text, renewed.from_seq) == ("About nothing.", 1)
    assert membership(world).summary is not None
    assert traces(world) == []


def test_run_before_the_message_keeps_its_prompt() -> None:
    world = world_of("Morning!", "I see.")
    world.post("Good morning", BEN)
    settle(world)
    world.clock.advance(60)
    world.post(SAID, ZOE)
    settle(world)
    delete(world, 3)
    finish(world)
    first, second = steps(world)
    assert (first.prompt is not None, first.text) == (True, "Morning!")
    assert (second.prompt, second.text) == (None, "")
    [_, run] = world.runs()
    assert (run.status, run.usage.input_tokens > 0) == ("done", True)


def test_waiting_run_resumes_without_its_prompt() -> None:
    world = world_of(ASK, "Done")
    actor(world, reply_mode="tools")
    world.post(SAID, ZOE)
    settle(world)
    [run] = world.runs()
    assert run.status == "waiting"
    delete(world)
    settle(world)
    assert [step.prompt for step in steps(world)] == [None]
    [run] = world.runs()
    assert run.status == "waiting"
    finish(world)
    assert world.runs()[0].status == "done"
    assert traces(world) == []


def test_summary_that_is_being_written_is_discarded() -> None:
    world = world_of("Hello!")
    world.chat_elsewhere(ZOE, COACH)
    world.post("Hi", BEN)
    settle(world)
    world.post(SAID, ZOE)

    def summary(_: ModelRequest) -> str:
        delete(world, 3)
        return json.dumps({"lines": [f"{MARK} here.", "Open."], "summary": f"About {MARK}."})

    world.model.summaries.append(summary)
    world.clock.advance(400)
    world.tick()
    world.model.summaries.extend([json.dumps({"lines": ["a", "b"], "summary": "c"})] * 10)
    settle(world)
    finish(world)
    assert traces(world) == []


def test_late_summary_is_deleted_by_the_second_sweep() -> None:
    world = world_of(respond="manual")
    world.post(SAID, ZOE)
    delete(world)
    settle(world)
    late = Summary(text=f"{MARK}!", from_seq=1, seq=1, audience=EVERYONE, at=NOON)
    key = Membership.key_of(TENANT, CHAT, COACH.ref)
    world.table.write(Update(key, set={"summary": late.model_dump(mode="json")}))
    finish(world)
    assert traces(world) == []


def test_export_has_the_deleted_message_without_words() -> None:
    world = world_of()
    world.post(SAID, ZOE)
    delete(world)
    exported = operator(world).get(f"/v1/users/{ZOE.id}/export").body
    assert MARK not in json.dumps(exported)
    assert '"kind": "deleted"' in json.dumps(exported)


def test_erasure_of_the_person_takes_their_name_from_deleted_messages() -> None:
    world = world_of()
    world.post(SAID, ZOE)
    delete(world)
    world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    for _ in range(4):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    [message] = world.messages()
    assert (message.kind, message.sender.name) == ("erased", "Erased")


# ---------------------------------------------------------------------- runs and texts


def test_queued_run_of_the_deleted_message_alone_is_canceled() -> None:
    world = world_of("Hello!")
    world.post(SAID, ZOE)
    delete(world)
    settle(world)
    [run] = world.runs()
    assert (run.status, run.reason) == ("canceled", "message_deleted")
    assert membership(world).queued_run is None
    assert world.texts() == [""]
    assert world.model.requests == []


def test_queued_run_of_more_messages_answers_the_others() -> None:
    world = world_of("Hello Ben!")
    world.post(SAID, ZOE)
    world.post("Hi", BEN)
    delete(world)
    settle(world)
    assert world.texts() == ["", "Hi", "Hello Ben!"]
    told = "\n".join(message.content for message in world.model.requests[0].messages)
    assert "Zoë Quill: [message deleted] [NEW]" in told


def test_history_as_roles_shows_that_a_message_was_deleted() -> None:
    world = World(model=ScriptedModel.saying("Hi", default=END))
    actor(world, history_format="roles", reply_mode="text")
    world.known(ZOE, BEN)
    world.chat(ZOE, BEN, COACH)
    world.post(SAID, ZOE)
    world.post("Hi", BEN)
    delete(world)
    settle(world)
    turns = [message.content for message in world.model.requests[0].messages]
    assert any("[Zoë Quill (human)] [message deleted]" in turn for turn in turns)
    assert MARK not in "".join(turns)


def test_delivery_of_a_deleted_message_is_canceled() -> None:
    world = World()
    world.agent()
    world.line()
    address = sms_route(line=LINE, phone=PHONE)
    world.chat(ZOE, COACH, kind="direct", visibility="private", route=address)
    world.post(SAID, COACH)
    world.table.write(Update(world.messages()[0].key, set={"kind": "deleted", "text": ""}))
    settle(world)
    [delivery] = world.deliveries()
    assert (delivery.status, delivery.reason) == ("canceled", "message_deleted")
    assert world.sms.taken == []


def test_summaries_of_an_agent_that_has_left_are_deleted() -> None:
    world = world_of(respond="manual")
    actor(world, DESIGNER)
    world.post(SAID, ZOE)
    old = Summary(text=f"{MARK}!", from_seq=1, seq=1, audience=EVERYONE, at=NOON)
    key = Membership.key_of(TENANT, CHAT, COACH.ref)
    world.table.write(Update(key, set={"summary": old.model_dump(mode="json")}))
    world.app.chat_admin.remove_member(TENANT, CHAT, ZOE.ref, COACH.ref)
    delete(world)
    finish(world)
    assert traces(world) == []


def test_deleted_message_leaves_the_index_of_recall() -> None:
    world = world_of(respond="manual")
    for number in range(9):
        world.post(f"Message {number}", BEN)
    world.post(SAID, ZOE)
    indexed(world)
    assert passages_of(world, 10)
    delete(world, 10)
    finish(world)
    assert passages_of(world, 10) == []
    assert passages_of(world, 9)


def passages_of(world: World, seq: int) -> list[RecallPassage]:
    """The passages of a message in the index."""
    page = world.table.query(Query.under(world.stored_chat(CHAT).key.pk, RecallPassage.PREFIX))
    passages = map(RecallPassage.from_item, page.items)
    return [passage for passage in passages if passage.seq == seq]
