"""Exact token counts per model. Skein ships each encoding as a file of ranks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skein.errors import SkeinError

if TYPE_CHECKING:
    from tiktoken import Encoding

LIBRARIES = ("tiktoken",)  # imported at the first count, or by `load_adapters`
LAYER_RANKS = Path("/opt/tiktoken")
REPOSITORY_RANKS = Path(__file__).resolve().parents[3] / ".cache" / "tiktoken"
ENCODING = "o200k_base"
RANKS_FILES = {  # shipped encoding -> the file name under which tiktoken caches it
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
CHARACTERS_OF_A_TOKEN = 6  # more than usual, so that `cut` encodes only the start of a long text


class RanksMissing(SkeinError):
    """The tokenizer's ranks were not shipped; Skein never downloads them at run time."""


class Tokens:
    """`ModelTokens` with tiktoken, which takes 0.3 s and 80 MB and is loaded when needed.

    Args:
        folder: The folder of the ranks; None for the layer's folder or the repository's cache.
        encoding: One of `RANKS_FILES`.

    Attributes:
        encoding: The name of the encoding that `count` and `cut` use.
    """

    def __init__(self, folder: Path | None = None, encoding: str = ENCODING) -> None:
        self.encoding = encoding
        self._folder = folder
        self._encoding: Encoding | None = None
        self._others: dict[str, Tokens] = {}

    def for_model(self, model: str) -> Tokens:
        """Return the counter with a model's encoding, according to tiktoken's list.

        A model gets `o200k_base` if it is unknown, or if its encoding is not shipped.
        """
        from tiktoken.model import encoding_name_for_model

        try:
            name = encoding_name_for_model(model)
        except KeyError:
            name = ENCODING
        name = name if name in RANKS_FILES else ENCODING
        if name == self.encoding:
            return self
        return self._others.setdefault(name, Tokens(self._folder, name))

    def count(self, text: str) -> int:
        """Count the tokens of `text`; text that looks like a special token counts as text.

        Raises:
            RanksMissing: The ranks were not shipped.
        """
        return len(self._loaded().encode_ordinary(text))

    def cut(self, text: str, tokens: int) -> str:
        """Return the longest prefix of whole characters with at most `tokens` tokens.

        Raises:
            RanksMissing: The ranks were not shipped.
        """
        encoding = self._loaded()
        characters = max(tokens, 1) * CHARACTERS_OF_A_TOKEN
        ids = encoding.encode_ordinary(text[:characters])
        while len(ids) <= tokens and characters < len(text):
            characters *= 2
            ids = encoding.encode_ordinary(text[:characters])
        if len(ids) <= tokens:
            return text
        for length in range(tokens, 0, -1):
            # A cut inside a character leaves incomplete UTF-8 bytes, which are dropped.
            prefix = encoding.decode_bytes(ids[:length]).decode("utf-8", errors="ignore")
            if len(encoding.encode_ordinary(prefix)) <= tokens:
                return prefix
        return ""

    def _loaded(self) -> Encoding:
        if self._encoding is None:
            folder = self._folder or _shipped()
            ranks = folder / RANKS_FILES[self.encoding]
            if not ranks.is_file():
                raise RanksMissing(f"{ranks} is missing; `make ranks` makes it")
            os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
            import tiktoken

            self._encoding = tiktoken.get_encoding(self.encoding)
        return self._encoding


def _shipped() -> Path:
    """Return TIKTOKEN_CACHE_DIR, or else the folder of the layer or of the repository."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR")
    if named:
        return Path(named)
    return LAYER_RANKS if LAYER_RANKS.is_dir() else REPOSITORY_RANKS
