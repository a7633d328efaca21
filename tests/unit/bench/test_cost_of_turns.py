"""What one turn in a chat of 1,000 messages costs at most, by DynamoDB's rules."""

from collections import Counter

from bench.cost import KIB
from bench.goals import FULL, TURN_CALLS
from bench.keys import KeyedTable, ignore
from bench.turns.fills import filled_by_transactions
from bench.turns.skein_chat import SkeinChat
from bench.turns.stand import Stand
from tests.support.builders import tokens

INDEXED = 200  # messages; a search returns 100 passages
SEARCHES = 2
READS = frozenset({"get", "get_many", "get_many_eventual", "query", "query_index"})
# Reads count missing items, and writes count each item of a transaction twice. DynamoDB Local, by
# which bench/results.md counts, does neither.
READ_UNITS, WRITE_UNITS, READ_KIB = 69.5, 51, 40


class Meter:
    """Counts the units of a table by kind."""

    def __init__(self) -> None:
        self.units = {"read": 0.0, "write": 0.0}

    def told(self, _pk: str, kind: str, units: float) -> None:
        """Count units of a key."""
        self.units[kind] += units


def test_turn_in_a_full_chat_has_a_maximum_of_calls_bytes_and_units() -> None:
    stand, meter = Stand(KeyedTable, tokens()), Meter()
    table, chat = stand.table, SkeinChat(stand)
    assert isinstance(table, KeyedTable)
    chat.create(FULL - 2, filled_by_transactions(table))
    chat.index(last_seq=INDEXED)
    chat.check(chat.turn(fresh_worker=True))
    chat.rest()
    table.log.clear()
    table.told = meter.told
    job = chat.turn(fresh_worker=True)
    calls, table.told = [*table.log], ignore
    chat.check(job)
    methods = Counter(call.method for call in calls)
    assert methods["nearest"] == SEARCHES
    assert len(calls) - SEARCHES <= TURN_CALLS
    assert sum(call.bytes for call in calls if call.method in READS) <= READ_KIB * KIB
    assert meter.units["read"] <= READ_UNITS
    assert meter.units["write"] <= WRITE_UNITS
