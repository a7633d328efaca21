"""Memory of a warm worker after turns in many different chats.

`python -m bench.turns.memory DYNAMODB` prints one line of JSON.
"""

import gc
import json
import sys
from functools import partial
from pathlib import Path

from bench.turns.engines import client_of, make_table
from bench.turns.fills import filled_by_batches
from bench.turns.skein_chat import SkeinChat
from bench.turns.stand import Stand
from bench.turns.vectors import IndexedTable
from local.template import Template
from skein.adapters.tokens import Tokens
from skein.agent.reading import cache
from skein.services.common import token_cache
from skein.settings import Settings

TABLE = "skein-memory"
CHATS = 500
SETTLED = 50  # chats, after which all libraries are loaded
MESSAGES = 20
WORKER = "run_worker"
MIB = 1_048_576


def resident_bytes() -> int:
    """Return the resident memory of this process, in bytes."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    kib = next(line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(kib) * 1_024


def main(url: str) -> None:
    """Carry out turns in new chats, one after another, with one worker."""
    client, tokens = client_of(url), Tokens()
    make_table(client, TABLE)
    # The clock hardly moves, so that nothing in the caches expires.
    moment = Settings(reply_debounce_seconds=0)
    stand = Stand(partial(IndexedTable, client, TABLE), tokens, settings=moment)
    worker = stand.app
    settled = 0
    for number in range(1, CHATS + 1):
        chat = SkeinChat(stand, chat_id=f"chat_{number}")
        chat.create(MESSAGES, filled_by_batches(client, TABLE))
        chat.check(chat.turn())
        if number == SETTLED:
            settled = resident_bytes()
    after = resident_bytes()
    functions = {one.handler.partition(".")[0]: one for one in Template.load().functions}
    found = {
        "chats": CHATS,
        "settled_mib": settled / MIB,
        "after_mib": after / MIB,
        "grown_mib": (after - settled) / MIB,
        "context_cache_mib": worker.get(cache.ContextCache).size / MIB,
        "caches_bound_mib": (cache.MAX_BYTES + token_cache.MAX_BYTES) / MIB,
        "function_mib": functions[WORKER].memory,
    }
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
