"""An embedding: the meaning of a text as a vector."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Embedding:
    """The meaning of a text as a direction, with its weight relative to other texts.

    Attributes:
        vector: A unit vector; all components are 0 for a text without words.
        weight: How much the text counts in the mean of several texts; at least 0.
    """

    vector: Vector
    weight: float


def unit(vector: Sequence[float]) -> Vector:
    """Scale a vector to length 1; a vector of zeros is returned unchanged."""
    size = length(vector)
    return tuple(value / size for value in vector) if size else tuple(vector)


def length(vector: Sequence[float]) -> float:
    return math.sqrt(sum(map(mul, vector, vector)))
