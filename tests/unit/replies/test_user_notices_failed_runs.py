"""Notices for runs that have failed."""

import pytest

from skein.errors import ModelFiltered, ModelRejected, SkeinError, Unavailable
from skein.models.common.address import Route
from skein.models.common.reason import Reason
from skein.prompts import render
from skein.settings import Settings
from tests.support.agents import AHMAD, the_run, waiting_here
from tests.support.builders import LINE, PHONE, World, bot, person, statuses
from tests.support.fakes import ScriptedModel
from tests.support.routes import sms_route

SMS = sms_route(line=LINE, phone=PHONE)


def failing(error: type[Exception] | SkeinError, *, sms: Route | None = None) -> World:
    """Return a direct chat whose agent's model always raises an error."""

    def fail(_: object) -> str:
        raise error if isinstance(error, SkeinError) else error("a bug")

    world = World(Settings(apology=False), ScriptedModel.saying(default=fail))
    world.agent()
    world.chat(person(), bot(), kind="direct", visibility="private", route=sms)
    return world


@pytest.mark.parametrize("error", [ModelRejected("no"), ValueError, Unavailable("down")], ids=str)
@pytest.mark.parametrize("sms", [None, SMS], ids=["app", "sms"])
def test_run_that_fails_leaves_one_notice(
    error: type[Exception] | SkeinError, sms: Route | None
) -> None:
    world = failing(error, sms=sms)
    world.post("How far today?", person(), route=sms)
    world.drain()
    assert statuses(world.runs()) == ["failed"]
    notice = world.messages()[-1]
    assert (notice.kind, notice.text) == ("notice", render("notice_no_answer"))
    assert len(world.messages()) == 2
    assert len(world.deliveries()) == (1 if sms else 0)
    assert world.runs()[0].id == notice.run_id


def test_request_refused_by_a_content_filter_leaves_the_notice_at_once() -> None:
    world = failing(ModelFiltered("content_filter"))
    world.post("How far today?", person())
    world.drain()
    [run] = world.runs()
    assert (run.status, run.reason, run.attempts) == ("failed", Reason.ANSWER_FILTERED, 1)
    assert world.texts() == ["How far today?", render("notice_refused_answer")]
    assert len(world.model.requests) == 1
    assert world.metrics.counts["AnswersFailed"] == 1


def test_run_that_no_person_asked_for_fails_without_a_notice() -> None:
    world = failing(ModelRejected("no"))
    world.agent("agt_b", "Bob")
    world.chat(bot(), bot("agt_b", "Bob"), person(), chat_id="chat_2")
    world.post("Hello Coach", bot("agt_b", "Bob"), chat_id="chat_2")
    world.drain()
    assert statuses(world.runs("chat_2")) == ["failed"]
    assert world.texts("chat_2") == ["Hello Coach"]


@pytest.mark.parametrize("unusable", [False, True], ids=["rejected", "empty"])
def test_group_gets_one_notice_of_failed_runs_until_the_agent_answers(unusable: bool) -> None:
    world = failing(ModelRejected("no"))
    if unusable:
        world.model.default = ""
    world.agent("agt_b", "Bob")
    world.chat(bot(), bot("agt_b", "Bob"), person(), person("usr_ann", "Ann"), chat_id="chat_2")

    def notices(after_seconds: int = 0) -> int:
        world.clock.advance(after_seconds)
        world.post("@Coach @Bob, how far today?", person(), chat_id="chat_2")
        world.drain()
        return sum(one.kind == "notice" for one in world.messages("chat_2"))

    assert [notices(), notices(60), notices(3_600)] == [1, 1, 2]
    failing_model, world.model.default = world.model.default, "Here I am."
    assert notices(60) == 2
    assert world.membership(bot(), "chat_2").failed_since is None
    world.model.default = failing_model
    assert notices(60) == 3


def test_run_that_fails_after_the_reply_to_its_question_leaves_a_notice() -> None:
    world = waiting_here(ModelRejected("no"))
    world.post("Yes", AHMAD)
    world.drain()
    assert the_run(world).status == "failed"
    assert world.texts()[-2:] == ["Yes", render("notice_no_answer")]
