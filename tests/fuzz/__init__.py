"""What nobody would think of sending, sent to every door; `make fuzz` sends more of it."""

import os


def examples(few: int, many: int) -> int:
    """How many cases a test is to try: few in `make test`, many in `make fuzz`."""
    return many if os.environ.get("SKEIN_FUZZ") else few
