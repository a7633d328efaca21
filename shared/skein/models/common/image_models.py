"""Pictures and language models: which models take pictures, and what a picture costs in tokens.

The formulas are those of the providers' documentation. A model without a known formula gets the
highest number of tokens that a picture costs at the providers known here.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from math import ceil
from typing import Literal, NamedTuple

ImageDetail = Literal["auto", "low", "high"]

# Names of models that take pictures; a provider's prefix such as `openai/` is left out.
MODELS_WITH_IMAGES = (
    *("gpt-4o*", "gpt-4.1*", "gpt-4.5*", "gpt-4-turbo*", "gpt-5*", "chatgpt-4o*"),
    *("o1", "o1-2*", "o1-pro*", "o3", "o3-2*", "o3-pro*", "o4-mini*"),
    *("*claude-*", "gemini-*", "gemma-3-4b*", "gemma-3-12b*", "gemma-3-27b*"),
    *("*-vl*", "*vision*", "llava*", "pixtral*", "llama-4*", "llama4*", "grok-4*"),
    *("*nova-lite*", "*nova-pro*", "*nova-premier*"),
)
UNKNOWN_TOKENS = 2_500
SQUARE, SHORT_SIDE, TILE = 2_048, 768, 512
PATCH, MAX_PATCHES = 32, 1_536


class _Tiles(NamedTuple):
    """How many tokens a picture costs: it is scaled down, and each tile of 512 pixels counts."""

    base: int
    tile: int

    def tokens(self, width: int, height: int, detail: ImageDetail) -> int:
        if detail == "low":
            return self.base
        scale = min(1.0, SQUARE / max(width, height))
        scale = min(scale, SHORT_SIDE / min(width, height))
        across, down = (ceil(round(side * scale) / TILE) for side in (width, height))
        return self.base + self.tile * across * down


class _Patches(NamedTuple):
    """How many tokens a picture costs, by its patches of 32 pixels; at most 1,536 count."""

    factor: float

    def tokens(self, width: int, height: int, detail: ImageDetail) -> int:
        patches = min(ceil(width / PATCH) * ceil(height / PATCH), MAX_PATCHES)
        return ceil(patches * self.factor)


class _Area(NamedTuple):
    """How many tokens a picture costs, by its area, up to a maximum."""

    pixels: int
    most: int

    def tokens(self, width: int, height: int, detail: ImageDetail) -> int:
        return min(ceil(width * height / self.pixels), self.most)


# The first pattern that fits decides.
FORMULAS: Sequence[tuple[str, _Tiles | _Patches | _Area]] = (
    ("gpt-4o-mini*", _Tiles(2_833, 5_667)),
    ("gpt-4.1-nano*", _Patches(2.46)),
    ("gpt-4.1-mini*", _Patches(1.62)),
    ("gpt-5*-nano*", _Patches(2.46)),
    ("gpt-5*-mini*", _Patches(1.62)),
    ("o4-mini*", _Patches(1.72)),
    ("gpt-5*", _Tiles(70, 140)),
    ("gpt-4*", _Tiles(85, 170)),
    ("chatgpt-4o*", _Tiles(85, 170)),
    ("o[13]*", _Tiles(75, 150)),
    ("*claude-*", _Area(750, 1_600)),
)


def takes_images(model: str, patterns: Iterable[str]) -> bool:
    """Return whether a model's name, with or without a provider's prefix, matches a pattern."""
    names = (_bare(model), model.lower())
    return any(fnmatchcase(name, pattern.lower()) for pattern in patterns for name in names)


def tokens_of_image(model: str, width: int, height: int, detail: ImageDetail) -> int:
    """Return the tokens of a picture in a model's prompt; the detail `auto` counts as `high`."""
    name = _bare(model)
    formula = next((price for pattern, price in FORMULAS if fnmatchcase(name, pattern)), None)
    if formula is None or not width or not height:
        return UNKNOWN_TOKENS
    return formula.tokens(width, height, detail)


def _bare(model: str) -> str:
    """Return the name of a model without a provider's prefix, in lower case."""
    return model.lower().rsplit("/", 1)[-1]
