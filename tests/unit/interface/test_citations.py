"""Marks of passages are read and removed, whatever their form."""

import pytest

from skein.interface.citations import cited, shown_start
from skein.models.runs.provenance import MarkedCitation

KNOWN = [MarkedCitation(mark=f"K{n}", source_id=f"src_{n}", version=n) for n in (1, 2, 12)]


@pytest.mark.parametrize(
    ("text", "plain", "sources"),
    [
        ("We open at nine [K1].", "We open at nine.", ["src_1"]),
        ("At nine [K2][K1], or ten [K2].", "At nine, or ten.", ["src_2", "src_1"]),
        ("At nine [K1, K12].", "At nine.", ["src_1", "src_12"]),
        ("At nine \u3010K1\u3011.", "At nine.", ["src_1"]),
        ("At nine [K7].", "At nine.", []),
        ("See [K] and [key] and [12].", "See [K] and [key] and [12].", []),
    ],
)
def test_marks_are_removed_and_known_ones_cite(text: str, plain: str, sources: list[str]) -> None:
    found = cited(text, KNOWN)
    assert found.text == plain
    assert [each.source_id for each in found.sources] == sources


def test_start_of_each_length_is_a_prefix_of_the_whole() -> None:
    text = "We open at nine [K1], and close [K2, K12] at noon. [see] it"
    whole = cited(text, KNOWN).text
    for length in range(len(text) + 1):
        assert whole.startswith(shown_start(text[:length])), text[:length]
