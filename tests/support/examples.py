"""How many examples a property test tries: some in `make test`, all in `make test-slow`."""

import os

SHARE = 8  # `make test` tries one example in eight
MIN_EXAMPLES = 5


def examples(whole: int) -> int:
    """Return the `max_examples` of a property test.

    Args:
        whole: How many examples the test tries in `make test-slow`, which sets `SKEIN_WHOLE=1`.
    """
    if os.environ.get("SKEIN_WHOLE") == "1":
        return whole
    return min(whole, max(MIN_EXAMPLES, whole // SHARE))
