"""The hit rate of the context cache comes from the metrics in a log, and has a goal."""

from bench.load.caches import Lookups, lookups, told


def line(name: str, value: object) -> str:
    return f'2026-02-18 INFO {{"_aws": {{}}, "service": "skein", "{name}": {value}}}'


def test_hit_rate_is_the_share_of_hits() -> None:
    lines = [line("ContextCacheHits", "[6.0, 3.0]"), "ContextCacheHits?", line("Other", 5)]
    assert lookups([*lines, line("ContextCacheMisses", 1.0)]).rate == 0.9
    assert lookups(["nothing"]).rate is None


def test_misses_are_told_apart_by_their_cause() -> None:
    lines = [line("ContextCacheHits", 9.0), line("ContextCacheMisses", "[4.0, 2.0]")]
    found = lookups([*lines, line("ContextCacheAbsent", 5.0)])
    assert found == Lookups(hits=9, absent=5, outdated=1)
    assert found.rate == 0.6
    assert found.active_rate == 0.9


def test_hit_rate_is_reported_with_its_verdict() -> None:
    assert told(Lookups(81, 90, 19))[0][-1] == "81.0%, pass"
    assert told(Lookups(80, 0, 20))[0][-1] == "80.0%, FAIL"
    assert [row[-1] for row in told(Lookups(80, 15, 5))] == ["94.1%, pass", "80.0%", "15", "5"]
    assert told(Lookups(0, 15, 0))[0][-1] == "no active conversation"
    assert [row[-1] for row in told(None)] == ["not measured"]
