"""Golden files: texts that are compared exactly. `UPDATE_GOLDEN=1` writes them anew, to be read."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden"


def agrees(name: str, text: str) -> bool:
    """Whether `golden/<name>.txt` holds exactly this text; pytest shows where it does not."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    assert path.exists(), f"write tests/golden/{name}.txt: run this test with UPDATE_GOLDEN=1"
    known = path.read_text(encoding="utf-8")
    assert f"{text}\n" == known
    return True
