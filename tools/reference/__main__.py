"""Write the generated reference pages: `python -m tools.reference`."""

from pathlib import Path

from tools.reference.pages import pages

DOCS = Path(__file__).resolve().parents[2] / "docs"

if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}")
