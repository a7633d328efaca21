"""`docs/prompts.md` shows the prompts of four situations exactly as they are built."""

import os
import re
from pathlib import Path

import pytest

from bench.prompts.situations import SITUATIONS
from skein.models.runs.completion import ModelRequest

DOCS = Path(__file__).parents[3] / "docs" / "prompts.md"


def _shown(request: ModelRequest) -> str:
    return "\n\n".join(f"--- {each.role}\n{each.content}" for each in request.messages)


@pytest.mark.parametrize("name", SITUATIONS)
def test_docs_show_the_prompt_of_each_situation(name: str) -> None:
    prompt = _shown(SITUATIONS[name]().request)
    docs = DOCS.read_text(encoding="utf-8")
    block = re.compile(
        rf"(## {re.escape(name)}\n.*?```text\n)(.*?)(\n```)", re.DOTALL | re.IGNORECASE
    )
    if os.environ.get("UPDATE_GOLDEN"):
        docs = block.sub(lambda found: found[1] + prompt + found[3], docs, count=1)
        DOCS.write_text(docs, encoding="utf-8")
    found = block.search(docs)
    assert found is not None
    assert found[2] == prompt
