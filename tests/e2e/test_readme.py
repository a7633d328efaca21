"""The commands of the README and of other pages do what the pages say, against a running stack."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.config import Config
from local.model.server import MODEL_NAME, SETTINGS, make_server
from local.model.small_model import Continuation, SmallModel
from local.python_agent import PythonAgent
from local.stack import Stack
from local.template import ROOT
from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.each import check_each
from tests.support.identity_provider import AUDIENCE, Provider, running_provider
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.shell_pages import matches, run_page
from tests.support.template import deployed_template

NIGHT = 23  # in people's quiet hours

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def test_program_of_readme_is_the_example_and_its_commands_get_answers(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    example = ROOT / "examples" / "my_agent.py"
    assert f"```python\n{example.read_text('utf-8')}```" in (ROOT / "README.md").read_text("utf-8")
    client = start(agent=PythonAgent.load(example))
    model.call_tools(("opening_hours", {"day": "Sunday"})).say("On Sunday from 12 to 16.")
    model.call_tools(("opening_hours", {"day": "Monday"})).say("No, on Monday we are closed.")
    [printed] = run_page("README.md", client.url)
    by_sms, asked, by_api = printed.splitlines()
    assert by_sms == "On Sunday from 12 to 16."
    assert asked.endswith(": Are you open on Monday?")
    assert by_api == "Luigi: No, on Monday we are closed."
    assert "open from 12 to 16" in str(model.prompts()[1])


def seconds_until(hour: int) -> int:
    """The seconds until a full hour in UTC."""
    now = datetime.now(UTC)
    return int(((hour - now.hour) % 24) * 3_600) or 24 * 3_600


@pytest.fixture
def keyless(tmp_path: Path) -> Iterator[tuple[Client, list[str]]]:
    """A stack without a key, and the prompts that the small model's weights were to continue."""
    asked: list[str] = []

    def continued(prompt: str) -> Continuation:
        asked.append(prompt)
        return Continuation("", whole=True)

    server = make_server(SmallModel(MODEL_NAME, continued).complete)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    config = Config(port=0, data_dir=tmp_path / "data", openai_base_url=url, settings=SETTINGS)
    try:
        with Stack(config, template=deployed_template()) as stack:
            yield Client(stack.url), asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_commands_of_tutorial_print_what_it_shows_without_a_key(
    keyless: tuple[Client, list[str]],
) -> None:
    client, asked = keyless
    client.ok("POST", "/local/clock", {"advance_seconds": seconds_until(NIGHT)})
    run_page("docs/tutorial.md", client.url)
    assert asked == []


def test_commands_of_local_page_are_accepted(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start()
    model.say("Hello!")
    outputs = [json.loads(output) for output in run_page("docs/local.md", client.url) if output]
    assert len(outputs) >= 9
    assert not [output for output in outputs if "error" in output]


def test_commands_of_how_to_guides_print_what_the_page_shows(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    told = {"text": "Rice and fruit, three hours before."}
    model.say("We open at nine.").say("We open at nine.")  # the two plays of the trial
    model.call_tools(("send_message", told)).say("").say("Hello Ben!")
    run_page("docs/how-to.md", client.url)
    assert "You are closed." in str(model.prompts()[:2])
    assert "You plan meals for athletes." in str(model.prompts()[2])
    assert client.texts() == []


def test_commands_of_receptionist_guide_print_what_the_page_shows(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    model.call_tools(("read_document", {"name": "hours.md"}))
    model.say("No, we are closed on weekends. We open again on Monday at 8.")
    model.call_tools(("free_times", {"day": "wednesday"}))
    model.say("On Wednesday, 10:00 and 16:30 are free. Which one suits you?")
    asked = {"reason": "A question about a bill", "summary": "The caller asks about a bill"}
    model.call_tools(("ask_a_person", asked))
    run_page("docs/receptionist.md", client.url)
    found = str(model.prompts())
    assert "Closed on weekends and holidays." in found
    assert "Free on Wednesday: 10:00 and 16:30." in found
    assert "call 112" in str(model.prompts()[0])


def test_commands_of_sign_in_guide_print_what_the_page_shows(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    model.say("Hello Ann!")
    run_page("docs/sign-in.md", client.url)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


def test_claims_of_sign_in_guide_are_those_that_a_providers_token_needs(
    start: StartStack, provider: Provider
) -> None:
    page = (ROOT / "docs" / "sign-in.md").read_text(encoding="utf-8")
    issuer = {"console_issuer": provider.url, "console_audience": AUDIENCE}
    client = start(**issuer, console_client_id="console-of-skein")
    claims: dict[str, object] = {"tenant": "my-app", "sub": "ann-4711", "name": "Ann Bell"}
    whole = client.ok("GET", "/v1/me", token=provider.token(**claims))
    assert (whole["id"], whole["name"]) == ("ann-4711", "Ann Bell")

    def is_needed(claim: str) -> None:
        assert re.search(rf"^\| `{claim}`.* \| yes(?:, unless .*)? \|$", page, re.MULTILINE)
        answer = client.call("GET", "/v1/me", token=provider.token(**{**claims, claim: None}))
        assert answer.status in {401, 403}

    needed = ("iss", "aud", "exp", "sub", "tenant", "scope")
    check_each({claim: claim for claim in needed}, is_needed)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        (
            '"id": "msg_01M8052A0RRXM7989ADR524XMF"\n',
            '"id": "msg_01M8052A0RRXM7989ADR524XMG"\n',
            True,
        ),
        ('"seq": 2\n', '"seq": 3\n', False),
        ("40 IDENTITY\n", "41 IDENTITY\n", True),
        ("NOW: 23:25 UTC\n", "NOW: 01:02 UTC\n", True),
        ("Coach: Yes.\n", "Coach: No.\n", False),
    ],
)
def test_output_that_differs_in_more_than_ids_and_times_is_another_one(
    shown: str, printed: str, same: bool
) -> None:
    assert matches(shown, printed) == same
