"""The hit rate of the context cache comes from the metrics in a log, and has a goal."""

from bench.load.caches import hit_rate, told


def line(name: str, value: object) -> str:
    return f'2026-02-18 INFO {{"_aws": {{}}, "service": "skein", "{name}": {value}}}'


def test_hit_rate_is_the_share_of_hits() -> None:
    lines = [line("ContextCacheHits", "[6.0, 3.0]"), "ContextCacheHits?", line("Other", 5)]
    assert hit_rate([*lines, line("ContextCacheMisses", 1.0)]) == 0.9
    assert hit_rate(["nothing"]) is None


def test_hit_rate_is_reported_with_its_verdict() -> None:
    assert told(0.81) == "81.0%, pass"
    assert told(0.8) == "80.0%, FAIL"
    assert told(None) == "not measured"
