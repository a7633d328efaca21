"""What goes wrong beside the stack is told to its user, once."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import pytest

from local.children import Child
from local.telling import TellingModel
from local.template import ROOT
from skein.errors import Unavailable
from skein.models.runs.completion import ModelRequest
from tests.support.fakes import ScriptedModel

PATIENCE_SECONDS = 15
REQUEST = ModelRequest(model="gpt", messages=(), max_output_tokens=9, timeout_seconds=9)


def ask(model: TellingModel, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(Unavailable):
            model.complete(REQUEST)


def test_why_the_model_does_not_answer_is_told_once_until_it_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused, lost = Unavailable("AuthenticationError"), Unavailable("APIConnectionError")
    scripted = ScriptedModel(deque([refused, refused, lost, "Hi", lost]))
    model = TellingModel(scripted, "http://127.0.0.1:1/v1")
    with caplog.at_level(logging.WARNING, "local.telling"):
        ask(model, 3)
        assert model.complete(REQUEST).text == "Hi"
        ask(model)
    where = "the model at http://127.0.0.1:1/v1 does not answer: "
    reasons = ["AuthenticationError", "APIConnectionError", "APIConnectionError"]
    assert caplog.messages == [where + reason for reason in reasons]


@pytest.mark.parametrize("killed", [True, False])
def test_a_child_that_ends_by_itself_is_told_and_one_that_is_stopped_is_not(
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
    told = f"the child has ended by itself: press Ctrl-C and start again; see {log}"
    assert caplog.messages == ([told] if killed else [])


INTERRUPTED = """
import os, runpy, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "local.config":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
runpy.run_module("local", run_name="__main__", alter_sys=True)
"""


def test_an_interrupt_while_the_stack_is_being_loaded_ends_it_without_a_trace() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGINT
    assert done.stdout + done.stderr == ""
