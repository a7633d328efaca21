"""Static embeddings: the mean of a text's token vectors, computed inside the function.

The vectors come from WordLlama (`l2_supercat_256`): 32,000 tokens, 256 components of 16 bits.
The file is mapped into memory, so a process reads only the rows that it needs.
"""

import json
import math
import mmap
import os
import struct
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Final

from skein.models.common.embedding import Embedding

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LIBRARIES = ("tokenizers",)
WEIGHTS, TOKENS = "l2_supercat_256.safetensors", "l2_supercat_tokenizer.json"
FOLDER_VARIABLE = "SKEIN_EMBEDDINGS_DIR"
LAYER_FOLDER = Path("/opt/embeddings")
REPOSITORY_FOLDER = Path(__file__).resolve().parents[3] / ".cache" / "embeddings"
HEAD_BYTES = 8  # a safetensors file begins with the length of its JSON head
COMPONENT_BYTES = 2
MAX_TOKENS = 2_000  # tokens of a text; further tokens hardly change the mean
CACHED_ROWS = 8_000
WORD_START = "\u2581"  # stands for a space before a token


class StaticEmbeddings:
    """Embeddings of English text; in other languages, only names, numbers and loanwords match.

    Args:
        folder: The folder of the two files; None for the folder of the layer or the repository.
    """

    name: Final = "wordllama-l2-supercat-256"
    dimensions: Final = 256

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or embeddings_folder()
        self._row = lru_cache(maxsize=CACHED_ROWS)(self._read_row)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """See `skein.ports.Embeddings`; twenty tokens take less than a millisecond."""
        return [self._embed(text) for text in texts]

    def holds(self, word: str) -> bool:
        """See `skein.ports.Vocabulary`.

        A word is common if it is one token, in lower case or capitalized.
        """
        tokens = (f"{WORD_START}{spelled}" for spelled in (word, word.capitalize()))
        return any(self._tokenizer.token_to_id(token) is not None for token in tokens)

    def _embed(self, text: str) -> Embedding:
        text = text.encode(errors="replace").decode()  # the library refuses lone surrogates
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids[:MAX_TOKENS]
        rows = [(0.0,) * self.dimensions, *map(self._row, tokens)]
        total = tuple(map(sum, zip(*rows, strict=True)))
        length = math.sqrt(sum(map(mul, total, total)))
        vector = tuple(value / length for value in total) if length else total
        return Embedding(vector, length)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        return _tokenizer(self._folder / TOKENS)

    @cached_property
    def _file(self) -> tuple[mmap.mmap, int]:
        """The mapped weights, and the position of the first row."""
        with (self._folder / WEIGHTS).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (length,) = struct.unpack_from("<Q", mapped)
        head = json.loads(mapped[HEAD_BYTES : HEAD_BYTES + length])
        [tensor] = [value for name, value in head.items() if name != "__metadata__"]
        if tensor["dtype"] != "F16" or tensor["shape"][1] != self.dimensions:
            raise ValueError(f"{WEIGHTS} does not hold {self.dimensions} components of 16 bits")
        return mapped, HEAD_BYTES + length + tensor["data_offsets"][0]

    def _read_row(self, token: int) -> tuple[float, ...]:
        mapped, start = self._file
        return struct.unpack_from(
            f"<{self.dimensions}e", mapped, start + token * self.dimensions * COMPONENT_BYTES
        )


@cache
def _tokenizer(file: Path) -> "Tokenizer":
    """Return the tokenizer of a file, which all instances of this process share."""
    # Imported here, because only recall needs the library.
    from tokenizers import Tokenizer

    tokenizer: Tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def embeddings_folder() -> Path:
    """Return `SKEIN_EMBEDDINGS_DIR`, or else the folder of the layer or of the repository."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    return LAYER_FOLDER if LAYER_FOLDER.exists() else REPOSITORY_FOLDER
