"""Silence tokens and prompt labels are removed from answers."""

import pytest

from skein.agent.spoken_text import is_silence, spoken, without_labels
from tests.support.spoken import NAMES


@pytest.mark.parametrize(
    "text",
    [
        "[silence]",
        "[Silence].",
        " [SILENCE] \n",
        "**[silence]**",
        "`[silence]`",
        '"[silence]"',
        "\u201c[silence]\u201d",
        "[ silence ]",
        "[silence.]",
        "\u200b[silence]\ufeff",
        "[sil\u200bence]",
        "(silence)",
        "<silence>",
        "\uff3bsilence\uff3d",
        "> [silence]",
        "[silence]\n[silence]",
        "[silence]!!!",
    ],
)
def test_silence_token_in_any_form_is_silence(text: str) -> None:
    assert is_silence(text)
    assert spoken(text, NAMES) == ""


@pytest.mark.parametrize(
    "text",
    ["", "Silence.", "silence", "*silence*", "[quiet]", "The opposite of noise is [silence], Ann."],
)
def test_other_text_is_no_silence_and_stays(text: str) -> None:
    assert not is_silence(text)
    assert spoken(text, NAMES) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("See you at 10. [silence]", "See you at 10."),
        ("See you at 10.\n\n**[Silence].**", "See you at 10."),
        ("See you at 10. `[silence]`", "See you at 10."),
        ("[silence] See you at 10.", "See you at 10."),
        ("[silence]. See you at 10.", "See you at 10."),
        ("**[silence]**\n\n**See you** at 10.", "**See you** at 10."),
        ("[silence]\n- one\n- two", "- one\n- two"),
        ("One.\n[silence]\nTwo.", "One.\nTwo."),
        ("[silence] One. [silence]", "One."),
    ],
)
def test_silence_token_beside_other_text_is_removed(text: str, left: str) -> None:
    assert not is_silence(text)
    assert spoken(text, NAMES) == left


def test_silence_token_in_a_long_text_takes_no_long_time() -> None:
    text = f"[silence{' ' * 10_000}{'[' * 10_000}"
    assert spoken(text, NAMES) == text


@pytest.mark.parametrize(
    "text",
    [
        "[Ann (agent)] Hello",
        "[Coach (agent)] Hello",
        "[Ann (human)]: Hello",
        "[Mary Ann (human)]\nHello",
        "[Ann (human), msg:41 2026-02-18 14:50 UTC, reply to msg:3] Hello",
        "[msg:41 2026-02-18 14:50 EET] Hello",
        '[msg:41 14:50:00] You (reply to msg:3, waited for a reply): "Hello" [SEEN]',
        '[sent because Ann asked "Say [hello]" in "1:1 with Ann"] Hello',
        "[question to Ann, open until 2026-02-19 12:00 UTC] Hello",
        '[msg:41 2026-02-18 14:50 UTC, question to Ann (2), answered "Yes" in msg:42] Hello',
        '[msg:41 14:50:00] You (question to Ann, expired): "Hello" [SEEN]',
        "[Ann (2) (human)] Hello",
        "[Ann (agent, id:agt_1)] Hello",
        "[Coach (agent, you)] Hello",
        "[msg:41 14:50:00] [Ann (agent)] Hello",
        "[msg:41 14:50:00 Ann (agent)] Hello",
        "[msg:41 14:50:00] Hello",
        "[msg:41 14:50:00] Ann: Hello",
        '[msg:41 14:50:00] Ann: "Hello" [SEEN]',
        '[msg:41] [2026-02-18T14:50:00Z] You: "Hello"  [NEW] \u2190 TRIGGER',
        '[msg:41] [2026-02-18T14:50:00Z] Ann (human, id:usr_1) (reply to msg:3): "Hello"  [SEEN]',
        "Coach (agent, id:agt_1): Hello",
        "**[Ann (agent)]** Hello",
        "\u200b [Ann (agent)] [Ann (agent)] Hello",
    ],
)
def test_label_in_the_format_of_a_prompt_is_removed(text: str) -> None:
    assert without_labels(text, NAMES) == "Hello"
    assert spoken(text, NAMES) == "Hello"


@pytest.mark.parametrize(
    "text",
    [
        "[Bob (human)] Hello",
        "[Ann] Hello",
        "Ann: Hello",
        "[14:50] Breakfast",
        "[1] See below",
        "Hello [Ann (agent)]",
        "[Annabel (human)] Hello",
        "[TODO] Hello",
        "Dear Ann (human), hello",
    ],
)
def test_text_that_is_no_label_stays(text: str) -> None:
    assert spoken(text, NAMES) == text


def test_silence_after_a_label_is_silence() -> None:
    assert spoken("[Coach (agent)] [silence]", NAMES) == ""
    assert is_silence(without_labels("[Coach (agent)] [silence].", NAMES))


def test_quotes_of_an_entry_that_continues_stay() -> None:
    text = '[msg:4 14:50:00] Coach: "Yes" is my answer'
    assert spoken(text, NAMES) == '"Yes" is my answer'
