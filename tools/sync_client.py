"""Generates the sync Python client, which is the async client without `await`.

`make client-types` writes `client.py` from `async_client.py` in `clients/python/src/skein_client`,
and does the same for each other module whose name begins with `async_`.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "clients" / "python" / "src" / "skein_client"

REPLACED = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"( +)for (\w+) in (.+):\n +yield \2\n", r"\1yield from \3\n"),
    (r"import asyncio\n", ""),
    (r"        token = self\._token\(\)\n        return .*\n", "        return self._token()\n"),
    (r"Callable\[\[\], str \| Awaitable\[str\]\]", "Callable[[], str]"),
    (r"AsyncIterator, Awaitable, Callable, Coroutine,", "Callable, Iterator,"),
    (r"AsyncGenerator, AsyncIterator, Iterator,", "Generator, Iterator,"),
    (r"Coroutine\[Any, Any, (\w+)\]", r"\1"),
    (r"asyncio\.sleep", "time.sleep"),
    (r"websockets\.asyncio", "websockets.sync"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\baclos(e|ing)\b", r"clos\1"),
    (r"\bAsync(?=[A-Z])|\basync_(?=[a-z])", ""),
    (r'End `events`\."', 'End `events`, from any thread."'),
)


def sync_texts() -> dict[Path, str]:
    """Return the sources of the sync modules, by the file to which they are written."""
    return {
        path.with_name(path.name.removeprefix("async_")): formatted(_sync_text(path))
        for path in PACKAGE.glob("async_*.py")
    }


def formatted(text: str) -> str:
    """Return a source as the formatter writes it, with sorted imports."""
    for command in (["check", "--fix-only", "--select=I", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", f"{PACKAGE}/x.py", "-"]
        text = subprocess.run(
            ruff, input=text, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    return text


def _sync_text(path: Path) -> str:
    text = re.sub("# Generated .*\n\n", "", path.read_text(encoding="utf-8"))
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text)
    head, _, rest = text.partition("\n\n")
    return f"{head}\n\n# Generated from {path.name} by `make client-types`.\n\n{rest}"


def write() -> None:
    """Write the sync modules."""
    for path, text in sync_texts().items():
        path.write_text(text, encoding="utf-8")
