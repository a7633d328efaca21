"""Tests of erasure sweeps: the person, suspect content, and the worker's claim."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from skein.models.chats.chat import Message
from skein.models.chats.membership import Membership
from skein.models.common.address import sms_address
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put, Update
from skein.models.outbox.jobs import ErasureJob
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.privacy.erasure_sweep import Sweep, SweepCounts, is_to_go
from skein.privacy.models.erasure import ErasedChat, Erasure, Subject, SweepCount
from tests.support.builders import LONG_INVOCATION, NOON, TENANT, World, bot, person
from tests.support.erasure import BEN, OPEN, ZOE, group, settle, world_of

COACH = bot()
SECOND = timedelta(seconds=1)


def a_sweep(*, swept_at: datetime | None, names: tuple[str, ...] = ("Ann Lee",)) -> Sweep:
    sweeps = (SweepCount(ended_at=swept_at),) if swept_at else (SweepCount(),)
    erasure = Erasure(
        tenant=TENANT,
        id="era_1",
        user_id="usr_ann",
        requested_by="usr_op",
        requested_at=NOON,
        sweeps=sweeps,
    )
    subject = Subject(tenant=TENANT, erasure_id="era_1", ids=("usr_ann",), names=names)
    return Sweep(erasure, subject, {}, SweepCounts(), NOON)


def a_run(**fields: Any) -> Run:
    return Run(
        tenant=TENANT,
        id="run_1_chat_1",
        agent_id=COACH.id,
        trigger=Trigger(type="manual"),
        created_at=NOON,
        **fields,
    )


def said(sender: NamedMember, text: str = "Hello", seq: int = 5) -> Message:
    return Message(
        tenant=TENANT,
        chat_id="chat_1",
        id="msg_1",
        seq=seq,
        text=text,
        sender=sender,
        client_id="1",
        created_at=NOON,
    )


def note(**fields: Any) -> ErasedChat:
    values = {"private": True, "since": NOON, "present_seq": 5} | fields
    return ErasedChat(tenant=TENANT, erasure_id="era_1", chat_id="chat_1", **values)


# ---------------------------------------------------------------------- what is suspect


def test_suspect_content_made_after_the_first_sweep_is_not() -> None:
    assert a_sweep(swept_at=None).suspect(NOON)
    again = a_sweep(swept_at=NOON)
    assert again.suspect(NOON)
    assert not again.suspect(NOON + SECOND)


@pytest.mark.parametrize(
    ("run", "first", "later"),
    [
        (a_run(status="done", started_at=NOON), False, False),
        (a_run(status="running", started_at=NOON), True, True),
        (a_run(status="running", started_at=NOON + SECOND), True, False),
        (a_run(status="queued"), True, False),
    ],
)
def test_to_stop_after_the_first_sweep_only_runs_that_started_before(
    run: Run, *, first: bool, later: bool
) -> None:
    assert a_sweep(swept_at=None).to_stop(run) is first
    assert a_sweep(swept_at=NOON).to_stop(run) is later


@pytest.mark.parametrize(
    ("message", "of", "goes"),
    [
        (said(person("usr_ann", "Ann")), note(private=False), True),
        (said(person("usr_ben", "Ben"), "Ann said so"), note(), False),
        (said(COACH), note(), True),
        (said(COACH, seq=4), note(), False),
        (said(COACH), note(private=False), False),
        (said(COACH, "Ann Lee said so"), note(private=False), True),
        (said(COACH, "Ann said so"), note(private=False), False),
        (said(COACH, "Cann it", seq=4), note(), False),
    ],
)
def test_is_to_go_message_of_the_person_or_an_informed_agent_or_naming_them(
    message: Message, of: ErasedChat, *, goes: bool
) -> None:
    assert is_to_go(a_sweep(swept_at=None), of, message, suspect=True) is goes


# ---------------------------------------------------------------------- whose work it is


@pytest.fixture
def world() -> World:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.post("Good morning", ZOE, chat_id=OPEN)
    settle(world)
    return world


def job_of(erasure: Erasure) -> ErasureJob:
    return ErasureJob(tenant=TENANT, erasure_id=erasure.id)


def continue_erasure(world: World, erasure: Erasure) -> Erasure:
    deadline = world.clock.now() + LONG_INVOCATION
    world.app.eraser.continue_erasure(job_of(erasure), deadline=deadline)
    return world.app.erasures.get(TENANT, erasure.id)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Ask ann  LEE about it", True),
        ("Ann\nLee", True),
        ("Joann Lee", False),
        ("Ann", False),
        ("The core will mark it", False),
        ("It was usr_ann.", True),
        ("usr_anna", False),
        ("Call +15005550101!", True),
        ("Call +150055501012", False),
    ],
)
def test_names_them_full_name_id_or_number_in_a_text(text: str, *, named: bool) -> None:
    sweep = a_sweep(swept_at=None, names=("Ann Lee", "Ann", "the", "Will", "core"))
    sweep.subject = sweep.subject.model_copy(
        update={"ids": ("usr_ann", "mark"), "addresses": (sms_address("+15005550101"),)}
    )
    assert sweep.names_them(text) is named


def test_erasure_claimed_by_a_worker_is_not_claimed_again(world: World) -> None:
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    busy_until = erasure.model_copy(update={"busy_until": world.clock.now() + SECOND})
    change = {"busy_until": busy_until.attributes()["busy_until"]}
    world.table.write(Update(erasure.key, set=change))
    assert continue_erasure(world, erasure).fence == 0
    world.clock.advance(1)
    assert continue_erasure(world, erasure).stage == "resting"


def test_worker_after_takeover_writes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    stages = world.app.eraser._stages
    find = stages["find"]

    def taken_over(sweep: Sweep, after: str | None) -> Iterator[str]:
        yield from find(sweep, after)
        world.table.write(Update(erasure.key, set={"fence": 7}))

    monkeypatch.setitem(stages, "find", taken_over)
    left = continue_erasure(world, erasure)
    assert (left.fence, left.stage) == (7, "find")
    assert world.messages(OPEN)[0].text == "Good morning"


def test_sweep_that_closed_a_membership_is_followed_by_another(world: World) -> None:
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    assert continue_erasure(world, erasure).stage == "resting"
    assert continue_erasure(world, erasure).stage == "resting"  # its time has not come
    chat = world.app.views.chat(TENANT, BEN.id, OPEN).chat
    membership = Membership(tenant=TENANT, chat_id=OPEN, member=ZOE)
    world.table.write(Put(membership.key, membership.to_item(chat)))
    for sweeps in (2, 3):
        world.clock.advance(1_000)
        left = continue_erasure(world, erasure)
        assert len(left.sweeps) == sweeps
    assert left.stage == "done"
