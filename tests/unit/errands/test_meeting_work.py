"""A group looks for a time: who can be asked, which time is first, and what the group may see."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from skein.errands.models.errand import MAX_TEXTS, Slot
from skein.errands.models.meeting import first_common
from skein.models.common.storage import Update
from skein.models.directory.user import User
from skein.prompts import render
from tests.support.agents import results_of, settle
from tests.support.api_client import Client, operator
from tests.support.builders import NOON, TENANT, person
from tests.support.choices import answer
from tests.support.errands import ALICE, DAY, HOME, HOUR, SARAH, TEAM, Errands
from tests.support.fakes import calls
from tests.support.first_contact import text_in

WISH = {
    "topic": "dinner",
    "earliest": "2026-02-20T12:00",
    "latest": "2026-02-21T12:00",
    "until": "1 day",
}


def _found(chat_id: str = TEAM, **change: Any) -> tuple[Errands, str]:
    """Alice has the agent find a time; the world, and what the model is told."""
    world = Errands()
    world.model.script.append(calls(("find_time", WISH | change)))
    world.asks(chat_id=chat_id)
    return world, results_of(world, world.runs(chat_id)[-1])[0].content


def test_each_person_of_the_group_is_asked_alone() -> None:
    world, result = _found()
    assert "each person here is asked alone" in result
    assert sorted(errand.asked.name for errand in world.errands) == ["Alice", "Sarah"]
    [body] = world.bodies
    assert "The group learns only a time that suits all. Reply " in body
    assert body.endswith(" and your answer.")
    assert 'Alice looks for a time for "dinner" (' in world.texts(HOME)[-1]


def test_meeting_does_not_reveal_who_has_answered() -> None:
    world, _ = _found()
    before = _seen(world)
    code = world.bodies[-1].split("Reply ")[-1].split()[0]
    world.model.default = '{"clear": true, "times": []}'
    world.texts_in(f"{code} I cannot, my knee hurts")
    assert _seen(world) == before
    assert "knee" not in str(operator(world).get("/v1/errands").body)


def _seen(world: Errands) -> Any:
    """What Alice sees, and what a prompt of the group would hold of errands."""
    world.post("Hm", ALICE, chat_id=TEAM, client_id=f"hm-{len(world.model.requests)}")
    world.drain()
    prompt = world.model.requests[-1].messages[0].content
    lines = [line for line in prompt.splitlines() if "was asked" in line]
    return lines, world.told(TEAM), Client(world, sub=ALICE.id).get("/v1/me/errands").body


@pytest.mark.parametrize(
    ("change", "chat_id", "error"),
    [
        ({}, HOME, "2 to 10 people"),
        ({"latest": "2026-02-20T12:30"}, TEAM, "must fit between"),
        ({"until": "9 days"}, TEAM, "at most 7 days"),
    ],
)
def test_wish_that_cannot_be_met_is_refused(
    change: dict[str, Any], chat_id: str, error: str
) -> None:
    assert error in _found(chat_id, **change)[1]


def test_meeting_without_common_time_is_reported_only_at_the_deadline() -> None:
    world, _ = _found()
    for _ in range(3):
        world.passes(7 * 3_600)
    assert world.told(TEAM) == []
    for _ in range(4):
        world.passes(2 * 3_600)
    assert world.told(TEAM) == ['No time for "dinner" suits all.']
    assert not [key for key in world.table.all_keys() if key.sk.startswith("OPEN_ERRAND#")]


def _slots(*hours: tuple[int, int]) -> list[Slot]:
    day = NOON.replace(hour=0)
    return [
        Slot(start=day + timedelta(hours=first), end=day + timedelta(hours=last))
        for first, last in hours
    ]


@pytest.mark.parametrize(
    ("times", "hour"),
    [
        ([_slots((9, 12)), _slots((11, 13))], 11),
        ([_slots((9, 10), (10, 12)), _slots((9, 12))], 9),  # those that touch are one
        ([_slots((9, 12)), _slots((12, 14))], None),
        ([_slots((9, 12)), _slots()], None),
        ([_slots((16, 18), (9, 11)), _slots((8, 20))], 9),
    ],
)
def test_first_common_time_suits_all(times: list[list[Slot]], hour: int | None) -> None:
    day = NOON.replace(hour=0)
    start = first_common(times, day, day + timedelta(days=1), timedelta(hours=1))
    assert start == (None if hour is None else day + timedelta(hours=hour))


def test_meeting_report_to_group_with_new_member_omits_the_topic() -> None:
    world, _ = _found()
    ben = person("usr_ben", "Ben")
    world.known(ben)
    world.add(ben, by=ALICE, chat_id=TEAM)
    for _ in range(8):
        world.passes(4 * 3_600)
    assert world.told(TEAM) == ["No time for the meeting suits all."]


# ---------------------------------------------------------------------- texts

UNCLEAR = json.dumps({"clear": False, "times": []})
CLEAR = json.dumps(
    {"clear": True, "times": [{"start": "2026-02-20T18:00", "end": "2026-02-20T20:00"}]}
)
OVER, ALONE = render("notice_choice_over"), render("notice_code_alone")
ASKED_BACK = "Which times, for example"


def _number(world: Errands) -> str:
    return str(re.findall(r"Reply ([0-9]{6}) ", "".join(world.bodies))[-1])


def test_second_answer_gets_no_notice_while_the_person_may_be_asked_back() -> None:
    world, _ = _found()
    number = _number(world)
    world.model.default = UNCLEAR
    text_in(world, f"{number} hm", "SM1")
    world.texts_in(f"{number} tonight", "SM2")
    assert [body for body in world.bodies if body == OVER] == []
    assert ASKED_BACK in world.bodies[-1]
    assert len(world.bodies) == 2  # the proposal has room


def test_second_answer_gets_one_notice_once_the_times_are_read() -> None:
    world, _ = _found()
    number = _number(world)
    world.model.default = CLEAR
    for turn in range(3):
        world.texts_in(f"{number} tonight", f"SM{turn}")
    assert world.bodies[1:] == [OVER]


def test_late_answer_of_a_person_who_was_asked_back_gets_no_notice() -> None:
    world, _ = _found()
    world.model.default = UNCLEAR
    world.texts_in(f"{_number(world)} hm", "SM1")
    number = _number(world)
    world.passes(DAY + HOUR)
    world.texts_in(f"{number} tonight", "SM2")
    assert len(world.bodies) == 2


def test_unclear_meeting_answer_is_not_asked_again_after_a_bare_code() -> None:
    world, _ = _found()
    number = _number(world)
    world.model.default = UNCLEAR
    world.texts_in(number, "SM1")
    assert world.bodies[1:] == [ALONE]
    world.texts_in(f"{number} hm", "SM2")
    assert world.bodies[1:] == [ALONE]
    assert [errand.times for errand in world.errands if errand.asked == SARAH] == [()]


def test_second_yes_to_a_proposal_gets_a_notice_in_the_last_text() -> None:
    world, _ = _found()
    world.model.default = CLEAR
    world.texts_in(f"{_number(world)} tonight", "SM1")
    asked = world.messages(HOME)[-1]
    answer(world, asked.seq, ALICE, text="tonight", chat_id=HOME, client_id="mine")
    settle(world)
    yes = re.findall(r"Yes: reply ([0-9]{6})", world.bodies[-1])[-1]
    for turn in range(2, 5):
        world.texts_in(yes, f"SM{turn}")
    assert len(world.bodies) == MAX_TEXTS
    assert world.bodies[-1] == OVER


def test_person_in_quiet_hours_is_asked_to_confirm_at_their_end() -> None:
    world, _ = _found()
    world.model.default = CLEAR
    world.texts_in(f"{_number(world)} tonight", "SM1")
    hours = {"from": "11:00", "to": "14:30"}
    world.table.write(Update(User.key_of(TENANT, SARAH.id), set={"quiet_hours": hours}))
    asked = world.messages(HOME)[-1]
    answer(world, asked.seq, ALICE, text="tonight", chat_id=HOME, client_id="mine")
    world.passes(HOUR)
    assert "Can you come then?" in world.texts(HOME)[-1]
    assert len(world.bodies) == 1
    world.passes(2 * HOUR)
    assert "Can you come then?" in world.bodies[-1]
