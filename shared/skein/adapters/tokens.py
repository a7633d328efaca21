"""Exact token counts with `o200k_base`, loaded at first use from a file that is shipped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skein.errors import SkeinError

if TYPE_CHECKING:
    from tiktoken import Encoding

LAYER_RANKS = Path("/opt/tiktoken")
REPOSITORY_RANKS = Path(__file__).resolve().parents[3] / ".cache" / "tiktoken"
ENCODING = "o200k_base"
RANKS_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"  # the name under which tiktoken caches it


class RanksMissing(SkeinError):
    """The tokenizer's ranks were not shipped; they are never fetched at run time."""


class Tokens:
    """Counts with tiktoken, which costs 0.3 s and 80 MB and is therefore loaded when needed.

    Args:
        folder: Where the ranks lie; None for the layer's folder, or the repository's cache.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._encoding: Encoding | None = None

    def count(self, text: str) -> int:
        """How many tokens `text` is; text that looks like a special token counts as text.

        Raises:
            RanksMissing: The ranks were not shipped.
        """
        return len(self._loaded().encode_ordinary(text))

    def cut(self, text: str, tokens: int) -> str:
        """The longest prefix, in whole characters, that is at most `tokens` tokens by itself.

        Raises:
            RanksMissing: The ranks were not shipped.
        """
        encoding = self._loaded()
        ids = encoding.encode_ordinary(text)
        if len(ids) <= tokens:
            return text
        for length in range(tokens, 0, -1):
            # A cut inside a character leaves bytes that mean nothing: they are dropped.
            prefix = encoding.decode_bytes(ids[:length]).decode("utf-8", errors="ignore")
            if len(encoding.encode_ordinary(prefix)) <= tokens:
                return prefix
        return ""

    def _loaded(self) -> Encoding:
        if self._encoding is None:
            folder = self._folder or _shipped()
            if not (folder / RANKS_FILE).is_file():
                raise RanksMissing(f"{folder / RANKS_FILE} is missing; `make ranks` makes it")
            os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
            import tiktoken

            self._encoding = tiktoken.get_encoding(ENCODING)
        return self._encoding


def _shipped() -> Path:
    """Where the ranks lie: where the environment says, in the layer, or in the repository."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR")
    if named:
        return Path(named)
    return LAYER_RANKS if LAYER_RANKS.is_dir() else REPOSITORY_RANKS
