"""Errands of a caller who turns out to be a known person become that person's."""

import json

import pytest

from skein.errands.models.errand import MAX_TEXTS, OpenErrand
from skein.errands.models.meeting import Meeting
from skein.models.chats.choice import YES
from skein.models.common.base import NamedMember
from skein.models.common.storage import Delete, Put
from skein.models.directory.user import Merge, User
from tests.support.api_client import Client
from tests.support.builders import TENANT, person
from tests.support.errands import ALICE, DAY, HOME, SARAH, TEAM, Errands, asked
from tests.support.fakes import calls

BEN = person("usr_ben", "Ben")
WISH = {
    "topic": "dinner",
    "earliest": "2026-02-20T12:00",
    "latest": "2026-02-21T12:00",
    "until": "1 day",
}


def _merged(world: Errands, former: NamedMember) -> None:
    """Merge a person into Ben."""
    now = world.clock.now()
    merge = Merge(tenant=TENANT, id=former.id, into=BEN.id, created_at=now)
    world.known(BEN)
    world.table.write(Delete(User.key_of(TENANT, former.id)))
    world.table.write(Put(merge.key, merge.to_item(now)))
    world.passes(60)


def _lines(world: Errands) -> list[str]:
    """The lines of errands in a prompt of the home chat."""
    world.post("Hm", BEN, chat_id=HOME, client_id=f"hm-{len(world.model.requests)}")
    world.drain()
    prompt = world.model.requests[-1].messages[0].content
    return [line for line in prompt.splitlines() if "was asked" in line]


def _open(world: Errands) -> list[OpenErrand]:
    items = [world.table.get(key) for key in world.table.all_keys()]
    return [OpenErrand.from_item(item) for item in items if item and OpenErrand.PREFIX.holds(item)]


def test_errand_and_its_line_follow_the_person_who_asked() -> None:
    world = asked()
    _merged(world, ALICE)
    [errand] = world.errands
    assert errand.asked_by == BEN
    [line] = _lines(world)
    assert "Sarah" in line
    [listed] = Client(world, sub=BEN.id).get("/v1/me/errands").body["items"]
    assert listed["id"] == errand.id
    world.texts_in(f"{world.code} Thursday", "SM9")
    assert world.told() == ['Sarah: "Thursday"']
    assert _open(world) == []
    assert _lines(world) == []


def test_errand_names_the_known_person_as_the_one_who_is_asked() -> None:
    world = asked()
    _merged(world, SARAH)
    assert [errand.asked for errand in world.errands] == [BEN]
    assert [line.asked for line in _open(world)] == [BEN]
    world.passes(3 * DAY)
    assert world.told() == ["Ben: no answer"]
    assert _open(world) == []


def test_known_person_is_asked_again_and_their_answer_comes_back_once() -> None:
    world = asked()
    _merged(world, SARAH)
    world.passes(60)
    chat_id = world.chat_of(BEN.id)
    questions = [each for each in world.messages(chat_id) if each.choice is not None]
    assert len(questions) == 2
    choice = {"seq": questions[-1].seq, "text": "Thursday"}
    body = {"choice": choice, "client_id": "mine"}
    assert Client(world, sub=BEN.id).post(f"/v1/chats/{chat_id}/messages", body).status == 201
    world.passes(60)
    assert world.told() == ['Ben: "Thursday"']
    world.passes(3 * DAY)
    assert world.told() == ['Ben: "Thursday"']


def test_end_of_an_errand_before_a_late_move_leaves_no_line() -> None:
    world = asked()
    world.passes(3 * DAY)
    _merged(world, ALICE)
    assert [errand.asked_by for errand in world.errands] == [BEN]
    assert _open(world) == []


@pytest.mark.parametrize("former", [ALICE, SARAH])
def test_meeting_follows_its_people(former: NamedMember) -> None:
    world = Errands()
    world.model.script.append(calls(("find_time", WISH)))
    world.asks(chat_id=TEAM)
    _merged(world, former)
    items = [world.table.get(key) for key in world.table.all_keys()]
    [meeting] = [Meeting.from_item(item) for item in items if item and Meeting.PREFIX.holds(item)]
    assert (meeting.asked_by == BEN) is (former == ALICE)
    assert former.id not in meeting.audience.people
    assert former.id not in {errand.asked.id for errand in world.errands}


def test_known_person_is_asked_once_more_to_confirm_a_time() -> None:
    world = _proposed()
    _merged(world, SARAH)
    world.passes(60)
    world.passes(3_600)
    asked = [each for each in world.messages(world.chat_of(BEN.id)) if each.choice is not None]
    assert len(asked) == MAX_TEXTS  # times, the proposal, and the proposal again
    assert asked[-1].text == asked[-2].text
    _confirm(world, BEN)
    _confirm(world, ALICE)
    world.passes(60)
    assert "Everybody has confirmed." in world.told(TEAM)[-1]


def test_known_person_who_has_confirmed_is_not_asked_again() -> None:
    world = _proposed()
    _confirm(world, SARAH)
    texts = world.bodies
    _merged(world, SARAH)
    world.passes(3_600)
    assert world.bodies == texts
    _confirm(world, ALICE)
    world.passes(60)
    assert "Everybody has confirmed." in world.told(TEAM)[-1]


def _proposed() -> Errands:
    """Alice, in the app, and Sarah, by text, are asked to confirm a time that suits both."""
    world = Errands()
    world.model.script.append(calls(("find_time", WISH)))
    world.asks(chat_id=TEAM)
    span = {"start": "2026-02-20T18:00", "end": "2026-02-20T20:00"}
    world.model.default = json.dumps({"clear": True, "times": [span]})
    world.texts_in(f"{world.bodies[-1].split('Reply ')[-1].split()[0]} tonight")
    _answer_in_app(world, ALICE, {"text": "tonight"})
    world.passes(60)
    return world


def _confirm(world: Errands, who: NamedMember) -> None:
    _answer_in_app(world, who, {"option": YES})


def _answer_in_app(world: Errands, who: NamedMember, given: dict[str, str]) -> None:
    """Answer the newest question in a person's direct chat."""
    chat_id = world.chat_of(who.id)
    asked = [each for each in world.messages(chat_id) if each.choice is not None][-1]
    body = {"choice": {"seq": asked.seq, **given}, "client_id": f"answer-{asked.seq}"}
    assert Client(world, sub=who.id).post(f"/v1/chats/{chat_id}/messages", body).status == 201
    world.passes(1)
