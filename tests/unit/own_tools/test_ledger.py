"""Writes of tools happen once, whichever activation, run or worker carries on."""

from collections.abc import Callable
from typing import Any

import pytest

from skein.errors import Ambiguous, CircuitOpen, Redirected, SkeinError, Unavailable
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.models.common.storage import Delete
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import ModelRequest
from skein.own_tools.asking import TEAM_ANSWERED
from skein.own_tools.models.recorded_call import RecordedCall
from skein.services.runs.manual_trigger import ManualTrigger
from tests.fakes.outbound_http import json_answer
from tests.support.agents import AHMAD, COACH, HUSAM, stage, steps_of, the_run
from tests.support.builders import TENANT, World
from tests.support.desk import Desk
from tests.support.fakes import Killed, Script, calls
from tests.support.own_tool_calls import DIRECT, PRIVATE, answer, chosen, question, results
from tests.support.own_tools import BOOK, LOOK_UP, own_tool

BOOKS = calls(("book_table", {"day": "Tuesday"}))
NAME = "book_table"


def staged(*script: Script, record: dict[str, Any] = BOOK, **changes: Any) -> World:
    """A direct chat of Husam with the agent, who has a tool that writes."""
    world = stage(*script, reply_mode="text", enabled_tools=(NAME,))
    own_tool(world, record, **changes)
    world.chat(HUSAM, COACH, **DIRECT)
    return world


def taken(world: World, chat_id: str = "chat_1") -> Callable[[ModelRequest], str]:
    """Return an answer of the model during which Mia takes the chat over."""

    def answered(_: ModelRequest) -> str:
        assert Desk(world, chat_id).take().status == 200
        return "Booked!"

    return answered


def handed_back(world: World, *, silent: bool) -> None:
    """Let the chat go back to its agents, by its holder or after an hour of silence."""
    if not silent:
        assert Desk(world).hand_back().status == 204
    else:
        for _ in range(62):
            world.clock.advance(60)
            world.tick()
            world.drain()
    world.drain()


def asks(world: World) -> None:
    world.post("Book Tuesday", HUSAM)
    world.drain()


# ---------------------------------------------------------------------- the desk


def happen(world: World, steps: str) -> None:
    """Let a person and a colleague do things before any worker looks at them."""
    mia = Desk(world)
    for n, step in enumerate(steps.split()):
        if step == "take":
            assert mia.take().status == 200
        elif step == "say":
            assert mia.say("Mia here.", f"say-{n}").status == 201
        elif step == "back":
            assert mia.hand_back().status == 204
        else:
            chosen(world, step)


@pytest.mark.parametrize("silent", [False, True])
def test_agreed_call_after_take_over_and_return_is_not_made_again(silent: bool) -> None:
    world = staged(approval="person")
    world.model.script.extend([BOOKS, "Shall I?", taken(world), "It is booked."])
    asks(world)
    answer(world, "yes")
    assert len(world.service.requests) == 1
    handed_back(world, silent=silent)
    assert len(world.service.requests) == 1
    assert world.texts()[-1] == "It is booked."
    assert results(world)[-1].status == "done"


@pytest.mark.parametrize(
    ("steps", "sent", "told"),
    [
        ("yes take say", 0, "failed"),
        ("take yes say", 0, "failed"),
        ("take say yes", 1, "done"),
        ("take no say", 0, None),
        ("yes take say back take say", 0, "failed"),
    ],
)
def test_agreed_call_is_not_made_after_a_colleague_has_answered_and_the_agent_learns_it(
    steps: str, sent: int, told: str | None
) -> None:
    world = staged(BOOKS, "Shall I?", "Well.", approval="person")
    asks(world)
    happen(world, steps)
    handed_back(world, silent=False)
    assert len(world.service.requests) == sent
    after = results(world)[1:]
    assert [one.status for one in after] == ([told] if told is not None else [])
    assert all(TEAM_ANSWERED in one.content for one in after if one.status == "failed")
    assert world.texts()[-1] == ("Well." if told is not None else "Mia here.")


@pytest.mark.parametrize("silent", [False, True])
def test_call_that_was_made_before_a_colleague_answers_keeps_its_outcome(silent: bool) -> None:
    world = staged(approval="person")
    world.model.script.extend([BOOKS, "Shall I?", taken(world), "It is booked."])
    asks(world)
    answer(world, "yes")
    Desk(world).say("Mia here.")
    handed_back(world, silent=silent)
    assert len(world.service.requests) == 1
    assert results(world)[-1].status == "done"
    assert world.texts()[-1] == "It is booked."


@pytest.mark.parametrize("silent", [False, True])
def test_equal_write_after_take_over_and_return_reuses_the_outcome(silent: bool) -> None:
    world = staged()
    world.model.script.extend([BOOKS, taken(world), BOOKS, "It is booked."])
    asks(world)
    handed_back(world, silent=silent)
    assert len(world.service.requests) == 1
    assert [one.status for one in results(world)] == ["done", "done"]
    assert world.texts()[-1] == "It is booked."


def test_take_over_during_the_call_keeps_its_outcome_for_the_run_after_the_return() -> None:
    world = staged()
    world.model.script.extend([BOOKS, BOOKS, "It is booked."])
    answered = world.service.answer

    def during(request: Any) -> Any:
        assert Desk(world).take().status == 200
        return answered(request)

    world.service.answer = during
    asks(world)
    handed_back(world, silent=False)
    assert len(world.service.requests) == 1
    assert results(world)[-1].status == "done"
    assert world.texts()[-1] == "It is booked."


def recorded(world: World) -> list[RecordedCall]:
    """The records of calls, by key."""
    items = world.table.all_items()
    return [RecordedCall.from_item(items[k]) for k in sorted(items) if k.sk.startswith("CALL#")]


def prompt(world: World) -> str:
    return "\n".join(message.content for message in world.model.requests[-1].messages)


def test_record_of_a_call_has_no_words() -> None:
    world = staged(BOOKS, "Booked.")
    asks(world)
    [record] = recorded(world)
    run = the_run(world)
    assert (record.state, record.seq, str(record.call)) == ("done", 1, f"{run.id}:1:0")
    assert "Tuesday" not in str(record)
    [booking, _] = steps_of(world, run)
    assert booking.begun == ()


def test_prompt_after_the_return_says_what_was_done() -> None:
    world = staged()
    world.model.script.extend([BOOKS, taken(world), "It is booked."])
    asks(world)
    handed_back(world, silent=False)
    shown = prompt(world)
    assert "DONE BEFORE:\n  - book_table " in shown
    assert "Tuesday" in shown.split("DONE BEFORE:")[1]
    assert ": done, with the result " in shown
    assert "on its way" in shown.split("DONE BEFORE:")[1]


def test_prompt_omits_earlier_calls_after_a_new_member_joins() -> None:
    world = staged()
    world.chat(HUSAM, COACH, chat_id="chat_2", **PRIVATE)
    world.known(AHMAD)
    world.model.script.extend([BOOKS, taken(world, "chat_2"), BOOKS, "It is booked."])
    world.post("Book Tuesday", HUSAM, chat_id="chat_2")
    world.drain()
    world.add(AHMAD, chat_id="chat_2")
    assert Desk(world, "chat_2").hand_back().status == 204
    world.drain()
    assert "DONE BEFORE" not in prompt(world)
    assert len(world.service.requests) == 1


# ---------------------------------------------------------------------- equal calls


def test_equal_calls_of_one_activation_are_all_made() -> None:
    world = staged(calls((NAME, {"day": "Tuesday"}), (NAME, {"day": "Tuesday"})), BOOKS, "Three.")
    asks(world)
    assert [one.status for one in results(world)] == ["done"] * 3
    assert len(world.service.requests) == 3


def test_one_more_equal_write_after_the_return_needs_a_yes() -> None:
    world = staged()
    twice = calls((NAME, {"day": "Tuesday"}), (NAME, {"day": "Tuesday"}))
    world.model.script.extend([BOOKS, taken(world), twice, "Shall I?", "Booked again."])
    asks(world)
    at = world.clock.now()
    handed_back(world, silent=False)
    assert [one.status for one in results(world)] == ["done", "done", "asked"]
    assert f"again, after it was done at {at:%Y-%m-%d %H:%M} UTC." in question(world).text
    assert len(world.service.requests) == 1
    answer(world, "yes")
    assert len(world.service.requests) == 2


def test_equal_write_for_a_newer_message_needs_a_yes() -> None:
    world = staged()
    world.model.script.extend([BOOKS, taken(world), BOOKS, "Shall I?"])
    asks(world)
    world.post("One more, please", HUSAM)
    handed_back(world, silent=False)
    assert [one.status for one in results(world)] == ["done", "asked"]
    assert len(world.service.requests) == 1


def test_write_with_other_arguments_after_the_return_is_made() -> None:
    world = staged()
    friday = calls((NAME, {"day": "Friday"}))
    world.model.script.extend([BOOKS, taken(world), friday, "Booked."])
    asks(world)
    handed_back(world, silent=False)
    assert [one.status for one in results(world)] == ["done", "done"]
    assert len(world.service.requests) == 2


def test_write_that_surely_failed_is_made_after_the_return() -> None:
    world = staged()
    world.service.errors = [Unavailable("down"), Unavailable("down")]
    world.model.script.extend([BOOKS, taken(world), BOOKS, "Booked."])
    asks(world)
    handed_back(world, silent=False)
    assert [one.status for one in results(world)] == ["failed", "done"]


def test_agreed_call_is_not_made_again_for_readers_who_joined_meanwhile() -> None:
    def joins(_: ModelRequest) -> str:
        world.add(AHMAD)
        return "Booked!"

    world = stage(
        BOOKS, "Shall I?", joins, "It is booked.", reply_mode="text", enabled_tools=(NAME,)
    )
    own_tool(world, BOOK, approval="person")
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, COACH, **PRIVATE)
    asks(world)
    answer(world, "yes")
    assert len(world.service.requests) == 1
    last = results(world)[-1]
    assert (last.status, "for other readers" in last.content) == ("done", True)
    assert world.texts()[-1] == "It is booked."


def test_run_on_request_after_a_failed_one_reuses_its_write() -> None:
    world = staged(BOOKS, *[RuntimeError("bug")] * 3, BOOKS, "It is booked.")
    asks(world)
    for _ in range(20):
        world.clock.advance(120)
        world.tick()
        world.drain()
    assert the_run(world).status == "failed"
    world.app.get(ManualTrigger).now(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    assert len(world.service.requests) == 1
    assert [one.status for one in results(world)] == ["done", "done"]


# ---------------------------------------------------------------------- a worker dies


def dies(world: World, *, after: list[SkeinError | None]) -> None:
    """A worker dies while the service books, and another takes over."""
    booked = world.service.answer

    def killed(_: HttpRequest) -> HttpAnswer:
        world.service.answer = booked
        world.service.errors = list(after)
        raise Killed("send")

    world.service.answer = killed
    world.post("Book Tuesday", HUSAM)
    with pytest.raises(Killed):
        world.drain()
    for _ in range(5):
        world.clock.advance(60)
        world.tick()
        world.drain()


def test_begun_write_is_not_called_again_by_the_next_worker() -> None:
    world = staged(BOOKS, "I do not know.")
    dies(world, after=[])
    [result] = results(world)
    assert (result.status, len(world.service.requests)) == ("unknown", 1)
    assert "tool_outcome_unknown" in the_run(world).marks


def test_begun_write_of_an_idempotent_service_is_sent_again_with_its_key() -> None:
    world = staged(BOOKS, "Booked.", idempotent=True)
    dies(world, after=[])
    assert [one.status for one in results(world)] == ["done"]
    assert len(world.service.requests) == 2
    assert len({each.headers["Idempotency-Key"] for each in world.service.requests}) == 1
    assert [record.state for record in recorded(world)] == ["done"]


def test_write_that_only_its_step_records_is_not_called_again() -> None:
    """Release 0.3.0 has no records beside steps."""
    world = staged(BOOKS, "I do not know.")
    booked = world.service.answer

    def killed(_: HttpRequest) -> HttpAnswer:
        [record] = recorded(world)
        world.table.write(Delete(record.key))
        world.service.answer = booked
        raise Killed("send")

    world.service.answer = killed
    world.post("Book Tuesday", HUSAM)
    with pytest.raises(Killed):
        world.drain()
    world.clock.advance(300)
    world.tick()
    world.drain()
    assert [one.status for one in results(world)] == ["unknown"]
    assert len(world.service.requests) == 1


@pytest.mark.parametrize(
    "later",
    [
        [Unavailable("refused"), Unavailable("refused")],
        [CircuitOpen("tool book_table")],
        [Redirected("elsewhere")],
    ],
)
def test_refusal_after_a_death_leaves_the_outcome_unknown(later: list[SkeinError | None]) -> None:
    world = staged(BOOKS, "I do not know.", idempotent=True)
    dies(world, after=later)
    [result] = results(world)
    assert result.status == "unknown"
    assert "may or may not" in result.content


def test_limit_of_a_day_after_a_death_leaves_the_outcome_unknown() -> None:
    world = staged(BOOKS, "I do not know.", idempotent=True)
    booked = world.service.answer

    def killed(_: HttpRequest) -> HttpAnswer:
        world.service.answer = booked
        own_tool(world, BOOK, idempotent=True, max_calls_per_day=1)
        world.app.usage.add_tools(TENANT, Payer(COACH.id, HUSAM.id), [NAME], 0, spread_by="x")
        raise Killed("send")

    world.service.answer = killed
    world.post("Book Tuesday", HUSAM)
    with pytest.raises(Killed):
        world.drain()
    world.clock.advance(300)
    world.tick()
    world.drain()
    assert [one.status for one in results(world)] == ["unknown"]


# ---------------------------------------------------------------------- `failed` is certain


@pytest.mark.parametrize(
    "second", [Unavailable("refused"), CircuitOpen("tool book_table"), Redirected("elsewhere"), 404]
)
def test_refusal_after_an_ambiguous_try_leaves_the_outcome_unknown(second: Any) -> None:
    world = staged(BOOKS, "I do not know.", idempotent=True)
    world.service.errors = [Ambiguous("slow"), second if isinstance(second, SkeinError) else None]
    world.service.answer = lambda _: json_answer({}, 404)
    asks(world)
    [result] = results(world)
    assert (result.status, len(world.service.requests)) == ("unknown", 2)
    assert "tool_outcome_unknown" in the_run(world).marks
    assert [record.state for record in recorded(world)] == ["unknown"]


def test_ambiguous_try_without_time_for_another_leaves_the_outcome_unknown() -> None:
    world = staged(BOOKS, "I do not know.", idempotent=True)

    def slow(_: HttpRequest) -> HttpAnswer:
        world.clock.advance(110)
        raise Ambiguous("slow")

    world.service.answer = slow
    asks(world)
    assert [one.status for one in results(world)] == ["unknown"]


@pytest.mark.parametrize(("record", "status"), [(BOOK, "unknown"), (LOOK_UP, "failed")])
def test_redirect_that_is_not_followed_leaves_only_a_write_unknown(
    record: dict[str, Any], status: str
) -> None:
    name = record["name"]
    asked_for = calls((name, {"day": "Tuesday"} if record is BOOK else {"order": "17"}))
    world = stage(asked_for, "Well.", reply_mode="text", enabled_tools=(name,))
    own_tool(world, record)
    world.chat(HUSAM, COACH, **DIRECT)
    world.service.errors = [Redirected("the service redirects a request that is no GET")]
    asks(world)
    assert [one.status for one in results(world)] == [status]
    assert len(world.service.requests) == 1


@pytest.mark.parametrize(
    ("http_status", "status"), [(200, "done"), (201, "done"), (422, "correctable")]
)
def test_answer_of_a_write_that_is_no_text_keeps_its_status(http_status: int, status: str) -> None:
    world = staged(BOOKS, "Well.")
    world.service.answer = lambda _: HttpAnswer(
        status=http_status, content_type="application/pdf", body=b"%PDF-1.7"
    )
    asks(world)
    [result] = results(world)
    assert (result.status, "(an answer that is no text)" in result.content) == (status, True)
