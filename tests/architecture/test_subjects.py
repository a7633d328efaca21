"""Each subject can be removed: deleting its lines from the lists of parts is enough."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join(str(ROOT / folder) for folder in ("shared", "functions", "."))
LATER = ("errands", "events", "knowledge", "outreach", "sharing", "web_chat")


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param("desk", marks=pytest.mark.check),
        *(pytest.param(name, marks=pytest.mark.slow) for name in LATER),
    ],
)
def test_app_without_a_subject_answers_texts_groups_and_plans(subject: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.without_subject", subject],
        cwd=ROOT,
        env={"PYTHONPATH": PATHS, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["Hello!", "Hello!", "plan done"], done.stderr
