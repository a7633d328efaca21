"""A few people for a few seconds while everything fails, so that `make load` can be relied on."""

import os
import re
import subprocess
import sys

import pytest

from bench.load.checks import CHECKS
from bench.load.live import A_FEW
from bench.load.probes import PROBES
from bench.load.worst import A_FEW as FEW_PROBES
from local.template import ROOT

FOLDERS = (ROOT, ROOT / "shared", ROOT / "functions")


def load(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a load of a few people."""
    return subprocess.run(
        [sys.executable, "-m", module, "--few", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, FOLDERS))},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.slow
def test_load_with_failing_dependencies_loses_and_duplicates_no_message() -> None:
    done = load("bench.load", "--seed", "7")
    told = done.stdout
    assert done.returncode == 0, told + done.stderr
    verdicts = re.findall(r"^(.+?)  +pass$", told, re.MULTILINE)
    assert [verdict.strip() for verdict in verdicts] == list(CHECKS)
    whats = ("message acknowledged, s", "bookings by a tool", "texts that reached phones")
    for what in (*whats, "pictures of messages", "containers killed"):
        assert number(told, what) > 0
    assert re.search(r"^queues.*  +\d", told, re.MULTILINE)


@pytest.mark.slow
def test_connected_people_are_shown_nothing_wrong_while_pushes_fail() -> None:
    done = load("bench.load.live", "--seed", "7")
    told = done.stdout
    assert done.returncode == 0, told + done.stderr
    assert number(told, "wrong frames") == 0
    assert number(told, "messages never acknowledged") == 0
    assert number(told, "connections") == A_FEW.connections
    for what in ("post to frame, ms", "frames `message`", "messages that had to reach a reader"):
        assert number(told, what) > 0
    assert re.search(r"^injected: pushes.*  +\d", told, re.MULTILINE)


@pytest.mark.slow
def test_probes_of_each_queue_come_back_while_another_tenant_does_its_worst() -> None:
    told = load("bench.load.worst").stdout
    for probe, queue in PROBES.items():
        assert re.search(
            rf"^{probe} +{queue} +[\d.]+ +[\d.]+ +[\d.]+ +{FEW_PROBES.rounds} ", told, re.M
        ), told
    for what in ("PRIVATE", "scan bombs", "messages for slow tools"):
        assert number(told, what) > 0


def number(told: str, what: str) -> int:
    """What stands at the end of a line of the figures."""
    found = re.search(rf"^{what}.*?(\d+)$", told, re.MULTILINE)
    assert found, told
    return int(found[1])
