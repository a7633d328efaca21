"""The README's commands do what it says, word for word, against a stack of the test's own."""

import os
import re
import shutil
import subprocess

import pytest

from local.template import ROOT
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI

URL = "URL=http://127.0.0.1:8787\n"
SECONDS = 60


def commands() -> str:
    """What a newcomer pastes into a terminal, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, text = text.partition("\n## A first conversation\n")
    text, _, _ = text.partition("\n## ")
    return "".join(re.findall(r"^```sh\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_first_conversation_goes_as_the_readme_tells_it(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    model.say("The plank.").say("Yes, but gently.")
    script = commands()
    assert script.startswith(URL)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(URL, f"URL={client.url}\n")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert '"body": "<Response/>"' in done.stdout
    assert '"body": "The plank."' in done.stdout
    assert '"status": "delivered"' in done.stdout
    assert '"text": "Yes, but gently."' in done.stdout
    assert "\nNOW: " in done.stdout
    assert re.search(r"^[0-9]+ TRIGGER$", done.stdout, flags=re.MULTILINE)
    assert '"phone": "+15005550100"' in done.stdout
    assert '"reason": "keyword"' in done.stdout
    assert "Should I stretch before I run?" in model.prompts()[1][-1]["content"]
