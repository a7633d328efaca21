"""Builds the web chat: `python -m tools.widget` writes `clients/widget/dist/<version>.js`.

TypeScript compiles the modules of the widget, and those of our client that the widget needs. Then
they become one file with a single scope, so a name that two modules define is a syntax error. Web
pages name the hash of a released file, so released files must not change: increase `VERSION` before
you change the widget.
"""

import re
import tempfile
from pathlib import Path

from tools import client_calls, generators

VERSION = "1.0.0"
FOLDER = generators.ROOT / "clients" / "widget"
BUILT = FOLDER / "dist" / f"{VERSION}.js"
CLIENT = ("backoff", "answers", "client", "live", "outbox")
MODULES = ("dom", "markdown", "words", "store", "visit", "talk", "style", "view", "element")
# Operators' calls, which a page does not make: the file does not change with them.
SUBJECTS = "|".join(subject.capitalize() for subject in client_calls.SUBJECTS)
CALLS = re.compile(rf"^    \w+ = new (?:{SUBJECTS})\(this\);\n", re.MULTILINE)
LINKS = re.compile(r"^(?:import .*? from .*?;\n|export \{.*?\};\n|export )", re.MULTILINE)


def text() -> str:
    """Return the text of the built file.

    Raises:
        generators.GeneratorError: TypeScript is missing or found an error.
    """
    with tempfile.TemporaryDirectory() as folder:
        generators.node("tsc", "-p", ".", "--outDir", folder, folder=FOLDER)
        paths = (
            *(Path(folder) / "typescript" / "src" / f"{name}.js" for name in CLIENT),
            *(Path(folder) / "widget" / "src" / f"{name}.js" for name in MODULES),
        )
        code = "".join(LINKS.sub("", path.read_text(encoding="utf-8")) for path in paths)
        code = CALLS.sub("", code)
    head = f"// The web chat of Skein, {VERSION}. Apache License 2.0.\n"
    return f'{head}(() => {{\n"use strict";\n{code}}})();\n'


if __name__ == "__main__":
    BUILT.write_text(text(), encoding="ascii")
