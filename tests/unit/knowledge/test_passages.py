"""Sources are split under their headings, at pages and at rows."""

import csv

import pytest

from skein.knowledge.passages import (
    PASSAGE,
    SourcePassage,
    passages_of_markdown,
    passages_of_rows,
)


def test_passages_stand_under_their_headings() -> None:
    text = "Before.\n# Shop\nOpen.\n## Prices ##\nFive.\n# Other\n```\n# no heading\n```"
    assert passages_of_markdown(text, "u") == [
        SourcePassage("", "Before.", "u"),
        SourcePassage("Shop", "Open.", "u"),
        SourcePassage("Shop > Prices", "Five.", "u"),
        SourcePassage("Other", "```\n# no heading\n```", "u"),
    ]


def test_long_text_is_cut_between_sentences() -> None:
    found = passages_of_markdown("One sentence of many words. " * 100)
    assert len(found) > 2
    assert all(len(each.text) <= PASSAGE for each in found)
    assert all(each.text.endswith(".") for each in found)


def test_pages_of_a_pdf_have_their_numbers() -> None:
    found = passages_of_markdown("One.\f\f# Two\nText.")
    assert [(each.place, each.text) for each in found] == [
        ("page 1", "One."),
        ("page 3 > Two", "Text."),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_row_is_a_passage_with_the_names_of_its_columns(delimiter: str) -> None:
    rows = (("dish", "price"), ("Soup", "4"), ("", ""), ("Pie", ""))
    found = passages_of_rows("\n".join(map(delimiter.join, rows)))
    assert [(each.place, each.text) for each in found] == [
        ("row 2", "dish: Soup\nprice: 4"),
        ("row 4", "dish: Pie"),
    ]


def test_text_that_is_no_csv_is_refused() -> None:
    with pytest.raises(csv.Error):
        passages_of_rows('a,b\n"x"y,2')
