"""Limits on messages that people send, and on tokens that models spend for them."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.errors import Ambiguous, RateLimited
from skein.models.chats.chat import Message
from skein.models.common.storage import Put, Query, Write
from skein.models.config.overrides import TenantSettings
from skein.models.delivery.sms import InboundSms
from skein.models.quotas.limit import DAY, MINUTE, Allowance, Rate, owner_of_shard, owner_of_user
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Owner
from skein.services.chats.post_message import NewMessage, PostedMessage
from skein.services.quotas.rate_limits import Rates
from skein.services.replies.user_notices import in_words
from skein.settings import Settings
from tests.support.agents import COACH, DESIGNER, HUSAM, rival, the_run
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, statuses
from tests.support.fakes import MeanwhileTable, calls

QUICK = {"reply_debounce_seconds": 0}

# Background work is charged to the same people; see test_usage.py.
ANSWERS_ONLY: dict[str, Any] = {"auto_summary": False, "auto_title": False}


def a_world(**settings: int) -> World:
    world = World(Settings(**(ANSWERS_ONLY | settings)), overrides={"table": MeanwhileTable()})
    world.table = rival(world)
    return world


def tenant_says(world: World, **limits: int) -> None:
    settings = TenantSettings(tenant=TENANT, settings=limits, changed_at=NOON)
    world.table.write(Put(settings.key, settings.to_item()))


def let_in(world: World, times: int, user_id: str = "usr_husam") -> int:
    """How many of so many messages are let in."""
    admitted = 0
    for _ in range(times):
        try:
            world.app.rate_limiter.admit(TENANT, user_id)
            admitted += 1
        except RateLimited:
            pass
    return admitted


def allowance(world: World, user_id: str = "usr_husam") -> Allowance:
    item = world.table.get(Allowance.key_of(TENANT, owner_of_user(user_id)))
    assert item is not None
    return Allowance.from_item(item)


# ---------------------------------------------------------------------- the bucket


@given(
    size=st.integers(1, 50),
    steps=st.lists(st.tuples(st.floats(0, 90), st.integers(1, 5)), max_size=60),
)
def test_bucket_never_gives_more_than_its_size_and_refill(
    size: int, steps: list[tuple[float, int]]
) -> None:
    rate, now, full_at, given_out = Rate(size, MINUTE), NOON, None, 0
    for seconds, wanted in steps:
        now += timedelta(seconds=seconds)
        if not rate.waiting(full_at, wanted, now):
            full_at, given_out = rate.after(full_at, wanted, now), given_out + wanted
        assert given_out <= size + size * (now - NOON) / MINUTE + 1e-3


@given(size=st.integers(1, 50), taken=st.integers(0, 200), wanted=st.integers(1, 50))
def test_bucket_holds_the_wanted_tokens_exactly_after_the_wait(
    size: int, taken: int, wanted: int
) -> None:
    rate = Rate(size, MINUTE)
    full_at = rate.after(None, taken, NOON)
    wait = rate.waiting(full_at, wanted, NOON)
    if wanted <= size:
        assert not rate.waiting(full_at, wanted, NOON + wait)
    if wait > timedelta(milliseconds=1):
        assert rate.waiting(full_at, wanted, NOON + wait - timedelta(milliseconds=1))


def test_rate_of_zero_is_unlimited() -> None:
    assert not Rate(0, DAY).limited
    assert not Rate(0, DAY).waiting(NOON + 10 * DAY, 5, NOON)


# ---------------------------------------------------------------------- messages


def test_twenty_messages_a_minute_are_let_in_and_three_seconds_later_one_more() -> None:
    world = World()
    assert let_in(world, 25) == 20
    with pytest.raises(RateLimited) as refused:
        world.app.rate_limiter.admit(TENANT, "usr_husam")
    assert refused.value.retry_after_seconds == 3
    world.clock.advance(refused.value.retry_after_seconds)
    assert let_in(world, 2) == 1
    world.clock.advance(600)
    assert let_in(world, 25) == 20
    assert let_in(world, 1, "usr_ahmad") == 1
    assert world.metrics.counts["OverLimit"] == 5 + 1 + 1 + 5


@given(st.integers(1, 60))
def test_request_after_retry_after_is_admitted(size: int) -> None:
    world = a_world(user_messages_per_minute=size)
    assert let_in(world, size) == size
    for _ in range(3):
        with pytest.raises(RateLimited) as refused:
            world.app.rate_limiter.admit(TENANT, "usr_husam")
        world.clock.advance(refused.value.retry_after_seconds)
        assert let_in(world, 1) == 1


def test_request_without_a_message_is_counted_by_one_conditional_write() -> None:
    world = World()
    world.table.log.clear()
    world.app.rate_limiter.admit(TENANT, "usr_husam")
    assert [call.method for call in world.table.log] == ["get_many", "write"]


def test_concurrent_messages_are_counted_exactly() -> None:
    world = World()
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda _: let_in(world, 5), range(8)))
    slept = sum(world.clock.slept)  # those who lose a race give way, and the clock goes on
    assert 20 <= sum(counts) <= 20 + slept / 3 + 1


def test_a_count_that_meets_another_one_is_made_on_top_of_it() -> None:
    world = a_world(user_messages_per_minute=2)
    other = Allowance(tenant=TENANT, owner=owner_of_user("usr_husam"))
    really = world.table.write
    met: list[int] = []

    def meets(write: Write) -> None:
        if not met:
            met.append(1)
            full_at = NOON + timedelta(seconds=30)
            really(other.changed(NOON, messages_full_at=full_at)[1])
        really(write)

    world.table.write = meets  # type: ignore[method-assign]
    assert let_in(world, 3) == 1
    assert met == [1]


@pytest.mark.parametrize("counted", [True, False])
def test_message_is_admitted_when_the_counting_write_is_ambiguous(*, counted: bool) -> None:
    world = a_world(user_messages_per_minute=2)
    really = world.table.write

    def unclear(write: Write) -> None:
        world.table.write = really  # type: ignore[method-assign]
        if counted:
            really(write)
        raise Ambiguous("no answer")

    world.table.write = unclear  # type: ignore[method-assign]
    assert let_in(world, 4) == (2 if counted else 3)


@pytest.mark.parametrize("days", [1, 2, 400])
def test_request_is_admitted_while_expired_bucket_is_still_stored(days: int) -> None:
    world = World()
    assert let_in(world, 25) == 20
    world.clock.advance(days * 86_400 + 60)
    assert let_in(world, 25) == 20
    assert world.app.rate_limiter.admit_inbound(TENANT, "usr_husam") is not None
    world.clock.advance(days * 86_400 + 60)
    assert world.app.rate_limiter.admit_inbound(TENANT, "usr_husam") is None
    assert not world.clock.slept


def test_expired_buckets_of_a_tenant_start_full() -> None:
    world = World()
    tenant_says(world, tenant_messages_per_minute=6)
    assert let_in(world, 9) == 6
    world.clock.advance(2 * 86_400)
    assert let_in(world, 9) == 6


def test_a_tenant_may_set_its_own_limits_and_take_them_away() -> None:
    world = World()
    tenant_says(world, user_messages_per_minute=3)
    assert let_in(world, 5) == 3
    tenant_says(world, user_messages_per_minute=0)
    assert let_in(world, 50) == 50


def test_all_people_of_a_tenant_share_the_tenants_limit() -> None:
    world = World()
    tenant_says(world, tenant_messages_per_minute=6)
    assert sum(let_in(world, 3, f"usr_{n}") for n in range(4)) == 6
    assert let_in(world, 1, "usr_9") == 0
    world.clock.advance(60)
    assert let_in(world, 9, "usr_9") == 6


def test_refused_person_takes_nothing_from_the_tenants_bucket() -> None:
    world = World()
    tenant_says(world, tenant_messages_per_minute=30)
    assert let_in(world, 100) == 20
    assert let_in(world, 100, "usr_ahmad") == 10


def test_a_large_tenant_is_counted_in_several_items_that_share_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates = Rates(Rate(60_000, MINUTE), Rate(0, DAY))
    assert rates.shards == 16
    assert rates.of_shard.messages.size * rates.shards == 60_000
    monkeypatch.setattr("skein.services.quotas.rate_limits.SHARD_MESSAGES", 100)
    world = World(Settings(user_messages_per_minute=0))
    tenant_says(world, tenant_messages_per_minute=200)
    admitted = 0
    for n in range(260):
        world.clock.advance(0.001)
        admitted += let_in(world, 1, f"usr_{n}")
    keys = {key.pk for key in world.table.all_keys() if "#LIMIT#all:" in key.pk}
    assert len(keys) == 2
    assert 180 <= admitted <= 200 + 2


# ---------------------------------------------------------------------- texts


def text(world: World, body: str = "Hi", sid: str | None = None) -> Message:
    posted = world.app.sms_receiver.receive(
        InboundSms(
            account_sid="AC1",
            message_sid=sid or f"SM{world.ids.ulid()}",
            sender=PHONE,
            recipient=LINE,
            body=body,
        )
    )
    assert posted is not None
    return posted.message


def on_a_line(**settings: int) -> World:
    world = a_world(**(QUICK | settings))
    world.agent()
    world.line()
    return world


def notices(world: World, chat_id: str) -> list[str]:
    return [m.text for m in world.messages(chat_id) if m.kind == "notice"]


def test_over_the_limit_there_is_one_notice_and_then_silence_until_it_refills() -> None:
    world = on_a_line(user_messages_per_minute=3)
    chat_id = text(world).chat_id
    for n in range(7):
        text(world, f"Text {n}")
    world.run_ready()
    said = [m.text for m in world.messages(chat_id) if m.sender.kind == "agent"]
    assert sorted(said) == sorted([*notices(world, chat_id), "Hello!"])
    assert len(notices(world, chat_id)) == 1
    assert "about a minute" in notices(world, chat_id)[0]
    assert sorted(world.sms.bodies) == sorted(said)
    for n in range(5):
        world.clock.advance(11)
        text(world, f"Quiet {n}")
        world.run_ready()
    assert len(world.sms.bodies) == 2  # silence, though the bucket holds a little
    world.clock.advance(6)
    asked = text(world, "Are you back?")
    world.run_ready()
    assert len(world.sms.bodies) == 3
    assert "Quiet 4" in "\n".join(m.content for m in world.model.requests[-1].messages)
    assert world.membership(COACH, chat_id).seen_seq >= asked.seq


def test_each_time_over_the_limit_has_its_own_notice() -> None:
    world = on_a_line(user_messages_per_minute=1)
    for _ in range(3):
        chat_id = text(world).chat_id
        text(world)
        world.clock.advance(60)
    assert len(notices(world, chat_id)) == 3


def test_sms_over_the_limit_is_stored_and_starts_no_run() -> None:
    world = on_a_line(user_messages_per_minute=1)
    first = text(world, "One")
    second = text(world, "Two", sid="SM2")
    assert text(world, "Two", sid="SM2") == second
    assert [m.text for m in world.messages(first.chat_id)][:2] == ["One", "Two"]
    slot = world.membership(COACH, first.chat_id).queued_run
    assert slot is not None
    assert slot.trigger.seq == first.seq
    assert len(notices(world, first.chat_id)) == 1


def test_redelivered_text_within_the_limit_takes_nothing_from_it() -> None:
    world = on_a_line(user_messages_per_minute=2)
    first = text(world, "One", sid="SM1")
    for _ in range(5):
        assert text(world, "One", sid="SM1") == first
    slot = text(world, "Two").seq
    queued = world.membership(COACH, first.chat_id).queued_run
    assert queued is not None
    assert queued.trigger.seq == slot
    assert notices(world, first.chat_id) == []
    assert "OverLimit" not in world.metrics.counts


@pytest.mark.parametrize("over", [False, True], ids=["bucket empty", "known to be over"])
def test_redelivered_text_from_before_the_limit_causes_no_notice(over: bool) -> None:
    world = on_a_line(user_messages_per_minute=1)
    first = text(world, "One", sid="SM1")
    if over:
        world.clock.advance(1)
        text(world, "Two")
        told = allowance(world, first.sender.id)
        world.table.write(
            told.changed(
                world.clock.now(), over=told.over and told.over.model_copy(update={"notified": ()})
            )[1]
        )
    before = notices(world, first.chat_id)
    world.run_ready()
    count = len(world.messages(first.chat_id))
    assert text(world, "One", sid="SM1") == first
    assert notices(world, first.chat_id) == before
    assert len(world.messages(first.chat_id)) == count


def test_message_that_the_app_sends_again_takes_nothing_from_the_limit() -> None:
    world = World(Settings(user_messages_per_minute=2))
    world.agent()
    world.chat(HUSAM, COACH)

    def post(client_id: str) -> PostedMessage:
        return world.app.app_messages.post(
            NewMessage(
                tenant=TENANT, chat_id="chat_1", sender=HUSAM.ref, text="Hi", client_id=client_id
            )
        )

    first = post("a")
    assert all(post("a") == (first.message, False) for _ in range(5))
    assert post("b").created
    with pytest.raises(RateLimited):
        post("c")


def app_message(client_id: str, chat_id: str = "chat_1") -> NewMessage:
    return NewMessage(
        tenant=TENANT, chat_id=chat_id, sender=HUSAM.ref, text="Hi", client_id=client_id
    )


def test_message_of_the_app_and_its_charge_are_one_transaction() -> None:
    world = World(Settings(user_messages_per_minute=2))
    world.agent()
    world.chat(HUSAM, COACH)
    world.table.log.clear()
    world.app.app_messages.post(app_message("a"))
    assert [call.method for call in world.table.log] == ["query", "get_many", "transact"]
    assert allowance(world).messages_full_at == NOON + timedelta(seconds=30)


def test_app_message_over_the_tenant_limit_is_refused_and_charges_no_person() -> None:
    world = a_world(user_messages_per_minute=5, tenant_messages_per_minute=2)
    world.agent()
    world.chat(HUSAM, COACH)
    for client_id in "ab":
        world.app.app_messages.post(app_message(client_id))
    before = allowance(world)
    with pytest.raises(RateLimited):
        world.app.app_messages.post(app_message("c"))
    assert len(world.messages()) == 2
    assert allowance(world) == before


def test_messages_of_one_person_in_two_chats_at_once_are_both_charged() -> None:
    world = a_world(user_messages_per_minute=2, tenant_messages_per_minute=10)
    world.agent()
    for chat_id in ("chat_1", "chat_2"):
        world.chat(HUSAM, COACH, chat_id=chat_id)
    meanwhile = app_message("b", "chat_2")
    rival(world).before = ("MSG#", lambda: world.app.app_messages.post(meanwhile))
    assert world.app.app_messages.post(app_message("a")).created
    assert allowance(world).messages_full_at == NOON + MINUTE
    shared = world.table.get(Allowance.key_of(TENANT, owner_of_shard(0)))
    assert shared is not None
    assert Allowance.from_item(shared).messages_full_at == NOON + 2 * MINUTE / 10
    with pytest.raises(RateLimited):
        world.app.app_messages.post(app_message("c"))


def test_two_texts_that_go_over_the_limit_at_once_give_one_notice() -> None:
    world = on_a_line(user_messages_per_minute=1)
    chat_id = text(world, "One").chat_id
    rival(world).before = ("MSG#", lambda: text(world, "Three"))
    text(world, "Two")
    assert len(notices(world, chat_id)) == 1
    assert allowance(world, world.messages(chat_id)[0].sender.id).over is not None


def test_opted_out_person_gets_no_limit_notice_by_sms() -> None:
    world = on_a_line(user_messages_per_minute=1)
    text(world)
    text(world, "STOP")
    text(world)
    world.run_ready()
    assert world.sms.bodies == []


# ---------------------------------------------------------------------- tokens


def spent(world: World, tokens: int, user_id: str = "usr_husam") -> None:
    """Let a person have used so many of 100 tokens a day."""
    full_at = Rate(100, DAY).after(None, tokens, world.clock.now())
    owner = owner_of_user(user_id)
    known = Allowance.from_optional(world.table.get(Allowance.key_of(TENANT, owner)), TENANT, owner)
    world.table.write(known.changed(world.clock.now(), tokens_full_at=full_at)[1])


def asked_directly(**fields: Any) -> World:
    world = a_world(user_tokens_per_day=100)
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private", **fields)
    return world


def test_answer_tokens_are_charged_to_the_person_who_asked() -> None:
    world = asked_directly()
    world.post("Hi", HUSAM)
    world.drain()
    left = allowance(world).tokens_full_at
    assert left is not None
    used = (left - world.clock.now()) / DAY * 100
    assert 14.9 < used <= 15.1


def test_answer_after_days_is_charged_to_the_returning_person() -> None:
    world = World(Settings(user_tokens_per_day=100, **ANSWERS_ONLY))
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    for _ in range(2):
        world.clock.advance(2 * 86_400 + 60)
        world.post("Hi", HUSAM)
        world.drain()
        left = allowance(world).tokens_full_at
        assert left is not None
        assert 14.9 < (left - world.clock.now()) / DAY * 100 <= 15.1


def test_person_without_tokens_triggers_no_model_call() -> None:
    world = asked_directly()
    spent(world, 100)
    world.post("Hi", HUSAM)
    world.drain()
    assert not world.model.requests
    run = the_run(world)
    assert run.status == "canceled"
    assert run.error == "over a limit: the daily token limit is used up"
    assert world.membership(COACH).running_run is None
    assert world.membership(COACH).seen_seq == 0
    [notice] = notices(world, "chat_1")
    assert "24 hours" in notice
    world.post("Hello?", HUSAM)
    world.drain()
    assert notices(world, "chat_1") == [notice]
    world.clock.advance(3600)
    world.post("And now?", HUSAM)
    world.drain()
    assert world.texts()[-1] == "Hello!"
    assert world.metrics.counts["OverLimit"] == 2


def test_overdrawn_person_is_admitted_after_the_bucket_is_positive() -> None:
    world = World(Settings(user_tokens_per_day=100, **ANSWERS_ONLY))
    spent(world, 150)
    with pytest.raises(RateLimited) as refused:
        world.app.rate_limiter.admit(TENANT, "usr_husam")
    assert refused.value.retry_after_seconds == 0.51 * 24 * 3600
    world.clock.advance(refused.value.retry_after_seconds - 1)
    assert let_in(world, 1) == 0
    world.clock.advance(1)
    assert let_in(world, 1) == 1


def test_a_run_stops_between_two_steps_once_the_tokens_are_spent() -> None:
    world = asked_directly()
    world.agent(reply_mode="tools", enabled_tools=("get_my_runs", "send_message"))
    world.model.default = calls("get_my_runs")
    spent(world, 60)
    world.post("Hi", HUSAM)
    world.drain()
    assert len(world.model.requests) == 3
    assert the_run(world).status == "canceled"


def test_limited_run_in_a_group_is_canceled_without_a_notice() -> None:
    world = a_world(user_tokens_per_day=100)
    world.agent()
    world.chat(HUSAM, COACH)
    spent(world, 100)
    world.post("Hi", HUSAM)
    world.drain()
    assert statuses(world.runs()) == ["canceled"]
    assert world.texts() == ["Hi"]


@pytest.mark.parametrize("of_a_person", [0, 10_000])
def test_used_up_tenant_tokens_stop_all_runs_of_the_tenant(of_a_person: int) -> None:
    world = asked_directly()
    tenant_says(world, tenant_tokens_per_day=40, user_tokens_per_day=of_a_person)
    for n in range(4):
        world.post(f"Message {n}", HUSAM)
        world.drain()
    assert len(world.model.requests) == 3
    assert statuses(world.runs()) == ["done", "done", "done", "canceled"]


def test_run_without_requesting_person_is_charged_to_no_person() -> None:
    world = asked_directly()
    spent(world, 100)
    world.agent(DESIGNER.id, DESIGNER.name)
    world.chat(COACH, DESIGNER, chat_id="chat_3")
    world.post("Hi", COACH, chat_id="chat_3")
    world.drain()
    assert len(world.model.requests) > 0
    assert set(statuses(world.runs("chat_3"))) == {"done"}


def test_on_sms_there_is_one_notice_for_spent_tokens_then_silence_for_as_long() -> None:
    world = on_a_line(user_tokens_per_day=20)
    chat_id = text(world).chat_id
    world.run_ready()
    text(world)
    world.run_ready()
    assert len(world.model.requests) == 2  # the second overdraws
    for _ in range(5):
        text(world)
        world.run_ready()
        world.clock.advance(3600)
    assert len(notices(world, chat_id)) == 1
    assert len(world.model.requests) == 2
    user_id = world.messages(chat_id)[0].sender.id
    over = allowance(world, user_id).over
    assert over is not None
    assert over.what == "tokens"
    world.clock.set(over.until + timedelta(seconds=1))
    text(world)
    world.run_ready()
    assert len(world.model.requests) == 3


def test_a_charge_that_meets_another_one_adds_to_it() -> None:
    world = asked_directly()

    def meanwhile(_: ModelRequest) -> str:
        spent(world, 50)
        return "Hello!"

    world.model.default = meanwhile
    world.post("Hi", HUSAM)
    world.drain()
    left = allowance(world).tokens_full_at
    assert left is not None
    assert 64 < (left - world.clock.now()) / DAY * 100 <= 65.1


def test_allowance_item_expires_after_its_longest_period() -> None:
    world = World()
    let_in(world, 1)
    item = world.table.get(Allowance.key_of(TENANT, owner_of_user("usr_husam")))
    assert item is not None
    assert datetime.fromtimestamp(item["expires_at"], NOON.tzinfo) >= NOON + DAY


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "a minute"),
        (61, "2 minutes"),
        (3540, "59 minutes"),
        (3600, "an hour"),
        (3601, "2 hours"),
    ],
)
def test_duration_is_written_in_words(seconds: int, words: str) -> None:
    assert in_words(timedelta(seconds=seconds)) == words


# ---------------------------------------------------------------------- who is charged


def tokens_of(world: World, owner: str) -> float:
    """How many tokens a person's bucket has given."""
    item = world.table.get(Allowance.key_of(TENANT, owner))
    full_at = Allowance.from_item(item).tokens_full_at if item else None
    return Rate(world.settings.user_tokens_per_day, DAY).used(full_at, world.clock.now())


def with_a_plan(set_by: str | None, **settings: int) -> World:
    world = World(Settings(**settings))
    world.agent()
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    world.app.plans.set(owner, "Daily", "Do it", run_after="1 minute", set_by=set_by)
    return world


def plan_runs(world: World) -> list[Run]:
    page = world.table.query(Query.under(f"{TENANT}#AGENT#{COACH.id}", "RUN#"))
    return [Run.from_item(item) for item in page.items if "#STEP#" not in item["sk"]]


@pytest.mark.parametrize(("set_by", "charged"), [("usr_husam", 15), (None, 0)])
def test_run_of_a_plan_is_charged_to_the_person_who_set_it(
    set_by: str | None, charged: int
) -> None:
    world = with_a_plan(set_by)
    world.clock.advance(60)
    world.tick()
    world.drain()
    assert statuses(plan_runs(world)) == ["done"]
    assert tokens_of(world, owner_of_user("usr_husam")) == pytest.approx(charged, abs=1)
    assert world.table.get(Allowance.key_of(TENANT, owner_of_shard(0))) is not None


def test_run_of_a_plan_over_the_limit_is_canceled_with_a_reason_and_no_notice() -> None:
    world = with_a_plan("usr_husam", user_tokens_per_day=100)
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.clock.advance(60)
    spent(world, 100)
    world.tick()
    world.drain()
    [run] = plan_runs(world)
    assert (run.status, run.error) == (
        "canceled",
        "over a limit: the daily token limit is used up",
    )
    assert not world.model.requests
    assert world.messages() == []
    for _ in range(5):
        world.clock.advance(60)
        assert world.tick() == 0


def test_runs_between_agents_are_charged_to_the_traced_person() -> None:
    world = World(Settings(user_tokens_per_day=10_000, **ANSWERS_ONLY))
    world.agent()
    world.agent(DESIGNER.id, DESIGNER.name)
    world.chat(HUSAM, COACH, DESIGNER)
    world.post("Discuss", HUSAM)
    world.drain()
    answers = len(world.model.requests)
    assert answers > 4
    assert any(run.chain_depth > 1 for run in world.runs())
    used = sum(run.usage.input_tokens + run.usage.output_tokens for run in world.runs())
    assert tokens_of(world, owner_of_user(HUSAM.id)) == pytest.approx(used, abs=5)


def test_chatter_ends_once_the_person_it_traces_back_to_is_over_the_limit() -> None:
    world = World(Settings(user_tokens_per_day=40, **ANSWERS_ONLY))
    world.agent()
    world.agent(DESIGNER.id, DESIGNER.name)
    world.chat(HUSAM, COACH, DESIGNER)
    world.post("Discuss", HUSAM)
    world.drain()
    assert len(world.model.requests) <= 4
    assert {run.status for run in world.runs()} == {"done", "canceled"}
    assert notices(world, "chat_1") == []


def test_tenant_that_uses_80_percent_of_its_limit_is_reported_once() -> None:
    world = asked_directly()
    tenant_says(world, tenant_tokens_per_day=100, user_tokens_per_day=0)
    for n in range(7):
        world.post(f"Message {n}", HUSAM)
        world.drain()
        expected = 1 if n >= 5 else 0
        assert world.metrics.counts["TenantTokensNearLimit"] == expected


def test_tenant_token_limit_has_a_default_and_stops_runs() -> None:
    assert Settings().tenant_tokens_per_day == 20_000_000
    world = World(Settings(user_tokens_per_day=0, tenant_tokens_per_day=40))
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    for n in range(4):
        world.post(f"Message {n}", HUSAM)
        world.drain()
    assert statuses(world.runs()) == ["done", "done", "done", "canceled"]
