"""A few people for a few seconds while everything fails, so that `make load` can be relied on."""

from pathlib import Path

from bench.load.report import checks, failures, figures, page
from bench.load.run import Plan, carry_out

PLAN = Plan(
    phones=4,
    users=3,
    seconds=4.0,
    pause_seconds=1.0,
    faults=True,
    seed=7,
    threads=True,
    patience_seconds=3.0,
    kill_seconds=1.5,
    sizes={"door": 2, "worker": 3},
    settings={"SKEIN_AUTO_SUMMARY": "false"},  # which would be due a quarter of an hour later
)


def test_nothing_is_lost_or_doubled_while_everything_fails(tmp_path: Path) -> None:
    outcome = carry_out(PLAN, tmp_path)
    wrong = {verdict.check: verdict.wrong for verdict in outcome.verdicts if not verdict.holds}
    assert wrong == {}
    assert outcome.found.acknowledged
    assert outcome.found.texts
    assert outcome.killed
    assert any(name.startswith("dynamodb: ") for name in outcome.drawn)
    told = page(outcome, "a machine", gap=1.6)
    assert "FAIL" not in told
    assert len(checks(outcome)) == len(outcome.verdicts) + 1
    assert {"dynamodb"} <= {row[0] for row in failures(outcome)}
    assert figures(outcome)[-1] == ["containers killed", "", "", "", str(outcome.killed)]
