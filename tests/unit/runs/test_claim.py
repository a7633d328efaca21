"""Claims: what is read for a job, and where the agent of a run is a member."""

import pytest

from skein.errors import ConditionFailed, LostLease
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.storage import Delete, Exists, Key, Update
from skein.models.config.overrides import Retention
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import SentMessage
from skein.services.runs.claim import (
    MAX_SENT,
    Claim,
    membership_elsewhere,
    membership_in,
    read_claim,
    shown_membership,
    with_results,
    write_claimed,
)
from tests.support.builders import NOON, TENANT, World, bot, person

HUSAM, COACH = person(), bot()
DAY_SECONDS = 86_400


def asked() -> World:
    """A world in which a queued run of the agent waits to be claimed."""
    world = World()
    world.agent()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    return world


def job_of(world: World) -> RunJob:
    [waiting] = world.queues.waiting("turns")
    assert isinstance(waiting.job, RunJob)
    return waiting.job


def claim_of(world: World) -> Claim:
    claim = read_claim(world.table, job_of(world))
    assert claim is not None
    return claim


# ---------------------------------------------------------------------- reading


def test_claim_of_job_holds_run_chat_and_membership() -> None:
    world = asked()
    claim = claim_of(world)
    assert claim.run == world.runs()[0]
    assert claim.chat == world.stored_chat()
    assert claim.member == world.membership(COACH)
    assert claim.found == {}


def test_claim_of_job_takes_one_read() -> None:
    world = asked()
    job = job_of(world)
    before = len(world.table.log)
    read_claim(world.table, job)
    assert [call.method for call in world.table.log[before:]] == ["get_many"]


def test_claim_returns_also_read_items_and_none_for_missing_ones() -> None:
    world = asked()
    there, missing = Chat.key_of(TENANT, "chat_1"), Key("acme#X", "X")
    claim = read_claim(world.table, job_of(world), also_read=[there, missing])
    assert claim is not None
    assert set(claim.found) == {there, missing}
    assert claim.found[missing] is None
    assert claim.found[there] is not None


def test_claim_of_agent_that_left_holds_the_closed_membership() -> None:
    world = asked()
    job = job_of(world)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    claim = read_claim(world.table, job)
    assert claim is not None
    assert claim.member is not None
    assert not claim.member.active


@pytest.mark.parametrize("gone", ["run", "chat", "membership"])
def test_claim_with_missing_item_is_none(gone: str, caplog: pytest.LogCaptureFixture) -> None:
    world = asked()
    job = job_of(world)
    keys = {
        "run": world.runs()[0].key,
        "chat": Chat.key_of(TENANT, "chat_1"),
        "membership": Membership.key_of(TENANT, "chat_1", COACH),
    }
    world.table.write(Delete(keys[gone]))
    assert read_claim(world.table, job) is None
    assert "run of a job not found" in caplog.text


# ---------------------------------------------------------------------- writing


def test_write_of_claim_after_take_over_loses_the_lease() -> None:
    world = asked()
    claim = claim_of(world)
    world.table.write(Update(claim.run.key, set={"fence": claim.run.fence + 1}))
    with pytest.raises(LostLease):
        write_claimed(world.table, claim, {"error": "late"})
    own = Update(Key("acme#X", "X"), set={"n": 1})
    with pytest.raises(LostLease):
        write_claimed(world.table, claim, {"error": "late"}, own=[own])
    assert world.table.get(own.key) is None


def test_write_of_claim_with_changed_shared_item_fails_without_losing_the_lease() -> None:
    world = asked()
    shared = Update(Key("acme#X", "X"), set={"n": 1}, condition=Exists())
    with pytest.raises(ConditionFailed):
        write_claimed(world.table, claim_of(world), {"error": "late"}, shared=[shared])
    assert world.runs()[0].error is None


def test_results_of_claim_keep_the_newest_sent_messages_and_each_tool_once() -> None:
    claim = claim_of(asked())
    sent = [
        SentMessage(chat_id="chat_1", seq=seq, preview="On it") for seq in range(1, MAX_SENT + 3)
    ]
    claim = with_results(claim, ["send_message", "set_goal"], sent[:3])
    claim = with_results(claim, ["set_goal", "end_run"], sent)
    assert claim.run.tools == ("send_message", "set_goal", "end_run")
    assert [message.seq for message in claim.run.sent] == list(range(3, MAX_SENT + 3))


def test_expiry_follows_the_retention_of_the_chat_or_else_of_the_tenant() -> None:
    claim = claim_of(asked())
    assert claim.kept_until(NOON) is None
    alone = Claim(claim.run, None, retention=Retention(run_days=2))
    assert alone.kept_until(NOON) == int(NOON.timestamp()) + 2 * DAY_SECONDS


# ---------------------------------------------------------------------- places


def in_second_chat(world: World) -> None:
    world.chat(HUSAM, COACH, chat_id="chat_2")


def test_membership_elsewhere_is_found_with_its_chat() -> None:
    world = asked()
    in_second_chat(world)
    chat, member = membership_elsewhere(world.table, claim_of(world), "chat_2")
    assert chat == world.stored_chat("chat_2")
    assert member == world.membership(COACH, "chat_2")
    assert membership_in(world.table, claim_of(world), "chat_2") == member


@pytest.mark.parametrize("gone", ["chat", "membership", "both"])
def test_membership_elsewhere_with_missing_item_is_none(gone: str) -> None:
    world = asked()
    in_second_chat(world)
    claim = claim_of(world)
    if gone != "membership":
        world.table.write(Delete(Chat.key_of(TENANT, "chat_2")))
    if gone != "chat":
        world.table.write(Delete(Membership.key_of(TENANT, "chat_2", COACH)))
    assert membership_elsewhere(world.table, claim, "chat_2") == (None, None)


def test_membership_elsewhere_that_is_closed_is_none() -> None:
    world = asked()
    in_second_chat(world)
    claim = claim_of(world)
    world.close_membership(COACH, "chat_2")
    assert membership_elsewhere(world.table, claim, "chat_2") == (None, None)
    assert membership_in(world.table, claim, "chat_2") is None
    assert membership_in(world.table, claim, None) is None


def test_queued_run_shows_its_active_chat() -> None:
    world = asked()
    in_second_chat(world)
    claim = claim_of(world)
    assert shown_membership(world.table, claim) is claim.member
    elsewhere = claim.with_run(active_chat_id="chat_2")
    assert shown_membership(world.table, elsewhere) == world.membership(COACH, "chat_2")


def test_run_at_work_shows_the_chat_it_was_read_with() -> None:
    world = asked()
    in_second_chat(world)
    claim = claim_of(world).with_run(active_chat_id="chat_2", status="running")
    assert shown_membership(world.table, claim) is claim.member
