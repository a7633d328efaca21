"""Writes the generated reference pages: `python -m tools.reference`."""

import logging
from pathlib import Path

from tools.reference.bill import with_bill
from tools.reference.lifecycle import with_lifecycle
from tools.reference.pages import pages

DOCS = Path(__file__).resolve().parents[2] / "docs"

if __name__ == "__main__":
    logging.disable()  # some access patterns are about failures
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}")
    limits = DOCS / "limits.md"
    limits.write_text(with_bill(limits.read_text(encoding="utf-8")), encoding="utf-8")
    print("docs/limits.md")
    runs = DOCS / "runs.md"
    runs.write_text(with_lifecycle(runs.read_text(encoding="utf-8")), encoding="utf-8")
    print("docs/runs.md")
