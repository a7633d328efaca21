"""mypy reports changes of a model that name no field, or that do not have the field's type."""

from pathlib import Path
from uuid import uuid4

import pytest
from mypy import api

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "mypy"  # of what the trials import; the trials differ in their last line
HEAD = """
from typing import Self, TypedDict, TypeVar
from pydantic import BaseModel
from skein.services.common.optimistic import revise
from skein.models.directory.line import Line

class Base(BaseModel):
    title: str | None = None

class Chat(Base):
    seq: int = 0
    kind: str = "direct"

class Changes(TypedDict, total=False):
    title: str | None
    seq: int

class Misspelled(TypedDict, total=False):
    titel: str

class Mistyped(TypedDict, total=False):
    seq: str

class Both(TypedDict):
    seq: int

def change(
    typed: Changes, misspelled: Misspelled, mistyped: Mistyped, both: Both,
    chat: Chat, either: Chat | Base, line: Line, given: dict[str, object]
) -> None:
"""
# Statements, with a part of the message that mypy reports; None for a correct one.
TRIALS = {
    'chat.model_copy(update={"title": None, "seq": 1})': None,
    'chat.model_copy(update={"titel": None})': '"titel"',
    'chat.model_copy(update={"seq": "1"})': '"seq" has type "int"',
    'Chat.model_copy(chat, update={"seq": "1"})': '"seq" has type "int"',
    'Base.model_copy(chat, update={"seq": 1})': '"seq"',
    'either.model_copy(update={"seq": 1})': '"seq"',
    "chat.model_copy(update=given)": "incompatible type",
    'chat.model_copy(update={"title": None, **given})': "expansion",
    "chat.model_copy(update=typed)": None,
    "chat.model_copy(update=both)": None,
    "chat.model_copy(update=misspelled)": "incompatible type",
    "chat.model_copy(update=mistyped)": "incompatible type",
    "chat.model_copy()": None,
    'revise(line, {"agent_id": "agt_2"})': None,
    "revise(line, given)": None,
    'revise(line, {"agent": "agt_2"})': '"agent"',
    'revise(line, {"agent_id": 1})': '"agent_id" has type "str"',
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What mypy reports on the trials, by line."""
    trial = tmp_path_factory.mktemp("trial") / "trial.py"
    statements = "".join(f"    {statement}\n" for statement in TRIALS)
    trial.write_text(f"{HEAD}{statements}# {uuid4()}\n")
    config = str(ROOT / "pyproject.toml")
    found, errors, _ = api.run(["--config-file", config, "--cache-dir", str(CACHE), str(trial)])
    assert not errors
    lines = (line.split(":", 2) for line in found.splitlines() if line.startswith(str(trial)))
    return {int(number): text for _, number, text in lines}


@pytest.mark.parametrize("statement", TRIALS)
def test_change_is_checked_by_the_fields(statement: str, reports: dict[int, str]) -> None:
    line = HEAD.count("\n") + 1 + list(TRIALS).index(statement)
    expected = TRIALS[statement]
    if expected is None:
        assert line not in reports
    else:
        assert expected in reports[line]
