"""Words of an unfinished text are certain once they can be neither silence nor a label."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.agent.spoken_start import spoken_start
from skein.agent.spoken_text import spoken
from tests.support.spoken import NAMES

PARTS = (
    *("[silence]", "[ Silence. ]", "(silence)", "\uff3bsilence\uff3d", "*[silence]*", "[", "("),
    *("**", "`", '"', " ", "\n", "\n\n", "- ", "> ", "\n---\n", "!", ".", "\u2014", "\u200b"),
    *("Hello", "See you", " at 10", "[note]", "[x](http://a.b)", "(so)", "Ann", "Mary", "Ann:"),
    *("[msg:3]", "[msg:3 14:50:00]", "[msg:3, reply to msg:2]", " Ann:", "Ann (human):"),
    *("Coach (agent, you):", "Ann (2) (human): ", "[Ann (agent)]", "[Ann (agent)]:"),
    *('[sent because Ann asked "hi" in "Team"] ', '"Hello, you"', " [SEEN]", "\u2190 TRIGGER"),
)


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_spoken_start_is_a_prefix_of_the_final_message(text: str) -> None:
    whole = spoken(text, NAMES)
    for end in range(len(text) + 1):
        assert whole.startswith(spoken_start(text[:end], NAMES))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", ""),
        ("Rest", "Rest"),
        ("Rest ", "Rest"),
        ("Rest on", "Rest on"),
        ("**Rest", "**Rest"),
        ("[note] Rest", "[note] Rest"),
        ("Ann", ""),
        ("Ann is right", "Ann is right"),
        ("Ann (human", ""),
        ("[Coach (agent)", ""),
        ("[Coach (agent)] Rest", "Rest"),
        ("[msg:3 14:50:00] Coach: Rest", "Rest"),
        ('[msg:3 14:50:00] Coach: "Rest', ""),
        ("[sil", ""),
        ("[silence]", ""),
        ("[silence] Rest", "Rest"),
        ("(silence)", ""),
        ("(silence) is golden", "(silence) is golden"),
        ("Rest. [", "Rest."),
        ("Rest. [silence]", "Rest."),
        ("Rest. [silence], he said", "Rest. [silence], he said"),
        ("Rest.\n- ", "Rest."),
        ("Rest.\n- now", "Rest.\n- now"),
        ('Rest "', "Rest"),
    ],
)
def test_words_are_held_back_until_they_are_certain(text: str, start: str) -> None:
    assert spoken_start(text, NAMES) == start
