"""The small model on this machine, where it is installed."""

from pathlib import Path

import pytest
from openai import OpenAI

from local.errors import ModelMissingError
from local.model_server import MODEL_NAME, LocalModel, model_file


@pytest.mark.slow
def test_the_local_model_answers_in_words(tmp_path: Path) -> None:
    try:
        model_file()
    except ModelMissingError as missing:
        pytest.skip(str(missing))
    model = LocalModel(tmp_path)
    try:
        with OpenAI(base_url=model.wait(), api_key="none", max_retries=0) as client:
            answer = client.chat.completions.create(
                model=MODEL_NAME,
                messages=[{"role": "user", "content": "What is the capital of France?"}],
                max_completion_tokens=30,
            )
    finally:
        model.stop()
    assert answer.model == MODEL_NAME
    assert "Paris" in (answer.choices[0].message.content or "")
