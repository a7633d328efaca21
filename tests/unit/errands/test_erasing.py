"""An erasure of a person takes what they asked for, and their part in errands of others."""

from skein.errands.models.meeting import Meeting
from tests.support.agents import settle
from tests.support.builders import TENANT
from tests.support.erasure import end, lines_of
from tests.support.errands import ALICE, QUESTION, SARAH, TEAM, Errands, asked
from tests.support.fakes import calls

WISH = {
    "topic": "dinner at Mina's",
    "earliest": "2026-02-20T12:00",
    "latest": "2026-02-21T12:00",
    "until": "1 day",
}


def _looking() -> Errands:
    """Alice has the agent find a time, and Sarah has answered."""
    world = Errands()
    world.model.script.append(calls(("find_time", WISH)))
    world.asks(chat_id=TEAM)
    code = world.bodies[-1].split("Reply ")[-1].split()[0]
    world.model.default = '{"clear": true, "times": []}'
    world.texts_in(f"{code} I cannot, my knee hurts")
    return world


def _erased(world: Errands, user_id: str) -> None:
    erasure = world.app.erasures.request(TENANT, user_id, by="usr_op", named_texts="keep")
    settle(world)
    end(world, erasure)


def _kept(world: Errands, *words: str) -> list[str]:
    """The records of errands and meetings that hold any of the words."""
    records = ("#ERRANDS", "ERRANDLINK#", "OPEN_ERRAND#")
    return [
        line
        for key, line in lines_of(world)
        if any(each in key for each in records) and any(word in line for word in words)
    ]


def test_question_goes_with_the_person_who_had_it_asked() -> None:
    world = asked()
    chat = world.chat_of()
    assert QUESTION in str(world.messages(chat))
    _erased(world, ALICE.id)
    assert [each.kind for each in world.messages(chat)] == ["erased"]
    assert [key for key, line in lines_of(world) if QUESTION in line] == []


def test_result_goes_with_the_person_who_answered() -> None:
    world = asked()
    world.texts_in(f"{world.code} at noon, my knee hurts")
    assert world.told() == ['Sarah: "at noon, my knee hurts"']
    _erased(world, SARAH.id)
    assert world.told() == [""]
    assert [key for key, line in lines_of(world) if "knee" in line] == []


def test_meeting_goes_with_the_person_who_asked_for_it() -> None:
    world = _looking()
    assert _kept(world, "Mina")
    _erased(world, ALICE.id)
    assert _kept(world, "Mina", ALICE.id, "Alice") == []
    named = [key for key, line in lines_of(world) if "MSG#" in key and f'"{ALICE.id}"' in line]
    assert named == []


def test_another_person_of_the_group_leaves_no_trace_in_the_meeting() -> None:
    world = _looking()
    assert _kept(world, "knee")
    _erased(world, SARAH.id)
    assert _kept(world, SARAH.id, "Sarah", "knee") == []
    [meeting] = [
        Meeting.from_item(item)
        for item in map(world.table.get, world.table.all_keys())
        if item is not None and Meeting.PREFIX.holds(item)
    ]
    assert (meeting.asked_by, len(meeting.errands)) == (ALICE, 1)
