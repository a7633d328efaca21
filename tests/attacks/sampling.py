"""Choose the known stories that `make test` plays, and the seeded ones that the check plays."""

from collections.abc import Iterable
from typing import Any

import pytest

BLOCK = 20  # known stories of which `make test` plays the first


def some_of(known: Iterable[str]) -> list[Any]:
    """Leave all stories but the first of each block to the check (`make test-check`)."""
    return [
        pytest.param(name, marks=[pytest.mark.check] * (n % BLOCK > 0))
        for n, name in enumerate(known)
    ]


def seeded(parts: int) -> list[Any]:
    """Number the parts of a search, of which the check plays the first."""
    return [
        pytest.param(part, marks=pytest.mark.slow if part else pytest.mark.check)
        for part in range(parts)
    ]
