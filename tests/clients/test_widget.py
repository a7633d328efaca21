"""The file of the web chat: its size, and that it is built from its sources."""

import gzip

import pytest

from tests.support.typescript import skip_without_generators
from tools import widget

MOST_BYTES = 30_000


def test_web_chat_takes_at_most_30_kilobytes() -> None:
    assert len(gzip.compress(widget.BUILT.read_bytes(), mtime=0)) <= MOST_BYTES


@pytest.mark.slow
def test_web_chat_is_built_from_its_sources() -> None:
    skip_without_generators()
    assert widget.text() == widget.BUILT.read_text(encoding="ascii")
