"""Choose the known stories that `make test` plays: one in 20, always the same.

The check plays the others beside seeded ones (`.ci/run`), and so does `make test-slow`.
"""

from collections.abc import Iterable
from typing import Any

import pytest

BLOCK = 20  # known stories of which `make test` plays the first


def some_of(known: Iterable[str]) -> list[Any]:
    """Mark as slow all stories but the first of each block."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] * (n % BLOCK > 0))
        for n, name in enumerate(known)
    ]
