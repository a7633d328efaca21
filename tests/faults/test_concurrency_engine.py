"""Threads that really race, on Amazon's own engine: it conflicts, refuses and serialises."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from skein.errors import RateLimited
from skein.models.chats.chat import Chat
from skein.models.common.address import phone_address
from skein.models.common.base import MemberRef
from skein.models.common.storage import Query, Update
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressChat
from skein.models.outbox.jobs import RunJob, SummaryJob, UpkeepJob
from skein.models.quotas.limit import DAY, Allowance
from skein.models.runs.completion import TokenUsage
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Owner
from skein.services.quotas.token_budget import TokenBudgets, payer_keys
from skein.services.runs.claim import Claim
from skein.services.runs.policy import WAIT_SECONDS
from tests.support.builders import NOON, TENANT, live, statuses
from tests.support.fakes import ScriptedModel, says
from tests.support.rivals import HUSAM, Rivals, at_once

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.engine


def few_or(many: int, *, few: int) -> pytest.MarkDecorator:
    """Let few of them race, and all in `make test-slow`."""
    return pytest.mark.parametrize("number", [few, pytest.param(many, marks=pytest.mark.slow)])


@pytest.fixture
def world(engine_client: "DynamoDBClient") -> Rivals:
    return Rivals(engine_client)


@few_or(50, few=16)
def test_writers_at_once_are_numbered_without_a_gap(world: Rivals, number: int) -> None:
    seqs = at_once(*[partial(world.say, f"Number {n}") for n in range(number)])
    assert sorted(seqs) == list(range(1, number + 1))
    assert [message.seq for message in world.messages(world.here)] == sorted(seqs)
    [run] = world.runs(world.here)
    slot = world.membership(world.coach, world.here).queued_run
    assert slot is not None
    assert (slot.run_id, slot.trigger.from_seq, slot.trigger.seq) == (run.id, 1, number)


@few_or(50, few=16)
def test_one_message_many_times_at_once_is_one_message(world: Rivals, number: int) -> None:
    seqs = at_once(*[lambda: world.say("Hello", "the same")] * number)
    assert seqs == [1] * number
    assert world.texts(world.here) == ["Hello"]
    assert world.stored_chat(world.here).last_seq == 1
    assert len(world.runs(world.here)) == 1


def test_first_texts_of_one_phone_at_once_make_one_person_and_one_chat(world: Rivals) -> None:
    line, phone = f"+1500{random.randrange(10**7):07d}", f"+1501{random.randrange(10**7):07d}"
    world.line(world.coach.id, line)

    def text(number: int) -> str:
        posted = world.app.sms_receiver.receive(
            InboundSms(
                account_sid="AC1",
                message_sid=f"SM{phone[1:]}{number}",  # the tests share the table
                sender=phone,
                recipient=line,
                body=f"Text {number}",
            )
        )
        assert posted is not None
        return posted.message.chat_id

    chats = at_once(*[partial(text, number) for number in range(8)])
    assert len(set(chats)) == 1
    messages = world.messages(chats[0])
    assert [message.seq for message in messages] == list(range(1, 9))
    assert len({message.sender.id for message in messages}) == 1
    pointer = world.table.get(AddressChat.key_of(TENANT, phone_address(phone), phone_address(line)))
    assert pointer is not None
    assert pointer["chat_id"] == chats[0]


def test_concurrent_claims_of_a_run_grant_one_lease(world: Rivals) -> None:
    world.say("Hello")
    [run] = world.runs(world.here)
    claims = at_once(*[lambda: world.claim(run)] * 20)
    [claim] = [claim for claim in claims if claim is not None]
    [stored] = world.runs(world.here)
    assert (stored.fence, stored.attempts, claim.run.fence) == (1, 1, 1)


@few_or(20, few=8)
def test_concurrent_messages_claims_and_ends_leave_at_most_one_running_and_one_queued_run(
    world: Rivals, number: int
) -> None:
    chance, held = random.Random(0), list[Claim]()

    def claim_all() -> list[Claim]:
        claims = [world.claim(run) for run in world.runs(world.here) if run.status == "queued"]
        return [claim for claim in claims if claim is not None]

    def end(claim: Claim) -> list[Claim]:
        world.app.completion.end(claim, "done")
        return []

    def say() -> list[Claim]:
        world.say("And another thing")
        return []

    for _ in range(number):
        completion = [partial(end, claim) for claim in held]
        deeds: list[Callable[[], list[Claim]]] = [
            *[say] * chance.randint(1, 3),
            *[claim_all] * chance.randint(0, 3),
            *completion,
        ]
        held = [claim for claims in at_once(*deeds) for claim in claims]
        check_slots(world, held)
    for claim in held:
        end(claim)
    world.work_off()
    answered = [
        range(run.trigger.from_seq or 0, (run.trigger.seq or 0) + 1)
        for run in world.runs(world.here)
    ]
    people = [m.seq for m in world.messages(world.here) if m.sender.kind == "user"]
    for seq in people:
        assert sum(seq in span for span in answered) == 1, f"msg:{seq} is answered not once"
    assert set(statuses(world.runs(world.here))) == {"done"}


def check_slots(world: Rivals, held: Sequence[Claim]) -> None:
    """At most one run is at work and at most one queued, and the slots name them."""
    runs = world.runs(world.here)
    running = [run.id for run in runs if run.status == "running"]
    queued = [run.id for run in runs if run.status == "queued"]
    membership = world.membership(world.coach, world.here)
    assert running == [claim.run.id for claim in held]
    assert running == ([membership.running_run] if membership.running_run else [])
    assert queued == ([membership.queued_run.run_id] if membership.queued_run else [])
    assert len(running) <= 1
    assert len(queued) <= 1


def test_a_reply_and_the_end_of_the_wait_at_once_resume_the_run_once(
    engine_client: "DynamoDBClient",
) -> None:
    model = ScriptedModel.saying(says("May I?", wait=True), default="[silence]")
    world = Rivals(engine_client, model)
    world.agent(world.coach.id, reply_mode="tools", history_format="timeline")
    world.say("Go on")
    world.run_ready()
    [run] = world.runs(world.here)
    assert run.status == "waiting", run
    world.clock.advance(WAIT_SECONDS + 1)

    def reply() -> None:
        world.say("Yes")

    def time_out() -> None:
        claim = world.claim(run)
        assert claim is None or claim.run.activation == 2

    at_once(reply, time_out, time_out, time_out)
    world.clock.advance(200)
    world.work_off()
    runs = world.runs(world.here)  # in no order: ids are random here
    [waited] = [other for other in runs if other.id == run.id]
    assert (waited.status, waited.activation) == ("done", 2)
    replied = waited.resumed is not None and waited.resumed.status == "reply"
    assert len(runs) == 1 or not replied, "the reply resumed the run and started another one"
    membership = world.membership(world.coach, world.here)
    assert (
        membership.wait,
        membership.running_run,
        membership.queued_run,
        membership.seen_seq,
    ) == (None,) * 3 + (3,)


@few_or(8, few=3)
def test_ticks_at_once_fire_a_plan_once(world: Rivals, number: int) -> None:
    owner = Owner(tenant=TENANT, agent_id=world.coach.id)
    world.app.plans.set(owner, "Report", "Post the numbers", run_after="1 minute")
    world.clock.advance(60)
    at_once(*[world.tick] * number)
    page = world.table.query(Query.under(f"{TENANT}#AGENT#{world.coach.id}", "RUN#"))
    [run] = [Run.from_item(item) for item in page.items]
    mine = [waiting.job for waiting in world.queues.waiting("turns")]
    assert [job for job in mine if isinstance(job, RunJob) and job.run_id == run.id] == [
        RunJob(tenant=TENANT, run_id=run.id, agent_id=world.coach.id)
    ]
    assert live(world.app.plans, owner.reach) == ()


@few_or(5, few=2)
def test_concurrent_messages_upkeep_and_summaries_lose_no_write(world: Rivals, number: int) -> None:
    of = {"tenant": TENANT, "chat_id": world.here}
    record, note = SummaryJob(**of), SummaryJob(**of, agent_id=world.coach.id)
    world.chat_elsewhere(HUSAM, world.coach)
    world.table.write(Update(Chat.key_of(TENANT, world.here), set={"respond": "manual"}))

    def say() -> None:
        world.say("And another thing")

    def keep() -> None:
        world.app.upkeep.keep(UpkeepJob(**of))

    def renew(job: SummaryJob) -> None:
        world.renew(job)

    renewals = [partial(renew, record), partial(renew, note)]
    cooldown = world.settings.summary_cooldown_seconds
    for _ in range(number):
        asked = len(world.model.summary_requests)
        at_once(*[say] * 6, *[keep] * 3, *renewals * 3)
        assert len(world.model.summary_requests) - asked <= len(renewals)
        world.clock.advance(cooldown)
    for _ in range(5):
        keep()
        world.run_ready()
        world.clock.advance(cooldown)
    chat, membership = world.stored_chat(world.here), world.membership(world.coach, world.here)
    assert [message.seq for message in world.messages(world.here)] == list(range(1, 6 * number + 1))
    assert chat.summary is not None
    assert membership.summary is not None
    assert (chat.last_seq, chat.summary.seq, membership.summary.seq) == (6 * number,) * 3
    assert (chat.upkeep_at, chat.listed_hour) == (None, chat.activity_hour)


def test_concurrent_messages_are_admitted_up_to_the_rate_limit(world: Rivals) -> None:
    user_id = f"usr_{uuid4().hex}"

    def let_in() -> bool:
        try:
            world.app.rate_limiter.admit(TENANT, user_id)
        except RateLimited:
            return False
        return True

    assert sum(at_once(*[let_in] * 25)) == world.settings.user_messages_per_minute


def test_tokens_of_two_concurrent_runs_are_all_charged(world: Rivals) -> None:
    world.say("Hello")
    [run] = world.runs(world.here)
    trigger = run.trigger.model_copy(update={"by": MemberRef(kind="user", id=f"usr_{uuid4().hex}")})
    run = run.model_copy(update={"trigger": trigger})
    accounts = [world.app.get(TokenBudgets).budget(run, {}, world.settings) for _ in range(10)]
    used = TokenUsage(input_tokens=90, output_tokens=10)
    at_once(*[partial(account.charge, used, ()) for account in accounts])
    [_, of_person] = payer_keys(run)
    item = world.table.get(of_person)
    assert item is not None
    full_at = Allowance.from_item(item).tokens_full_at
    assert full_at is not None
    tokens = (full_at - NOON) / DAY * world.settings.user_tokens_per_day
    assert 999 <= tokens <= 1_001
