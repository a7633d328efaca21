"""Golden files: texts that are compared exactly. `UPDATE_GOLDEN=1` writes them again."""

import os
import re
from difflib import unified_diff
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "golden"
PROMPTS = FOLDER / "prompts"
SPLIT = re.compile(r"^===== (system|user|assistant)\n", re.MULTILINE)


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


def golden_messages(name: str) -> list[dict[str, Any]]:
    """The messages of a golden prompt."""
    _, *parts = SPLIT.split((PROMPTS / f"{name}.txt").read_text(encoding="utf-8"))
    return [
        {"role": role, "content": text.rstrip("\n")}
        for role, text in zip(parts[::2], parts[1::2], strict=True)
    ]
