"""Long messages consist of passages, which end with sentences."""

from hypothesis import given
from hypothesis import strategies as st

from skein.recall.passages import PASSAGE, Passage, joined_parts, passages_of

LONG = "The boat leaves at seven. It needs a new rope. " * 60


@given(st.text(max_size=3_000), st.integers(1, 12))
def test_passages_are_the_whole_text_in_order(text: str, times: int) -> None:
    found = passages_of(text * times)
    assert "".join(passage.text for passage in found) == text * times
    assert all(0 < len(passage.text) <= PASSAGE for passage in found)
    assert joined_parts(text, passages_of(text)) == text.strip()


def test_passages_end_with_sentences() -> None:
    found = passages_of(LONG)
    assert len(found) > 5
    assert all(len(passage.text) <= PASSAGE for passage in found)
    assert all(passage.text.rstrip().endswith(".") for passage in found)


def test_joined_passages_mark_omitted_text() -> None:
    first, second, third, *_ = passages_of(LONG)
    assert joined_parts(LONG, [first]) == f"{first.text.strip()} [...]"
    assert joined_parts(LONG, [second]) == f"[...] {second.text.strip()} [...]"
    both = joined_parts(LONG, [third, second])
    assert both == f"[...] {(second.text + third.text).strip()} [...]"
    apart = joined_parts(LONG, [first, third])
    assert apart == f"{first.text.strip()} [...] {third.text.strip()} [...]"
    assert joined_parts("whole", [Passage(0, "whole")]) == "whole"
