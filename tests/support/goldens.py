"""Golden files: texts that are compared exactly. `UPDATE_GOLDEN=1` writes them again."""

import os
from difflib import unified_diff
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden"


def agrees(name: str, text: str) -> bool:
    """Return whether `golden/<name>.txt` has exactly this text; the error shows the difference."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    assert path.exists(), f"write tests/golden/{name}.txt: run this test with UPDATE_GOLDEN=1"
    known = path.read_text(encoding="utf-8")
    changes = "\n".join(
        unified_diff(known.splitlines(), text.splitlines(), "golden file", "now", lineterm="")
    )
    assert f"{text}\n" == known, (
        f"tests/golden/{name}.txt differs. If the change is intended, run the test with "
        f"UPDATE_GOLDEN=1 and read the difference before you commit:\n{changes}"
    )
    return True
