"""Generator of the sync Python client, which is the async one without `await`.

`make client-types` writes `clients/python/src/skein_client/client.py` from `async_client.py`.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "clients" / "python" / "src" / "skein_client"
ASYNC, SYNC = PACKAGE / "async_client.py", PACKAGE / "client.py"
NOTICE = "# Generated from async_client.py by `make client-types`.\n\n"

REPLACED = (
    (r"\basync (def|for)\b", r"\1"),
    (r"import asyncio\n", ""),
    (r"        token = self\._token\(\)\n        return .*\n", "        return self._token()\n"),
    (r"Callable\[\[\], str \| Awaitable\[str\]\]", "Callable[[], str]"),
    (r"AsyncIterator, Awaitable, Callable, Mapping,", "Callable, Iterator, Mapping,"),
    (r'for item in page\["items"\]:\n +yield item', 'yield from page["items"]'),
    (r"asyncio\.sleep", "time.sleep"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\bAsync(Client|Iterator|Agents|Chats|Members|Messages|Media|Choices)\b", r"\1"),
)


def sync_text(text: str) -> str:
    """Return the source of the sync client."""
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text)
    head, _, rest = text.partition("\n\n")
    return f"{head}\n\n{NOTICE}{rest}"


def write() -> None:
    """Write the sync client; the linter's formatter follows."""
    SYNC.write_text(sync_text(ASYNC.read_text(encoding="utf-8")), encoding="utf-8")
