"""The words of a text, and their stems."""

import pytest

from skein.services.common.words import stems_of


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("The dogs were running", ("dog", "run")),
        ("Order 4711, please!", ("order", "4711", "pleas")),
        ("Rex", ("rex",)),
        ("über München", ("über", "münchen")),
        ("と言う", ("と", "言", "う", "と言", "言う")),
        ("of the and", ()),
        ("", ()),
    ],
)
def test_stems_of_a_text_leave_out_fillers_and_case(text: str, stems: tuple[str, ...]) -> None:
    assert stems_of(text) == stems
