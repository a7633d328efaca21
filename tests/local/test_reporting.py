"""What goes wrong beside the stack is told to its user."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import psutil
import pytest

from local.children import Child
from local.model.reporting import ModelApi, ReportingModel
from local.template import ROOT
from skein.errors import (
    KeyRefused,
    ModelRejected,
    ModelUnknown,
    SkeinError,
    Throttled,
    Unavailable,
    Unreachable,
)
from skein.models.runs.completion import ModelRequest
from tests.support.fakes import ScriptedModel

PATIENCE_SECONDS = 15
URL = "http://127.0.0.1:1/v1"
API = ModelApi(URL, "gpt", "light")
REQUEST = ModelRequest(model="gpt", messages=(), max_output_tokens=9, timeout_seconds=9)


def ask(model: ReportingModel, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(Unavailable):
            model.complete(REQUEST)


def test_failed_answers_are_each_reported_and_the_recovery_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused, lost = KeyRefused("AuthenticationError"), Unreachable("APIConnectionError")
    scripted = ScriptedModel(deque([refused, refused, lost, "Hi", "Hi"]))
    model = ReportingModel(scripted, API)
    with caplog.at_level(logging.INFO, "local.model.reporting"):
        ask(model, 3)
        for _ in range(2):
            assert model.complete(REQUEST).text == "Hi"
    *failed, recovered = caplog.messages
    assert [message.split(". ")[0] for message in failed] == [
        f"no answer from gpt at {URL}: {error}" for error in (refused, refused, lost)
    ]
    assert recovered == f"the model at {URL} answers again"


@pytest.mark.parametrize(
    ("error", "model", "todo"),
    [
        (KeyRefused("401"), "gpt", "Correct OPENAI_API_KEY"),
        (ModelUnknown("404"), "gpt", "Correct SKEIN_DEFAULT_MODEL (or the path"),
        (ModelUnknown("404"), "light", "Correct SKEIN_LIGHT_MODEL (or the path"),
        (ModelUnknown("404"), "own", "Correct the model of the agent (or the path"),
        (Unreachable("refused"), "gpt", "Start the server there, or correct OPENAI_BASE_URL"),
        (Throttled("429"), "gpt", "a quota is used up"),
        (Unavailable("500"), "gpt", "asked again shortly"),
        (ModelRejected("400"), "gpt", "not sent again"),
    ],
)
def test_report_says_what_to_do(error: SkeinError, model: str, todo: str) -> None:
    report = API.report(error, model)
    assert todo in report
    assert ("Messages are kept" in report) == (not isinstance(error, ModelRejected))


@pytest.mark.parametrize("killed", [True, False])
def test_child_that_ends_is_reported_unless_it_was_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, killed: bool
) -> None:
    log = tmp_path / "log"
    child = Child("the child", "http.server", "0", environment={}, log=log)
    child.wait_until(lambda: True)
    give_up = time.monotonic() + PATIENCE_SECONDS
    with caplog.at_level(logging.ERROR, "local.children"):
        if killed:
            os.kill(child.pid, signal.SIGKILL)
            while not caplog.messages and time.monotonic() < give_up:
                time.sleep(0.01)
        child.stop()
    assert len(caplog.messages) == int(killed)
    for message in caplog.messages:  # with the child's last line, if it has written one
        assert message.startswith("the child has stopped unexpectedly")
        assert message.endswith(f": press Ctrl-C and start again; see {log}")


def test_report_of_an_ended_child_contains_the_last_line_of_its_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    with caplog.at_level(logging.ERROR, "local.children"):
        child = Child("the child", "no_such_module", environment={}, log=log)
        child.wait_until(lambda: True)
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not caplog.messages and time.monotonic() < give_up:
            time.sleep(0.01)
        child.stop()
    [told] = caplog.messages
    assert "(ImportError: No module named no_such_module)" in told


PARENT = """
import sys, time
from pathlib import Path
from local.children import Child

child = Child("the child", "http.server", "0", environment={}, log=Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(60)
"""


def test_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")], cwd=ROOT, stdout=subprocess.PIPE
    )
    with parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert psutil.wait_procs([child], timeout=PATIENCE_SECONDS)[1] == []


INTERRUPTED = """
import os, runpy, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "local.config":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv[1:] = ["run"]
runpy.run_module("local", run_name="__main__", alter_sys=True)
"""


@pytest.mark.check
def test_an_interrupt_while_the_stack_is_being_loaded_ends_it_without_a_trace() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr == ""
    assert done.stdout.startswith("skein: loading the code")
    assert done.stdout.count("\n") == 1
