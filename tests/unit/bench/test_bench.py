"""The bench measures what it says it measures; its own code, on a chat of ten messages."""

from dataclasses import replace
from functools import partial

import pytest
from moto import mock_aws

from bench import caches, prefix
from bench.cost import Row, Turn, failed_row, measured, row_of, series
from bench.goals import CACHE_SHARE, RECALLED_TOKENS, Goal, Results, goals
from bench.prefix import LONG_PROMPT, conversation, shares
from bench.report import page, printed, table
from bench.starts.imports import cold_starts, modules
from bench.turns.engines import client_of, make_table
from bench.turns.fills import filled_by_batches, filled_by_transactions
from bench.turns.script import LENGTHS, SYSTEM_PROMPT, text
from bench.turns.scripted import FIRST_ANSWER
from bench.turns.skein_chat import Kind, SkeinChat, TurnFailedError
from bench.turns.skein_turns import Stopwatch, Talk
from bench.turns.stand import Stand
from bench.turns.vectors import IndexedTable
from bench.turns.visits import rows
from bench.turns.wire import SEARCH, Wire, WireCall, rounds, seconds_on_wire
from local.environment import CREDENTIALS
from skein.adapters.dynamodb.table import DynamoTable
from skein.models.common.prompt_caches import cache_rule_of
from skein.models.common.storage import Query
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.patterns.meter import Meter
from tests.patterns.visits import patterns
from tests.support.builders import NOON, tokens

MESSAGES = 10
RECALLABLE = 24  # messages, so that some are older than those that a prompt shows


def a_chat(kind: Kind = "direct") -> tuple[Stand, SkeinChat]:
    stand = Stand(MemoryTable, tokens())
    chat = SkeinChat(stand, kind=kind)
    chat.create(MESSAGES, filled_by_transactions(stand.table))
    return stand, chat


def call(begun: float, ended: float) -> WireCall:
    return WireCall("dynamodb.Query", begun, ended, sent=512, received=1_536, units=0.5)


def row(who: str, messages: int, calls: float) -> Row:
    return Row(who, messages, turns=1, calls=calls, rounds=1, sent_kib=1.0, by_name={"Query": 1})


@pytest.mark.parametrize("kind", ["direct", "group"])
@pytest.mark.parametrize("fresh", [True, False])
def test_turn_of_the_bench_shows_the_filled_messages(kind: Kind, *, fresh: bool) -> None:
    stand, chat = a_chat(kind)
    for _ in range(2):
        chat.check(chat.turn(fresh_worker=fresh))
        chat.rest()
    assert stand.model.last is not None
    prompt = "".join(message.content for message in stand.model.last.messages)
    told = [text(seq) for seq in range(1, MESSAGES + 4) if seq != MESSAGES + 2]
    assert all(one in prompt for one in told)
    assert text(FIRST_ANSWER + 1) in prompt


def test_stopwatch_times_reading_and_prompt_of_each_new_worker() -> None:
    watch = Stopwatch(Wire())
    stand = Stand(MemoryTable, tokens(), watched=watch.watch)
    chat = SkeinChat(stand, chat_id="chat_timed")
    chat.create(2, filled_by_transactions(stand.table))
    for _ in range(2):
        chat.check(chat.turn(fresh_worker=True))
        chat.rest()
    assert len(watch.reads) == len(watch.own_reads) == len(watch.builds) == 2
    assert watch.tokens > 0


def test_a_turn_that_is_no_whole_one_is_not_counted() -> None:
    _, chat = a_chat()
    job = chat.ask()
    with pytest.raises(TurnFailedError, match="should be done"):
        chat.check(job)


def test_a_filled_chat_is_as_the_same_chat_would_be_had_it_been_written() -> None:
    """What a turn reads is the same, whether its messages were filled in or posted."""
    sizes = []
    for filled in (MESSAGES, 0):
        stand = Stand(MemoryTable, tokens())
        chat = SkeinChat(stand)
        chat.create(filled, filled_by_transactions(stand.table))
        for _ in range((MESSAGES - filled) // 2 + 1):
            chat.check(chat.turn())
            chat.rest()
        assert isinstance(stand.table, MemoryTable)
        stand.table.log.clear()
        chat.check(chat.turn())
        sizes.append(sorted(call.method for call in stand.table.log))  # some are made at once
    assert sizes[0] == sizes[1]


def test_calls_that_overlap_are_one_round_and_take_their_time_once() -> None:
    together = [call(1.0, 2.0), call(1.5, 2.5), call(1.2, 1.9)]
    after = call(3.0, 3.5)
    assert rounds([*together, after]) == 2
    assert seconds_on_wire([after, *together]) == pytest.approx(2.0)
    assert rounds([]) == 0


@mock_aws
def test_wire_counts_the_requests_of_all_senders(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    client, wire = client_of(None), Wire()
    make_table(client, "skein")
    filled_by_batches(client, "skein")([{"pk": "a", "sk": "b", "text": "x" * 2_000}])
    wire.listen(client)
    found = DynamoTable(client, "skein", FixedClock(NOON)).query(Query("a"))
    [read] = wire.calls
    assert found.items[0]["text"] == "x" * 2_000
    assert read.name == "dynamodb.Query"
    assert read.received > 2_000 > read.sent > 100
    assert read.units > 0
    assert read.ended > read.begun


@mock_aws
def test_turn_on_dynamodb_recalls_by_searches_that_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    client, wire = client_of(None), Wire()
    make_table(client, "skein")
    wire.listen(client)
    stand = Stand(partial(IndexedTable, client, "skein"), tokens())
    chat = SkeinChat(stand)
    chat.create(RECALLABLE, filled_by_batches(client, "skein"))
    chat.index()
    turn = measured(wire, partial(chat.turn, fresh_worker=True))
    assert stand.model.last is not None
    assert any("RECALLED" in message.content for message in stand.model.last.messages)
    found = row_of("skein", RECALLABLE, [turn])
    assert (found.calls, found.searches) == (len(turn.calls) - 2, 2)
    # The other search is in the open scope, which is empty.
    assert sum(one.received > 1_000 for one in turn.calls if one.name == SEARCH) == 1


@mock_aws
def test_calls_of_a_visit_are_as_many_as_its_access_patterns_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    client, wire = client_of(None), Wire()
    make_table(client, "skein")
    wire.listen(client)
    found = list(rows(client, wire, "skein", visits=1))
    names = ("open a visit", "post the first message of a visit", "post a message of a visit")
    for row, name in zip(found, names, strict=True):
        meter = Meter()
        patterns[name](meter)
        assert meter.cost is not None
        assert (row.turns, row.calls) == (1, meter.cost.rounds)
    text = page(Results((), {}, {}, None, {}, (), visits=found), "now")
    assert "| visit opened | 5 | 5 |" in text


def test_each_turn_in_a_short_chat_is_made_in_one_of_its_own_length() -> None:
    wire, begun = Wire(), list[int]()
    stand = Stand(MemoryTable, tokens())

    def begin(messages: int, name: str) -> Talk:
        begun.append(messages)
        chat = SkeinChat(stand, chat_id=f"chat_{name}")
        chat.create(messages, filled_by_transactions(stand.table))
        return Talk(chat, fresh_worker=True)

    assert len(series(wire, MESSAGES, begin, turns=2, seconds=60)) == 2
    assert begun == [MESSAGES - 2] * 2
    assert len(series(wire, 200, begin, turns=4, seconds=0)) == 3
    assert begun[2:] == [198]


def test_a_row_holds_medians_and_the_least_rounds() -> None:
    turns = [
        Turn((call(0, 1), call(2, 3)), 0.3),
        Turn((call(0, 1), call(0, 1)), 0.1),
        Turn((call(0, 1), call(2, 3)), 0.2),
    ]
    found = row_of("skein", 10, turns)
    assert (found.calls, found.rounds, found.kib, found.units) == (2, 1, 4.0, 1.0)
    assert found.milliseconds == pytest.approx(200)


def test_units_of_reads_and_writes_and_the_bytes_of_searches_are_apart() -> None:
    calls = [
        WireCall("dynamodb.BatchGetItem", 0, 1, sent=10, received=20, units=3),
        WireCall("dynamodb.TransactWriteItems", 1, 2, sent=10, received=20, units=8),
        WireCall("dynamodb.SearchVectors", 2, 3, sent=10, received=2_048, units=0),
    ]
    found = row_of("skein", 1_000, [Turn(tuple(calls), 0.1)])
    assert (found.units, found.reads, found.writes, found.searched_kib) == (11, 3, 8, 2)


def test_turn_of_a_full_chat_has_goals_for_calls_units_and_bytes() -> None:
    cheap = replace(row("skein", 1_000, 14), units=90, received_kib=160)
    found = verdicts([replace(cheap, calls=15)])
    assert not found["calls of a turn at 1,000 messages: at most 14"].met
    assert found["units of a turn at 1,000 messages: at most 90"].met
    assert found["KiB received of a turn at 1,000 messages: at most 160"].met
    dear = verdicts([replace(cheap, units=90.5, received_kib=160.5)])
    assert not dear["units of a turn at 1,000 messages: at most 90"].met
    assert not dear["KiB received of a turn at 1,000 messages: at most 160"].met


def verdicts(rows: list[Row]) -> dict[str, Goal]:
    results = Results(rows, {}, {}, None, {}, ())
    return {goal.name: goal for goal in goals(results)}


def test_missed_goal_is_reported_as_failed() -> None:
    ours = [row("skein", messages, 10) for messages in LENGTHS]
    more = [row("langchain", messages, 3) for messages in LENGTHS]
    found = verdicts([*ours, *more])["fewer calls a turn than langchain at every length"]
    assert (found.met, found.verdict) == (False, "FAIL")


def test_failed_peer_is_reported_and_fails_no_goal() -> None:
    ours = [row("skein", messages, 10) for messages in LENGTHS]
    theirs = [row("langgraph", messages, 15) for messages in LENGTHS[:-1]]
    failed = failed_row("langgraph", LENGTHS[-1], ValueError("too\nlarge"))
    found = verdicts([*ours, *theirs, failed])["fewer calls a turn than langgraph at every length"]
    assert found.met
    assert "100,000: 10, they fail" in found.found
    assert "fails: ValueError: too large" in printed(table([failed, *ours]))


def test_goal_without_measurement_fails() -> None:
    assert not any(goal.met for goal in verdicts([]).values())
    assert "not measured" in page(Results([], {}, {}, None, {}, ("all of it",)), "-")


def test_shares_of_a_prompt_count_the_common_prefix() -> None:
    asked = conversation("direct", LONG_PROMPT, tokens(), turns=3)
    found = shares(asked, tokens())
    assert 0 <= found["openai"] <= found["ideal"] < 1
    assert found["ideal"] > 0
    same = shares([asked[-1], asked[-1]], tokens())
    assert same["ideal"] == 1


def test_small_talk_recalls_nothing_and_lowers_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix, "ROUNDS", 1)
    asked, *small_talk = recalled = prefix.recalled_tokens(tokens())
    assert asked[0] > RECALLED_TOKENS
    assert small_talk == [[0], [0], [0]]
    found = goals(Results([], {}, {}, None, {}, (), recalled=recalled))[-1]
    assert found.met
    assert not goals(Results([], {}, {}, None, {}, (), recalled=[asked] * 4))[-1].met


def test_imports_are_those_of_the_functions_that_are_deployed() -> None:
    assert {"sms_webhook", "run_worker"} <= set(modules())
    [start] = cold_starts(["sms_status"], times=1).values()
    assert start.import_ms > 1
    assert start.event_ms > 1
    assert "skein.services.delivery.state" in start.in_all


def test_prompts_of_an_indexed_conversation_have_recalled_messages() -> None:
    names = []
    for indexed in (False, True):
        asked = conversation("direct", SYSTEM_PROMPT, tokens(), turns=14, indexed=indexed)
        names.append({section.name for one in asked for section in one.prompt.sections})
    assert names[1] - names[0] == {"RECALLED"}


def test_share_of_the_token_limit_must_be_under_40_percent() -> None:
    found = Results([], {}, {}, None, {}, [], limit_shares={"a line": 0.2, "a group": 0.4})
    told = {goal.name: goal.met for goal in goals(found) if "token limit" in goal.name}
    assert [*told.values()] == [True, False]
    unmeasured = goals(Results([], {}, {}, None, {}, []))
    assert [goal.met for goal in unmeasured if "token limit" in goal.name] == [None]


def test_cache_serves_a_quick_conversation_and_costs_a_slow_one_nothing() -> None:
    requests = [one.request for one in conversation("direct", LONG_PROMPT, tokens(), turns=20)]
    found = caches.measured(requests, caches.assumed_gaps(), tokens())
    claude, nova = found["Claude Sonnet 4.5"], found["Nova Lite"]
    assert claude.allowed
    assert claude.read > CACHE_SHARE
    assert nova.cost < claude.cost < 1  # Nova writes without a premium
    assert claude.slow < 1.1  # the first turns do not know the pace yet
    assert not found["Claude Haiku 4.5"].allowed
    results = Results([], {}, {}, None, {}, [], caches={"a long prompt": found})
    met = {goal.name: goal.met for goal in goals(results) if "cache of" in goal.name}
    assert len(met) == len([one for one in found.values() if one.allowed])


def test_point_that_costs_more_than_it_saves_is_not_set() -> None:
    rule = cache_rule_of("anthropic.claude-sonnet-4-5-20250929-v1:0")
    hours, minutes = [7_200.0] * 9, [60.0] * 9
    assert rule.pays(minutes)
    assert not rule.pays(hours)
    assert rule.pays(hours[:3])  # too few to tell
    assert rule.pays([*hours[:7], *minutes[:2]])  # 22 % pay for the premium
    assert cache_rule_of("amazon.nova-lite-v1:0").pays([60.0, *hours])  # writes without a premium
