"""The settings read from the environment."""

import pytest

from skein.settings import Settings

URL = "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize(
    ("environment", "light"),
    [
        ({}, "gpt-4.1-nano"),
        ({"SKEIN_DEFAULT_MODEL": "big"}, "gpt-4.1-nano"),
        ({"SKEIN_OPENAI_BASE_URL": URL}, "gpt-4.1-mini"),
        ({"SKEIN_OPENAI_BASE_URL": URL, "SKEIN_DEFAULT_MODEL": "llama"}, "llama"),
        ({"SKEIN_OPENAI_BASE_URL": URL, "SKEIN_LIGHT_MODEL": ""}, "gpt-4.1-mini"),
        ({"SKEIN_OPENAI_BASE_URL": URL, "SKEIN_LIGHT_MODEL": "tiny"}, "tiny"),
    ],
)
def test_light_model_without_setting_follows_default_model_of_a_base_url(
    environment: dict[str, str], light: str
) -> None:
    assert Settings.from_environment(environment).light_model == light


def test_recall_turned_off_by_environment_cannot_be_overridden() -> None:
    assert Settings.from_environment({}).recall_tokens > 0
    settings = Settings.from_environment({"SKEIN_RECALL": "false"})
    assert settings.recall_tokens == 0
    assert settings.overridden({"recall_tokens": 2_000, "message_history_limit": 7}) == (
        settings.model_copy(update={"message_history_limit": 7})
    )
