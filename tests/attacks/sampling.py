"""Choose the known stories that `make test` plays: a tenth of them, always the same.

The check plays the others beside seeded ones (`.ci/run`), and so does `make test-slow`.
"""

from collections.abc import Iterable
from typing import Any

import pytest

BLOCK = 10  # known stories of which `make test` plays the first


def a_tenth_of(known: Iterable[str]) -> list[Any]:
    """Mark all but every tenth story as slow."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] * (n % BLOCK > 0))
        for n, name in enumerate(known)
    ]
