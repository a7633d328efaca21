"""A person has an agent forget: the words are found, shown to them alone, and gone after a yes."""

import json
from functools import cache
from typing import Any

import pytest

from skein.channels.whatsapp import WINDOW_CLOSED
from skein.errors import RateLimited, SmsRejected
from skein.memory.models.memory import Memory
from skein.models.chats.chat import Message
from skein.models.chats.choice import NO, YES
from skein.models.common.address import route_on
from skein.models.common.storage import Put, Update
from skein.models.config.overrides import TenantOverridesChange
from skein.models.config.templates import MessageTemplate
from skein.models.directory.address_index import AddressOwner
from skein.models.outbox.jobs import ForgettingJob
from skein.models.visibility.ownership import private_scope
from skein.privacy.models.forgetting import ForgetRequest
from skein.services.choices.answering import Answering
from skein.services.choices.asking import Asking
from skein.services.choices.effect import GivenAnswer
from skein.services.config.tenant_settings import TenantSettingsService
from tests.fakes.sms import Fault
from tests.support.agents import COACH, actor, results_of
from tests.support.builders import LINE, PHONE, TENANT, World
from tests.support.choices import ask
from tests.support.erasure import (
    BEN,
    ZOE,
    backup,
    indexed,
    lines_of,
    restoration,
    restored,
    settle,
)
from tests.support.fakes import ScriptedModel, calls
from tests.support.media import send_file

CODE = "quokka"
HOME, GROUP, OTHER = "chat_home", "chat_group", "chat_other"
ASKS = calls(("forget", {"query": "PIN"}))


def world_of(*script: Any, **chat: Any) -> World:
    world = World(model=ScriptedModel.saying(*script, default=calls("end_run")))
    actor(world, reply_mode="text")
    world.known(ZOE, BEN)
    world.chat(ZOE, COACH, chat_id=HOME, kind="direct", visibility="private", **chat)
    return world


def told(*then: Any) -> World:
    """Zoë has told her PIN; the agent has saved and said it."""
    return world_of(*then).continue_from(_told())


@cache
def _told() -> World:
    saved = ("save_memory", {"text": f"The PIN is {CODE}", "kind": "core"})
    aim = ("set_goal", {"text": f"Keep {CODE}"})
    world = world_of(calls(saved, aim), f"I keep {CODE}")
    world.post(f"My PIN is {CODE}", ZOE, chat_id=HOME)
    settle(world)
    indexed(world)
    return world


def question(world: World) -> Message:
    [asked] = [each for each in world.messages(HOME) if each.kind == "choice"]
    return asked


def answer(world: World, option: str) -> None:
    given = GivenAnswer(
        tenant=TENANT,
        chat_id=HOME,
        person_id=ZOE.id,
        seq=question(world).seq,
        option=option,
        client_id="answer",
    )
    world.app.get(Answering).answer(given)
    finish(world)


def finish(world: World) -> None:
    for _ in range(6):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    settle(world)
    assert not [key for key in world.table.all_keys() if "#ERASURES" in key.pk]


def later(world: World, seconds: int = 61) -> None:
    """Let jobs that are due after the run do their work."""
    world.clock.advance(seconds)
    world.tick()
    settle(world)


def request_in_group(world: World) -> None:
    world.chat(ZOE, BEN, COACH, chat_id=GROUP, respond="mention", visibility="open")
    world.post("@Coach forget what I said", ZOE, chat_id=GROUP)
    settle(world)


def requests_of(world: World) -> list[Any]:
    return [key for key in world.table.all_keys() if "FORGETREQUEST" in key.sk]


def heard_of(query: str, *, full: bool) -> tuple[Any, ...]:
    """What a model in a group hears of a request, with the calls of the table until then."""
    world = told(calls(("forget", {"query": query})), "I ask you.")
    for n in range(3 if full else 0):
        ask(world, ZOE, chat_id=HOME, client_id=f"place {n}")
    settle(world)
    before = len(world.table.log)
    request_in_group(world)
    [run] = world.runs(GROUP)
    [result, *_] = results_of(world, run)
    called = sorted(each.method for each in world.table.log[before:])
    assert [each.kind for each in world.messages(HOME)].count("choice") == (3 if full else 0)
    return result.status, result.content, run.status, world.clock.now(), called


def consolidated(world: World) -> None:
    world.app.consolidation_requests.request(TENANT, HOME)
    settle(world)


def memories(world: World) -> list[Memory]:
    scope = private_scope(user_id=ZOE.id)
    return [each for each in world.memories(COACH.id, scope) if each.live]


def traces(world: World) -> list[str]:
    return [key for key, text in lines_of(world) if CODE in text or "Forget my" in text]


def test_picture_is_forgotten_by_its_description() -> None:
    world = world_of("Nice", ASKS)
    send_file(world, ZOE, chat_id=HOME, description=f"A note with the PIN {CODE}")
    world.clock.advance(20)
    settle(world)
    indexed(world)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    assert CODE in question(world).text
    answer(world, YES)
    assert traces(world) == []
    assert world.files.contents == {}


def test_request_that_is_repeated_asks_no_second_question() -> None:
    world = told(ASKS, ASKS, "Press Yes, please.")
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    indexed(world)
    world.post("Please forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    [result] = results_of(world, world.runs(HOME)[-1])[:1]
    assert "already asked: " in result.content
    answer(world, YES)
    assert CODE not in " ".join(world.texts(HOME))


def test_forget_request_answered_yes_leaves_no_traces() -> None:
    world = told("Nice", ASKS)
    world.post("I like tea", ZOE, chat_id=HOME)
    settle(world)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    assert CODE in question(world).text
    answer(world, YES)
    assert traces(world) == []
    assert "I like tea" in world.texts(HOME)
    notice = "I deleted 2 messages, your request included."
    assert [e.text.split(" What")[0] for e in world.messages(HOME) if e.kind == "notice"] == [
        notice
    ]
    assert [e for e in world.table.all_keys() if "FORGETTING" in e.sk] == []
    asked = len(world.model.requests)
    world.post("What is my PIN?", ZOE, chat_id=HOME)
    settle(world)
    shown = [each.content for request in world.model.requests[asked:] for each in request.messages]
    assert shown
    assert not [text for text in shown if CODE in text]


def test_restored_table_holds_nothing_of_what_was_forgotten() -> None:
    old = told(ASKS)
    items = backup(old)
    old.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(old)
    answer(old, YES)
    world = restored(old, items)
    assert traces(world)
    # The request and the question are not in the backup.
    assert set(restoration(world).run()) == {"done", "nothing_to_erase"}
    assert traces(world) == []


def test_words_in_a_template_that_was_sent_are_forgotten() -> None:
    world = world_of(f"I keep {CODE}", ASKS)
    route = route_on("whatsapp", line=LINE, person=PHONE)
    owner = AddressOwner(tenant=TENANT, address=route.person, user_id=ZOE.id)
    world.table.write(Put(owner.key, owner.to_item()))
    template = MessageTemplate(content_sid="HX" + "0" * 32, text="{{1}}", approved=True)
    change = TenantOverridesChange(message_templates=(template,))
    TenantSettingsService(table=world.table, clock=world.clock).change(TENANT, change)
    world.sms.plan(Fault(SmsRejected("closed", code=WINDOW_CLOSED)))
    world.post(f"My PIN is {CODE}", ZOE, chat_id=HOME, route=route)
    settle(world)
    indexed(world)
    world.clock.advance(120)
    world.tick()
    settle(world)
    [delivery] = world.deliveries(HOME)
    assert CODE in str(delivery.parts[0].content)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    answer(world, YES)
    assert traces(world) == []


def test_forget_request_answered_no_keeps_the_message() -> None:
    world = told(ASKS)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    answer(world, NO)
    assert f"My PIN is {CODE}" in world.texts(HOME)


def test_request_in_a_group_is_asked_in_the_direct_chat_and_keeps_words_of_others() -> None:
    elsewhere = "If I find something, I ask you in our direct chat."
    world = told(ASKS, elsewhere)
    world.chat(ZOE, BEN, COACH, chat_id=GROUP, respond="mention", visibility="private")
    world.post(f"Her PIN is {CODE}, she told me", BEN, chat_id=GROUP)
    world.post("@Coach forget my PIN", ZOE, chat_id=GROUP)
    settle(world)
    assert [each.kind for each in world.messages(HOME)].count("choice") == 0
    later(world)
    assert [each.kind for each in world.messages(GROUP)].count("choice") == 0
    assert f'Say here only: "{elsewhere}"' in world.model.requests[-1].messages[-1].content
    assert world.texts(GROUP)[-1] == elsewhere
    assert "Words of others stay" in question(world).text
    assert "she told me" not in question(world).text
    answer(world, YES)
    assert world.texts(GROUP) == [f"Her PIN is {CODE}, she told me", "", ""]
    assert f"My PIN is {CODE}" not in world.texts(HOME)


def test_request_in_a_group_looks_the_same_to_the_agent_whatever_is_found() -> None:
    heard = [heard_of(query, full=full) for query in ("PIN", "umbrella") for full in (False, True)]
    assert heard == [heard[0]] * 4


def test_request_of_a_person_without_a_direct_chat_looks_the_same_and_asks_nothing() -> None:
    world = world_of(ASKS, "Hm.")
    world.chat(BEN, COACH, chat_id=GROUP, visibility="open")
    world.post("@Coach forget my PIN", BEN, chat_id=GROUP)
    settle(world)
    assert "their direct chat with you" in world.model.requests[-1].messages[-1].content
    later(world)
    assert [each.kind for each in world.messages(HOME)] == []
    assert requests_of(world) == []


def test_person_who_was_asked_often_enough_is_asked_later_or_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = told(ASKS, "I ask you.")
    request_in_group(world)
    with monkeypatch.context() as patched:
        patched.setattr(Asking, "ask", _refused)
        later(world)
    assert len(requests_of(world)) == 1
    later(world, 3_700)
    assert CODE in question(world).text
    assert requests_of(world) == []


def test_request_in_a_group_ends_if_the_person_is_asked_already() -> None:
    world = told(ASKS, ASKS)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    indexed(world)
    world.chat(ZOE, BEN, COACH, chat_id=GROUP, respond="mention", visibility="private")
    world.post("@Coach forget my PIN", ZOE, chat_id=GROUP)
    finish(world)
    answer(world, NO)
    assert question(world).choice is not None  # there is one only


def test_request_ends_after_a_day_without_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    world = told(ASKS, "I ask you.")
    request_in_group(world)
    monkeypatch.setattr(Asking, "ask", _refused)
    later(world, 25 * 3_600)
    assert requests_of(world) == []


def test_request_waits_for_the_end_of_its_run() -> None:
    world = told(ASKS, "I ask you.")
    request_in_group(world)
    [run] = world.runs(GROUP)
    world.table.write(Update(run.key, set={"status": "running"}))
    world.clock.advance(61)
    job = ForgettingJob(tenant=TENANT, user_id=ZOE.id, forgetting_id=_id_of(requests_of(world)))
    world.handle(job)
    assert [each.kind for each in world.messages(HOME)].count("choice") == 0
    world.table.write(Update(run.key, set={"status": "done"}))
    for _ in range(2):
        world.handle(job)
    assert CODE in question(world).text


def _refused(*_: Any, **__: Any) -> None:
    raise RateLimited("asked often enough", retry_after_seconds=60)


def _id_of(keys: list[Any]) -> str:
    [key] = keys
    return str(key.sk.removeprefix(ForgetRequest.PREFIX))


def test_forget_question_ends_with_the_effect_of_yes() -> None:
    world = told("Noted", ASKS, "I ask you.")
    world.post('My PIN is "1"\n\nYes cancels. "', ZOE, chat_id=HOME)
    settle(world)
    request_in_group(world)
    later(world)
    first, *messages, last, _ = question(world).text.split("\n")
    assert first == "Delete these messages?"
    assert last.startswith("Words of others stay. Yes deletes these messages and your request,")
    assert [line.count('"') for line in messages] == [2, 2]
    assert messages[-1] == "18 Feb: \"My PIN is '1' Yes cancels. '\""


def test_memory_of_forgotten_and_other_words_is_made_again_from_the_others() -> None:
    world = world_of("I see", "Nice", ASKS, consolidate=True)
    world.model.memories.extend(
        json.dumps({"journal": [], "core": [text]})
        for text in (f"She likes tea, and her PIN is {CODE}.", "She likes tea.")
    )
    for text in (f"My PIN is {CODE}", "I like tea"):
        world.post(text, ZOE, chat_id=HOME)
        settle(world)
    consolidated(world)
    assert [each.text for each in memories(world)] == [f"She likes tea, and her PIN is {CODE}."]
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    answer(world, YES)
    consolidated(world)
    assert [each.text for each in memories(world)] == ["She likes tea."]
    again = "".join(each.content for each in world.model.memory_requests[-1].messages)
    assert "I like tea" in again
    assert CODE not in again
    assert traces(world) == []


def test_runs_of_other_chats_that_had_shown_the_words_lose_prompts_and_steps() -> None:
    quoting = calls(("search_memories", {"query": CODE}))
    world = told("Hello", quoting, "Found", ASKS)
    world.chat(ZOE, COACH, chat_id=OTHER, kind="direct", visibility="private")
    for text in ("Hi", "Do you know it?"):
        world.post(text, ZOE, chat_id=OTHER)
        settle(world)
    there = [key for key in traces(world) if OTHER in key and "#STEP" in key]
    assert len(there) > 1  # prompts, and the arguments and results of the tool
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    answer(world, YES)
    assert traces(world) == []
    assert world.texts(OTHER)[-1] == "Found"
    assert {each.status for each in world.runs(OTHER)} == {"done"}


@pytest.mark.parametrize(
    ("seqs", "later", "left"),
    [
        ((1,), None, {}),
        ((1,), "the blue one", {"door": "the blue one"}),
        ((1, 3), None, {"door": CODE}),
    ],
)
def test_profile_value_goes_if_only_forgotten_messages_made_it(
    seqs: tuple[int, ...], later: str | None, left: dict[str, str]
) -> None:
    world = world_of("I see", "Nice", "Fine", ASKS, consolidate=True)
    actor(world, reply_mode="text", profile_fields=("door",))
    for value, made_from in ((CODE, seqs), (later, (5,))):
        profile = [{"field": "door", "value": value, "from": made_from}] if value else []
        world.model.memories.append(json.dumps({"journal": [], "core": [], "profile": profile}))
    for text in (f"My PIN is {CODE}", "It is the door's"):
        world.post(text, ZOE, chat_id=HOME)
        settle(world)
    consolidated(world)
    world.post("The blue one", ZOE, chat_id=HOME)
    settle(world)
    consolidated(world)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    answer(world, YES)
    zoe = world.app.users.get(TENANT, ZOE.id)
    assert zoe.profile == left
    assert (CODE in str(zoe.profile_changes)) == (CODE in left.values())


@pytest.mark.parametrize("query", ["umbrella", "of the"])
def test_forget_without_match_asks_no_question(query: str) -> None:
    world = told(calls(("forget", {"query": query})), "Nothing")
    world.post("Forget it", ZOE, chat_id=HOME)
    settle(world)
    assert [each for each in world.messages(HOME) if each.kind == "choice"] == []
