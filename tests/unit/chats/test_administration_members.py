"""People and agents come into chats and leave them."""

from typing import Any

import pytest

from skein.errors import Conflict, NotFound
from skein.models.chats.membership import member_relation
from skein.models.common.base import MemberRef
from skein.models.common.storage import Query, Update
from skein.models.outbox.jobs import RunJob
from tests.support.builders import TENANT, World, bot, person, statuses

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
COACH = bot()


def test_messages_before_join_count_as_seen() -> None:
    world = World()
    world.known(AHMAD)
    world.chat(HUSAM)
    world.post("One", HUSAM)
    world.post("Two", HUSAM)
    chat = world.add(AHMAD)
    membership = world.membership(AHMAD)
    assert (membership.joined_seq, membership.seen_seq) == (2, 2)
    assert [member.id for member in chat.roster] == [HUSAM.id, AHMAD.id]
    assert world.stored_chat() == chat


def test_adding_a_member_again_changes_nothing() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM)
    first = world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, COACH.ref)
    assert world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, COACH.ref) == first


def test_an_agent_that_is_let_in_answers_from_then_on() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, COACH.ref)
    world.post("Hello", HUSAM)
    assert [run.agent_id for run in world.runs()] == ["agt_a"]


def test_an_agent_that_does_not_exist_cannot_join() -> None:
    world = World()
    world.chat(HUSAM)
    with pytest.raises(NotFound):
        world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, COACH.ref)


def test_add_unknown_person_is_refused() -> None:
    world = World()
    world.chat(HUSAM)
    with pytest.raises(NotFound) as refused:
        world.add(AHMAD)
    assert refused.value.details == {"user_ids": [AHMAD.id]}
    with pytest.raises(NotFound):
        world.app.users.get(TENANT, AHMAD.id)


def test_add_visitor_to_another_chat_is_refused_like_an_unknown_person() -> None:
    world, visitor = World(), person("vis_1", "Visitor")
    world.known(visitor)
    world.chat(HUSAM)
    with pytest.raises(NotFound) as refused:
        world.add(visitor)
    assert refused.value.details == {"user_ids": [visitor.id]}


def test_the_members_of_a_direct_chat_do_not_change() -> None:
    world = World()
    world.agent("agt_b", "Designer")
    world.chat(HUSAM, COACH, kind="direct")
    with pytest.raises(Conflict):
        world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, bot("agt_b").ref)
    with pytest.raises(Conflict):
        world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)


def test_adding_a_member_to_a_full_chat_is_a_conflict() -> None:
    world = World()
    world.agent("agt_new", "New")
    world.chat(HUSAM, *(bot(f"agt_{n}", f"Bot {n}") for n in range(20)))
    with pytest.raises(Conflict, match="20 agents"):
        world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, bot("agt_new").ref)
    world.chat(HUSAM, *(person(f"usr_{n}") for n in range(99)), chat_id="chat_2")
    with pytest.raises(Conflict, match="100 members"):
        world.app.chat_admin.add_member(TENANT, "chat_2", HUSAM, person("usr_new").ref)


def test_removing_an_agent_closes_its_place_and_cancels_its_queued_run() -> None:
    world = World()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)

    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)

    assert statuses(world.runs()) == ["canceled"]
    membership = world.membership(COACH)
    assert (membership.left_seq, membership.queued_run) == (1, None)
    assert world.stored_chat().roster == (HUSAM,)
    world.drain()
    world.post("Still there?", HUSAM)
    world.drain()
    assert world.texts() == ["Hello", "Still there?"]


def test_remove_member_who_is_not_in_the_chat_changes_nothing() -> None:
    world = World()
    before = world.chat(HUSAM)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    assert world.stored_chat() == before


def test_a_member_can_leave() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.app.chat_admin.remove_member(TENANT, "chat_1", AHMAD.ref, AHMAD.ref)
    with pytest.raises(NotFound):
        world.post("Hello?", AHMAD)
    page = world.table.query(Query(member_relation(TENANT, AHMAD), index="gsi1", limit=10))
    assert page.items == ()


def test_leaving_can_be_repeated() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    for _ in range(2):
        world.app.chat_admin.remove_member(TENANT, "chat_1", AHMAD.ref, AHMAD.ref)
    with pytest.raises(NotFound):  # who is no member lets nobody else go
        world.app.chat_admin.remove_member(TENANT, "chat_1", AHMAD.ref, HUSAM.ref)
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    world.app.chat_admin.remove_member(TENANT, "chat_1", AHMAD.ref, AHMAD.ref)


def test_coming_back_opens_the_old_place_afresh() -> None:
    world = World()
    world.chat(HUSAM, COACH)
    world.agent()
    chat_admin = world.app.chat_admin
    chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    world.table.write(Update(world.membership(COACH).key, set={"kept": "kept"}))
    world.post("One", HUSAM)

    chat_admin.add_member(TENANT, "chat_1", HUSAM, COACH.ref)

    membership = world.membership(COACH)
    assert (membership.left_seq, membership.joined_seq, membership.seen_seq) == (None, 1, 1)
    item = world.table.get(membership.key)
    assert item is not None
    assert item["kept"] == "kept"
    assert item["gsi1pk"] == member_relation(TENANT, COACH)


def test_the_wish_for_all_to_respond_survives_the_first_one_leaving() -> None:
    world = World()
    world.chat(HUSAM, COACH, bot("agt_b", "Designer"), bot("agt_c", "Analyst"), respond="manual")
    first = world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)

    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)

    runs = {run.agent_id: run for run in world.runs()}
    assert runs["agt_a"].id == first.id
    assert statuses(runs.values()) == ["canceled", "queued"]
    assert runs["agt_b"].then == ("agt_c",)
    jobs = [waiting.job for waiting in world.queues.waiting("turns")]
    assert runs["agt_b"].job in jobs


def test_a_run_that_starts_while_its_agent_is_removed_is_not_canceled() -> None:
    world = World()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    [run] = world.runs()
    real_transact = world.table.transact
    once = iter([True])

    def racing(writes: Any) -> None:
        if next(once, False):
            job = RunJob(tenant=TENANT, run_id=run.id, agent_id="agt_a")
            assert world.app.leases.claim(job, lease_until=world.clock.now()) is not None
        real_transact(writes)

    world.table.transact = racing  # type: ignore[method-assign]
    world.app.chat_admin.remove_member(
        TENANT, "chat_1", HUSAM.ref, MemberRef(kind="agent", id="agt_a")
    )
    assert statuses(world.runs()) == ["running"]
    membership = world.membership(COACH)
    assert (membership.left_seq, membership.running_run, membership.queued_run) == (1, run.id, None)
