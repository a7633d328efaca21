"""Closed memberships lie where no post reads them, and are found by all that needs them."""

import pytest

from skein.errors import ConditionFailed, RateLimited
from skein.models.chats.membership import Membership
from skein.models.chats.summary import SummaryState
from skein.models.common.base import NamedMember
from skein.models.common.storage import Update, Write
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.limit import Allowance, owner_of_user
from skein.privacy.export import Exports
from skein.services.chat_state.snapshot import read_snapshot
from skein.settings import Settings
from skein.summaries.agent_summary import changed
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person, statuses
from tests.support.number_codes import link_number

HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
UNLIMITED = Settings(user_chat_changes_per_hour=0)


def cost_of_post(world: World) -> tuple[int, int]:
    """The items and bytes that posting one message reads."""
    world.table.log.clear()
    world.post("Hello", HUSAM)
    reads = [call for call in world.table.log if call.method not in {"write", "transact"}]
    return sum(call.items for call in reads), sum(call.bytes for call in reads)


@pytest.mark.parametrize("joins", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_post_after_many_joins_and_leaves_reads_as_much_as_before(joins: int) -> None:
    world = World(UNLIMITED)
    people = [person(f"usr_{n:03}", f"Person {n:03}") for n in range(joins)]
    world.known(*people)
    world.chat(HUSAM, respond="manual")
    before = cost_of_post(world)
    for who in people:
        world.add(who)
        world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, who.ref)
    items, size = cost_of_post(world)
    assert items == before[0]
    assert size <= before[1] + 500  # the chat's own item now has a last message
    everybody = read_snapshot(world.table, TENANT, "chat_1", closed=True)
    assert len(everybody.members) == joins + 1


def test_leave_and_return_keep_the_attributes_of_the_membership() -> None:
    world = World()
    world.known(AHMAD)
    world.chat(HUSAM, AHMAD)
    change = {"formerly": ["usr_old"], "kept": "kept"}
    world.table.write(Update(world.membership(AHMAD).key, set=change))
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref)
    left = world.table.get(Membership.left_key_of(TENANT, "chat_1", AHMAD))
    assert left is not None
    assert (left["left_seq"], left["kept"]) == (0, "kept")
    assert world.table.get(Membership.key_of(TENANT, "chat_1", AHMAD)) is None
    world.add(AHMAD)
    back = world.table.get(Membership.key_of(TENANT, "chat_1", AHMAD))
    assert back is not None
    assert "left_seq" not in back
    assert {name: back[name] for name in change} == change
    assert world.table.get(Membership.left_key_of(TENANT, "chat_1", AHMAD)) is None


def test_write_between_reading_and_leaving_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.chat(HUSAM, COACH)
    transact = world.table.transact

    def racing(writes: list[Write]) -> None:
        monkeypatch.undo()
        world.table.write(Update(world.membership(COACH).key, set={"consolidated_seq": 3}))
        transact(writes)

    monkeypatch.setattr(world.table, "transact", racing)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    membership = world.membership(COACH)
    assert (membership.left_seq, membership.consolidated_seq) == (0, 3)


def test_run_of_agent_that_left_ends_and_frees_its_closed_membership() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    [run] = world.runs()
    job = RunJob(tenant=TENANT, run_id=run.id, agent_id=COACH.id)
    claim = world.app.leases.claim(job, lease_until=world.clock.now())
    assert claim is not None
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    assert world.membership(COACH).running_run == run.id
    world.app.completion.end(claim, "done")
    assert statuses(world.runs()) == ["done"]
    assert world.membership(COACH).running_run is None


def test_run_of_agent_that_left_is_canceled_at_its_next_claim() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    [run] = world.runs()
    job = RunJob(tenant=TENANT, run_id=run.id, agent_id=COACH.id)
    assert world.app.leases.claim(job, lease_until=world.clock.now()) is not None
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    world.clock.advance(300)
    world.take(job)
    assert [(r.status, r.error) for r in world.runs()] == [
        ("canceled", "the agent has left the chat")
    ]


def test_late_writers_make_no_open_membership_of_one_that_moved() -> None:
    world = World(Settings(summary_cooldown_seconds=10))
    world.agent()
    world.chat(HUSAM, COACH, respond="manual")
    open_membership = world.membership(COACH)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    late = changed(open_membership, None, {"summary_state": SummaryState(tried_seq=1)})
    with pytest.raises(ConditionFailed):
        world.table.write(late)
    assert world.table.get(open_membership.key) is None


# ---------------------------------------------------------------------- how often


def test_changes_of_members_are_limited_for_each_person_and_refill() -> None:
    world = World(Settings(user_chat_changes_per_hour=4))
    world.known(AHMAD)
    world.chat(HUSAM, respond="manual")
    world.chat(HUSAM, AHMAD, chat_id="chat_2")
    chat_admin = world.app.chat_admin
    for _ in range(2):
        chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
        chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)  # nothing to do: not counted
        chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref)
    with pytest.raises(RateLimited) as refused:
        chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
    assert refused.value.retry_after_seconds == 900
    assert world.stored_chat().roster == (HUSAM,)
    world.clock.advance(900)
    chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
    chat_admin.remove_member(TENANT, "chat_1", AHMAD.ref, AHMAD.ref)  # one may always leave
    assert world.metrics.counts["OverLimit"] == 1


# ---------------------------------------------------------------------- what needs closed ones


def test_erasure_and_export_find_chats_that_the_person_left() -> None:
    world = World()
    world.known(AHMAD)
    world.chat(HUSAM, AHMAD, COACH, respond="manual")
    world.post("I am Ahmad", AHMAD)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref)
    page = world.app.get(Exports).page(TENANT, AHMAD.id)
    assert [(own.chat.id, own.membership.left_seq) for own in page.chats] == [("chat_1", 1)]
    assert [message.text for message in page.messages] == ["I am Ahmad"]
    world.app.erasures.request(TENANT, AHMAD.id, by="usr_op")
    for _ in range(5):
        world.drain()
        world.clock.advance(3_600)
        world.tick()
    assert world.table.get(Membership.left_key_of(TENANT, "chat_1", AHMAD)) is None
    assert "Ahmad" not in str(world.texts())


def test_caller_who_is_linked_takes_back_the_membership_that_the_person_had_left() -> None:
    world = World()
    world.agent()
    world.line()
    world.known(HUSAM, AHMAD)

    def text(sid: str) -> NamedMember:
        sms = InboundSms(
            account_sid="AC1", message_sid=sid, sender=PHONE, recipient=LINE, body="Hi"
        )
        posted = world.app.sms_receiver.receive(sms)
        assert posted is not None
        return posted.message.sender

    caller = text("SM1")
    world.drain()
    world.chat(HUSAM, AHMAD, caller, chat_id="chat_2", respond="manual")
    world.app.chat_admin.remove_member(TENANT, "chat_2", HUSAM.ref, AHMAD.ref)
    link_number(world, AHMAD.id, PHONE)
    membership = world.membership(AHMAD, "chat_2")
    assert (membership.active, membership.formerly) == (True, (caller.id,))
    assert not world.membership(caller, "chat_2").active
    assert read_snapshot(world.table, TENANT, "chat_2").member(AHMAD.ref) == membership
    used = world.table.get(Allowance.key_of(TENANT, owner_of_user(AHMAD.id)))
    assert text("SM1").id == caller.id  # redelivered: recognised, and not counted
    assert world.table.get(Allowance.key_of(TENANT, owner_of_user(AHMAD.id))) == used
