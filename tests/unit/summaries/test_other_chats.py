"""Agent summaries are made only where another chat can show them, and when no run is pending."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.api.chats import MemberRequest, NewChat
from skein.models.chats.summary import Summary
from skein.models.common.base import NamedMember
from skein.models.outbox.jobs import Job, SummaryJob, UpkeepJob
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import calls

HUSAM, AHMAD, COACH, ANALYST = person(), person("usr_ahmad", "Ahmad"), bot(), bot("agt_b", "Bo")
PRIVATE = {"kind": "direct", "visibility": "private"}
NOTE = json.dumps({"lines": ["They plan a run."], "summary": "They plan a run."})


def world_with(*members: NamedMember, **chat: Any) -> World:
    """A chat without any other, in which people talk to a silent agent."""
    world = World()
    world.agent()
    world.agent(ANALYST.id, ANALYST.name)
    world.known(HUSAM, AHMAD)
    world.chat(*members, respond="manual", **chat)
    world.model.summaries.extend([NOTE] * 50)
    return world


def talk(world: World, chat_id: str = "chat_1", by: NamedMember = HUSAM) -> None:
    for text in ("I want to run", "On Monday"):
        world.post(text, by, chat_id=chat_id)
    world.run_ready()


def pass_minutes(world: World, minutes: int) -> None:
    for _ in range(minutes):
        world.clock.advance(60)
        world.tick()
        world.run_ready()


def note(world: World, chat_id: str = "chat_1") -> Summary | None:
    return world.membership(COACH, chat_id).summary


@pytest.mark.parametrize("chat", [PRIVATE, {"visibility": "open"}], ids=["private", "open"])
def test_only_chat_of_an_agent_gets_no_summary_and_asks_nothing_again(chat: Any) -> None:
    world = world_with(HUSAM, COACH, **chat)
    talk(world)
    pass_minutes(world, 20)
    assert note(world) is None
    assert not [each for each in world.model.summary_requests if "lines" in str(each)]
    assert world.stored_chat().upkeep_at is None


OTHERS = [
    ([HUSAM, COACH], PRIVATE, [HUSAM, COACH], PRIVATE, True),
    ([HUSAM, COACH], PRIVATE, [HUSAM, COACH], {"visibility": "open"}, False),
    ([HUSAM, COACH], PRIVATE, [HUSAM, AHMAD, COACH], {"visibility": "private"}, False),
    ([HUSAM, AHMAD, COACH], {"visibility": "private"}, [AHMAD, COACH], PRIVATE, True),
    ([HUSAM, COACH], PRIVATE, [HUSAM, ANALYST], PRIVATE, False),
    ([HUSAM, COACH], {"visibility": "open"}, [AHMAD, COACH], {"visibility": "open"}, True),
    ([HUSAM, COACH], {"visibility": "open"}, [HUSAM, COACH], PRIVATE, True),
]


@pytest.mark.parametrize(("members", "chat", "others", "other", "shown"), OTHERS)
def test_summary_is_made_while_readers_of_another_chat_may_see_it(
    members: list[NamedMember],
    chat: Any,
    others: list[NamedMember],
    other: Any,
    shown: bool,
) -> None:
    world = world_with(*members, **chat)
    world.chat(*others, chat_id="chat_2", **other)
    talk(world)
    pass_minutes(world, 10)
    assert (note(world) is not None) == shown


def test_answers_of_other_agents_send_no_job_for_an_agent_summary() -> None:
    agents = [bot(f"agt_{n}", f"Agent {n}") for n in range(5)]
    world = world_with(HUSAM, *agents)
    world.chat(HUSAM, *agents, chat_id="chat_2", respond="manual")
    world.run_ready()
    for by in (HUSAM, HUSAM, *agents):
        world.post("On Monday", by)
    jobs = [each.job for each in world.queues.sent if isinstance(each.job, SummaryJob)]
    asked = [job.agent_id for job in jobs if job.agent_id is not None]
    assert sorted(asked) == sorted(2 * [agent.id for agent in agents])


def test_no_summary_is_made_while_a_run_is_queued_or_running() -> None:
    world = world_with(HUSAM, COACH, **PRIVATE)
    world.chat(HUSAM, COACH, chat_id="chat_2", **PRIVATE)
    world.model.script.append(lambda _: pass_on(world))
    world.post("Plan a run", HUSAM, chat_id="chat_2")
    world.post("On Monday", HUSAM, chat_id="chat_2")
    world.drain()
    assert world.texts("chat_2")[-1] == "Monday it is."
    made = note(world, "chat_2")
    assert made is not None
    assert made.seq == 3


def pass_on(world: World) -> str:
    """Try to make the summary while the model answers."""
    world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id="chat_2"))
    assert note(world, "chat_2") is None
    return "Monday it is."


def open_chat(world: World) -> str:
    members = [MemberRequest(kind="agent", id=COACH.id)]
    new = NewChat(kind="direct", members=tuple(members))
    return world.app.chat_admin.create(TENANT, HUSAM, new).chat.id


def join_chat(world: World) -> str:
    world.chat(HUSAM, ANALYST, chat_id="chat_2", visibility="private")
    world.app.chat_admin.add_member(TENANT, "chat_2", HUSAM, COACH.ref)
    return "chat_2"


@pytest.mark.parametrize("appear", [open_chat, join_chat])
@pytest.mark.parametrize(("hours", "made"), [(5, True), (7, False)])
def test_chat_that_appears_has_summaries_of_the_last_six_hours_made(
    appear: Callable[[World], str],
    hours: int,
    made: bool,
) -> None:
    world = world_with(HUSAM, COACH, **PRIVATE)
    talk(world)
    pass_minutes(world, 10)
    world.clock.advance(hours * 3_600)
    assert note(world) is None
    appear(world)
    pass_minutes(world, 3)
    assert (note(world) is not None) == made


def test_chat_asks_for_the_ten_newest_stale_summaries_only() -> None:
    world = world_with(HUSAM, COACH, **PRIVATE)
    for n in range(13):
        world.chat(AHMAD, COACH, chat_id=f"open_{n:02}", respond="manual")
        world.clock.advance(60)
        for text in ("Hello", "Again"):
            world.post(text, AHMAD, chat_id=f"open_{n:02}")
    job = SummaryJob(tenant=TENANT, chat_id="open_12", agent_id=COACH.id)
    world.handle(job)
    assert note(world, "open_12") is not None
    wanted = world.app.upkeep.other_chats.wanted_in(
        world.stored_chat(), COACH.ref, world.clock.now()
    )
    assert [other.chat.id for other in wanted] == [f"open_{n:02}" for n in range(11, 1, -1)]


def wanted(world: World, chat_id: str) -> list[str]:
    chat, now = world.stored_chat(chat_id), world.clock.now()
    found = world.app.upkeep.other_chats.wanted_in(chat, COACH.ref, now)
    return [other.chat.id for other in found]


def test_chat_asks_for_no_summary_that_the_other_chat_renews_by_itself() -> None:
    world = world_with(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="manual")
    for chat_id in ("chat_1", "chat_2"):
        for text in ("I want to run", "On Monday"):
            world.post(text, HUSAM, chat_id=chat_id)
    assert (wanted(world, "chat_1"), wanted(world, "chat_2")) == ([], [])
    world.run_ready()
    pass_minutes(world, 3)
    assert (note(world) is not None, note(world, "chat_2") is not None) == (True, True)


def test_private_chat_asks_for_summary_of_a_chat_that_cannot_find_it_but_not_in_its_cooldown() -> (
    None
):
    world = world_with(HUSAM, COACH, **PRIVATE)
    world.chat(AHMAD, COACH, chat_id="open", respond="manual")
    world.post("Hello", AHMAD, chat_id="open")
    assert wanted(world, "chat_1") == []  # one message needs no summary
    world.post("Again", AHMAD, chat_id="open")
    assert wanted(world, "chat_1") == ["open"]
    world.handle(SummaryJob(tenant=TENANT, chat_id="open", agent_id=COACH.id, wanted_in="chat_1"))
    world.post("And again", AHMAD, chat_id="open")
    assert wanted(world, "chat_1") == []
    world.clock.advance(world.settings.summary_cooldown_seconds)
    assert wanted(world, "chat_1") == ["open"]


def test_jobs_for_a_chat_that_appeared_survive_a_failure_of_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_with(HUSAM, COACH, **PRIVATE)
    talk(world)
    pass_minutes(world, 10)
    upkeep = UpkeepJob(tenant=TENANT, chat_id=open_chat(world))

    def fail(jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        raise Unavailable("queue")

    with monkeypatch.context() as patch:
        patch.setattr(world.queues, "send", fail)
        with pytest.raises(Unavailable):
            world.handle(upkeep)
    pass_minutes(world, 3)
    assert note(world) is not None


def test_summary_for_a_chat_that_appeared_is_tried_again_after_a_failure_of_the_model() -> None:
    world = world_with(HUSAM, COACH, **PRIVATE)
    talk(world)
    pass_minutes(world, 30)
    world.model.summaries.appendleft(Unavailable("model"))
    open_chat(world)
    pass_minutes(world, 3)
    assert note(world) is None
    pass_minutes(world, 6)
    assert note(world) is not None
    pass_minutes(world, 3)
    assert world.stored_chat().upkeep_at is None


def test_summary_wanted_by_a_new_chat_is_made_after_a_silent_run() -> None:
    world = world_with(HUSAM, COACH, **PRIVATE)
    talk(world)
    pass_minutes(world, 30)
    world.model.script.append(calls("end_run"))
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref, agent_id=COACH.id)
    world.chat(HUSAM, COACH, chat_id="chat_2", **PRIVATE)
    wanted = SummaryJob(tenant=TENANT, chat_id="chat_1", agent_id=COACH.id, wanted_in="chat_2")
    world.handle(wanted)
    assert note(world) is None
    pass_minutes(world, 5)
    assert world.texts() == ["I want to run", "On Monday"]
    assert note(world) is not None
