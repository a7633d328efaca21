"""After a yes to forget, no prompt shows what was made from the forgotten words alone."""

from collections import Counter

import pytest

from skein.privacy import erasure_rules
from tests.attacks.cast import CONFIDED, SECRETS, words
from tests.attacks.known import FORGETS_A_SECRET_AND_SPEAKS_OF_IT as STORY
from tests.attacks.stage import Prompt
from tests.stories.town import Town

ANSWERED = 3  # steps of the story until the yes


def prompts_after_the_yes() -> list[str]:
    """Return what the malicious model was shown after the yes."""
    stage, before = Town(words=words(SECRETS[0]), honest=False), Counter[Prompt]()

    def count() -> None:
        if stage.step == ANSWERED + 1:
            before.update({place: len(texts) for place, texts in stage.prompts.items()})

    stage.play(STORY, before=count)
    return [text for place, texts in stage.prompts.items() for text in texts[before[place] :]]


def test_forgotten_words_reach_no_prompt() -> None:
    shown = prompts_after_the_yes()
    assert shown
    assert not [text for text in shown if CONFIDED in text]


def test_search_without_the_rule_finds_forgotten_words_in_a_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(erasure_rules, "is_from_deleted", lambda *_: False)
    assert [text for text in prompts_after_the_yes() if CONFIDED in text]
