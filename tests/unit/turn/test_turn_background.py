"""Runs of plans and services that belong to a chat: what they are shown, and where they speak."""

from datetime import timedelta
from typing import Any

import pytest

from skein.models.api.directory import UserChange
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import Put, Query
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.planning.plan_chats import PlanChats
from skein.settings import Settings
from tests.support.agents import AHMAD, COACH, END, actor, live_pointers, settle, slots
from tests.support.builders import LINE, PHONE, TENANT, World, person, statuses
from tests.support.fakes import Calls, ScriptedModel, calls, says
from tests.support.routes import sms_route

DANA = person("usr_dana", "Dana")
DANAS = Audience(open=False, people=(DANA.id,))
PRIVATE: dict[str, Any] = {"visibility": "private", "title": None}
REMINDER = "Remind Dana to stretch"
TOMORROW = 24 * 3_600
MINUTE = timedelta(minutes=1)
SETTINGS = Settings(reply_debounce_seconds=0)


def home(*script: Any, sms: bool = False, settings: Settings = SETTINGS) -> World:
    """A world in which Dana talks with Coach in a direct chat."""
    world = World(settings, ScriptedModel.saying(*script, default="Hello, Dana."))
    world.agent()
    world.known(DANA)
    address = sms_route(line=LINE, phone=PHONE) if sms else None
    world.chat(DANA, COACH, kind="direct", route=address, **PRIVATE)
    return world


def plan(world: World, chat_id: str = "chat_1", **fields: Any) -> None:
    """Set a plan for tomorrow, as a run of Dana's does in a private chat."""
    owner = Owner(
        tenant=TENANT,
        agent_id=COACH.id,
        scope=fields.pop("scope", f"user:{DANA.id}"),
        audience=fields.pop("audience", DANAS),
        source_chat_id=chat_id,
        source_run_id=f"run_1_{chat_id}",
    )
    fields = {"run_after": "1 day", "set_by": DANA.id} | fields
    world.app.plans.set(owner, "Stretch", REMINDER, **fields)


def due(world: World) -> Run:
    """Let the plan come due, and carry out its run."""
    fire(world)
    settle(world)
    return background(world)


def fire(world: World) -> None:
    world.clock.advance(TOMORROW)
    world.tick()


def background(world: World) -> Run:
    """The run of the plan or the service."""
    page = world.table.query(Query.under(f"{TENANT}#AGENT#{COACH.id}", "RUN#"))
    [run] = [Run.from_item(item) for item in page.items if "#STEP#" not in item["sk"]]
    return run


def shown(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


# ---------------------------------------------------------------------- what the run is shown


def test_run_of_plan_is_shown_its_chat_as_if_triggered_there() -> None:
    world = home()
    world.app.users.change(TENANT, DANA.id, UserChange(profile={"goals": "touch my toes"}))
    owner = Owner(tenant=TENANT, agent_id=COACH.id, scope=f"user:{DANA.id}", audience=DANAS)
    world.app.memories.add(owner, "Dana's back hurts", "core", made_by="tool")
    world.post("I sit all day", DANA)
    settle(world)
    plan(world)
    run = due(world)
    prompt = shown(world.model.requests[-1])
    for part in ("I sit all day", "touch my toes", "Dana's back hurts", REMINDER):
        assert part in prompt
    assert (run.status, run.chat_id, run.own_chat_id) == ("done", None, "chat_1")
    assert run.shown is not None
    assert (run.shown.chat_id, run.shown.seq) == ("chat_1", 2)


def test_trigger_of_plan_states_who_set_it() -> None:
    world = home()
    plan(world)
    due(world)
    prompt = shown(world.model.requests[-1])
    told = '  Your plan "Stretch", set by Dana, was due at 12:00 UTC.'
    assert told in prompt
    assert f'  instruction: "{REMINDER}"' in prompt


def test_run_of_plan_has_audience_of_its_chat_and_traces_to_its_person() -> None:
    world = home()
    plan(world)
    run = due(world)
    assert (run.audience, run.trigger.user_id) == (DANAS, DANA.id)
    assert run.held is not None
    assert (run.held.audience, run.held.chat_id) == (DANAS, "chat_1")
    assert world.messages()[-1].traced_to == DANA.id


def test_plan_from_before_someone_joined_has_no_chat() -> None:
    """The newcomer may not be shown the instruction, so the run sees open things only."""
    world = home("Nothing to say.")
    world.known(AHMAD)
    world.chat(DANA, COACH, chat_id="chat_pair", respond="manual", visibility="private")
    world.post("Between us", DANA, chat_id="chat_pair")
    plan(world, "chat_pair", scope="chat:chat_pair")
    world.add(AHMAD, by=DANA, chat_id="chat_pair")
    run = due(world)
    assert (run.own_chat_id, run.reason) == (None, Reason.NO_CHAT)
    assert "Between us" not in shown(world.model.requests[-1])


# ---------------------------------------------------------------------- where it speaks


def test_final_text_of_plan_in_direct_chat_is_posted_there() -> None:
    world = home("Time to stretch!")
    plan(world)
    run = due(world)
    assert world.texts() == ["Time to stretch!"]
    assert run.final_message is not None
    assert (run.final_message.chat_id, run.reason) == ("chat_1", None)
    assert live_pointers(world) == 0


def test_plan_may_stay_silent() -> None:
    world = home("[silence]")
    plan(world)
    run = due(world)
    assert (world.texts(), run.status, run.reason) == ([], "done", Reason.CHOSE_SILENCE)


def test_send_message_of_plan_without_chat_id_goes_to_its_chat() -> None:
    world = home(says("Time to stretch!"), END)
    actor(world)
    plan(world)
    assert due(world).status == "done"
    assert world.texts() == ["Time to stretch!"]


def test_text_of_plan_reaches_phone_of_person_on_sms() -> None:
    world = home("Time to stretch!", sms=True)
    plan(world)
    due(world)
    assert [(text.phone, text.body) for text, _ in world.sms.taken] == [(PHONE, "Time to stretch!")]


def test_text_of_plan_after_stop_reaches_no_phone() -> None:
    world = home("Time to stretch!", sms=True)
    plan(world)
    stop = sms_route(line=LINE, phone=PHONE)
    world.post("STOP", DANA, kind="keyword", route=stop, opted_out=True)
    due(world)
    assert world.sms.taken == []


def test_plan_of_person_who_left_private_group_is_canceled() -> None:
    world = home()
    world.chat(DANA, AHMAD, COACH, chat_id="chat_pair", respond="manual", visibility="private")
    people = Audience(open=False, people=(AHMAD.id, DANA.id))
    plan(world, "chat_pair", scope="chat:chat_pair", audience=people)
    world.app.chat_admin.remove_member(TENANT, "chat_pair", DANA.ref, DANA.ref)
    fire(world)
    [over] = world.app.plans.list(
        Owner(tenant=TENANT, agent_id=COACH.id, scope="chat:chat_pair").reach
    ).items
    assert (over.status, over.reason) == ("canceled", Reason.PERSON_LEFT)
    assert world.queues.waiting("turns") == ()


# ---------------------------------------------------------------------- beside the chat's own runs


def test_run_of_plan_takes_no_slot() -> None:
    world = home()
    plan(world)
    taken: list[Any] = []

    def looks(_: ModelRequest) -> str:
        taken.append(slots(world))
        return "Time to stretch!"

    world.model.script.append(looks)
    due(world)
    assert taken == [(None, None, (), None)]


def test_message_during_run_of_plan_is_answered_once_by_its_own_run() -> None:
    world = home()
    plan(world)

    def meanwhile(_: ModelRequest) -> str:
        world.post("Good morning", DANA)
        world.run_ready()
        return "Time to stretch!"

    world.model.script += [meanwhile, "Good morning to you."]
    due(world)
    assert world.texts() == ["Good morning", "Good morning to you.", "Time to stretch!"]
    assert statuses(world.runs()) == ["done"]


def test_run_of_plan_is_not_shown_message_that_waits_for_its_own_run() -> None:
    world = home()
    plan(world)
    fire(world)
    world.post("Good morning", DANA)
    [own] = world.runs()
    world.model.script += ["Time to stretch!", "Good morning to you."]
    world.take(background(world).job)
    assert "Good morning" not in shown(world.model.requests[-1])
    assert world.membership(COACH).seen_seq == 0
    world.take(own.job)
    assert "Good morning" in shown(world.model.requests[-1])
    assert world.texts() == ["Good morning", "Time to stretch!", "Good morning to you."]
    assert world.membership(COACH).seen_seq == 2


def test_run_of_plan_is_not_shown_message_that_its_own_run_is_answering() -> None:
    world = home()
    plan(world)
    fire(world)
    asked: list[str] = []

    def meanwhile(_: ModelRequest) -> str:
        world.take(background(world).job)
        return "Good morning to you."

    def reminds(request: ModelRequest) -> str:
        asked.append(shown(request))
        return "Time to stretch!"

    world.model.script += [meanwhile, reminds]
    world.post("Good morning", DANA)
    [own] = world.runs()
    world.take(own.job)
    assert len(asked) == 1
    assert "Good morning" not in asked[0]
    assert world.texts() == ["Good morning", "Time to stretch!", "Good morning to you."]


def test_run_of_plan_is_not_held_up_by_burst_of_sms() -> None:
    world = home("Time to stretch!", sms=True, settings=Settings())
    plan(world)
    fire(world)
    world.post("Good", DANA, route=sms_route(line=LINE, phone=PHONE))
    world.take(background(world).job)
    assert background(world).status == "done"


def test_reply_to_question_of_plan_resumes_its_run_alone() -> None:
    world = home(says("Did you stretch?", wait=True), says("Well done."), END)
    actor(world)
    plan(world)
    assert due(world).status == "waiting"
    assert slots(world)[:3] == (None, None, ())
    world.post("Yes", DANA)
    settle(world)
    assert background(world).status == "done"
    assert world.texts() == ["Did you stretch?", "Yes", "Well done."]
    assert world.runs() == []


def test_message_that_is_answered_meanwhile_is_no_reply_to_question_of_plan() -> None:
    world = home()
    actor(world)
    plan(world)

    def meanwhile(_: ModelRequest) -> Calls:
        world.post("Good morning", DANA)
        world.run_ready()
        return says("Did you stretch?", wait=True)

    world.model.script += [meanwhile, says("Good morning to you."), END]
    assert due(world).status == "waiting"
    assert world.texts() == ["Good morning", "Good morning to you.", "Did you stretch?"]


def test_message_that_is_being_answered_is_no_reply_to_question_of_plan() -> None:
    world = home()
    actor(world)
    plan(world)

    def meanwhile(_: ModelRequest) -> Calls:
        world.post("Good morning", DANA)
        [own] = world.runs()
        assert world.app.leases.claim(own.job, lease_until=world.clock.now() + MINUTE) is not None
        return says("Did you stretch?", wait=True)

    world.model.script.append(meanwhile)
    assert due(world).status == "waiting"
    assert statuses(world.runs()) == ["running"]


def test_rebuilt_run_of_plan_leaves_message_of_newcomer_to_its_own_run() -> None:
    """The plan of an operator for agents alone may be shown to a person who joins."""
    world = home()
    world.known(AHMAD)
    actor(world)
    world.chat(DANA, COACH, chat_id="chat_2", visibility="private")
    world.app.chat_admin.remove_member(TENANT, "chat_2", DANA.ref, DANA.ref)
    world.app.plans.set(
        world.app.get(PlanChats).owner(world.app.agents.get(TENANT, COACH.id), chat_id="chat_2"),
        *("Stretch", REMINDER),
        run_after="1 day",
    )

    def joins(_: ModelRequest) -> Calls:
        chat = world.stored_chat("chat_2")
        seat = Membership(tenant=TENANT, chat_id=chat.id, member=AHMAD)
        changed = chat.model_copy(update={"roster": (*chat.roster, AHMAD), "version": 99})
        world.table.write(Put(chat.key, changed.to_item()))
        world.table.write(Put(seat.key, seat.to_item(changed)))
        world.post("Hello?", AHMAD, chat_id="chat_2")
        return says("Nobody here")

    world.model.script += [joins, says("Time to stretch!"), says("Hello!")]
    assert due(world).rebuilds == 1
    assert world.texts("chat_2") == ["Hello?", "Time to stretch!", "Hello!"]
    assert statuses(world.runs("chat_2")) == ["done"]


# ---------------------------------------------------------------------- what ends it


@pytest.mark.parametrize(
    ("event", "reason"),
    [("leaves", Reason.AGENT_LEFT), ("discards", Reason.CHAT_DISCARDED)],
)
def test_run_of_plan_whose_chat_is_gone_is_canceled_with_reason(event: str, reason: Reason) -> None:
    world = home()
    world.chat(DANA, COACH, chat_id="chat_2", respond="manual", visibility="private")
    plan(world, "chat_2", scope="chat:chat_2")
    fire(world)
    if event == "leaves":
        world.app.chat_admin.remove_member(TENANT, "chat_2", DANA.ref, COACH.ref)
    else:
        world.app.chat_admin.discard(TENANT, "chat_2", DANA.ref)
    settle(world)
    run = background(world)
    assert (run.status, run.reason) == ("canceled", reason)
    assert world.model.requests == []
    assert live_pointers(world) == 0


def test_run_of_plan_is_canceled_if_someone_joins_who_may_not_see_its_instruction() -> None:
    world = home()
    world.known(AHMAD)
    world.chat(DANA, COACH, chat_id="chat_2", respond="manual", visibility="private")
    plan(world, "chat_2", scope="chat:chat_2")

    def joins(_: ModelRequest) -> Calls:
        world.add(AHMAD, by=DANA, chat_id="chat_2")
        return says("Time to stretch!")

    actor(world)
    world.model.script.append(joins)
    run = due(world)
    assert (run.status, run.reason) == ("canceled", Reason.DISCLOSURE_REFUSED)
    assert world.texts("chat_2") == []


def test_wait_of_plan_in_chat_that_agent_leaves_ends_its_run() -> None:
    world = home(calls(("send_message", {"text": "Did you?", "wait": True})), END)
    actor(world)
    world.chat(DANA, COACH, chat_id="chat_2", respond="manual", visibility="private")
    plan(world, "chat_2", scope="chat:chat_2")
    assert due(world).status == "waiting"
    world.app.chat_admin.remove_member(TENANT, "chat_2", DANA.ref, COACH.ref)
    settle(world)
    run = background(world)
    assert (run.status, run.reason) == ("canceled", Reason.AGENT_LEFT)


# ---------------------------------------------------------------------- without context


def test_plan_is_carried_out_if_its_chat_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = home("Time to stretch!")
    plan(world)
    world.post("I sit all day", DANA)
    settle(world)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the table is slow")

    fire(world)
    monkeypatch.setattr(type(world.app.reader), "read", fail)
    world.model.script.append("Time to stretch!")
    settle(world)
    run = background(world)
    prompt = shown(world.model.requests[-1])
    assert (run.status, run.marks) == ("done", ("context_unavailable",))
    assert REMINDER in prompt
    assert "I sit all day" not in prompt
    assert world.texts()[-1] == "Time to stretch!"
