"""The example clients of docs/clients.md against a running stack, through lost connections."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.e2e.client import Client
from tests.e2e.example_process import MAX_CONNECTIONS, Example, node
from tests.e2e.process import ROOT
from tests.support.scripted_api import ScriptedApi

EXAMPLES = ROOT / "docs" / "examples"
PYTHON, BROWSER = EXAMPLES / "live_client.py", EXAMPLES / "live_client.js"
MAX_LINES = 60
TENANT = "examples"

# What a page does with the module, for Node.
PAGE = """
import { LiveClient } from "./live_client.mjs";
const client = new LiveClient(process.argv[2], process.env.TOKEN);
client.onmessage = ({ chat_id, sender, text }) => console.log(`${chat_id} ${sender.name}: ${text}`);
client.ondraft = (chat, agent, words) => console.error(`${chat} ${agent.name} writes: ${words}`);
client.onend = (error) => {
  console.error(`The token has expired: ${error.message}`);
  process.exit(1);
};
await client.start();
"""


class Run:
    """Starts an example client.

    Args:
        command: The program, up to the example's own arguments.
        folder: Where the output is kept.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command, self._folder = command, folder
        self._started = ExitStack()

    def __call__(self, url: str, token: str) -> Example:
        """Start it for an API and a token."""
        example = Example([*self._command, url], token, self._folder)
        self._started.callback(example.stop)
        return example

    def stop(self) -> None:
        """End what was started."""
        self._started.close()


def _command(name: str, folder: Path, *, ping_seconds: float | None = None) -> list[str]:
    """Copy an example into a folder, with another pause between pings; return its command."""
    example = PYTHON if name == "python" else BROWSER
    source = example.read_text(encoding="utf-8")
    if ping_seconds is not None:
        assert source.count("120.0") + source.count("120_000") == 1
        source = source.replace("120.0", str(ping_seconds))
        source = source.replace("120_000", str(round(ping_seconds * 1000)))
    copy = folder / f"{example.stem}{'.py' if name == 'python' else '.mjs'}"
    copy.write_text(source, encoding="utf-8")
    if name == "python":
        return [sys.executable, str(copy)]
    (folder / "page.mjs").write_text(PAGE, encoding="utf-8")
    return [*node(), str(folder / "page.mjs")]


@pytest.fixture(params=["python", "browser"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    """Starts an example client as it is."""
    runs = Run(_command(request.param, tmp_path), tmp_path)
    yield runs
    runs.stop()


@pytest.fixture(params=["python", "browser"])
def run_with_short_pings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    """Starts an example client that pings often."""
    runs = Run(_command(request.param, tmp_path, ping_seconds=1.5), tmp_path)
    yield runs
    runs.stop()


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    """An API that a test scripts."""
    started = ScriptedApi()
    yield started
    started.stop()


class Chat:
    """A chat of one person, in which no agent answers."""

    def __init__(self, client: Client, token: str) -> None:
        self._client, self._token, self._posted = client, token, 0
        new = {"kind": "group", "respond": "manual"}
        self.id = client.ok("POST", "/v1/chats", new, token=token)["id"]

    def post(self, text: str) -> None:
        """Post a message."""
        self._posted += 1
        message = {"text": text, "client_id": str(self._posted)}
        self._client.ok("POST", f"/v1/chats/{self.id}/messages", message, token=self._token)


@pytest.mark.parametrize("example", [PYTHON, BROWSER], ids=lambda path: path.suffix)
def test_example_client_has_at_most_sixty_lines(example: Path) -> None:
    lines = example.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= 110


def test_example_client_after_lost_connection_shows_each_message_once(
    client: Client, run: Run, request: pytest.FixtureRequest
) -> None:
    token = client.token(f"usr_{request.node.callspec.id}", "chat", TENANT)
    chat = Chat(client, token)
    chat.post("before the start")
    example = run(client.url, token)
    posted, next_at = 0, 0.0

    def first_shown() -> bool:
        nonlocal posted, next_at
        if time.monotonic() >= next_at:  # a person may post 20 messages in a minute
            posted, next_at = posted + 1, time.monotonic() + 1
            chat.post(f"{posted}")
        return bool(example.texts)

    example.wait_until(first_shown)
    with ExitStack() as others:
        for _ in range(MAX_CONNECTIONS):
            live = client.ok("POST", "/v1/live", token=token)
            others.enter_context(connect(f"{live['url']}?ticket={live['ticket']}"))
        example.wait_until(lambda: "connection was lost" in example.errors)
        chat.post("meanwhile")
        later = Chat(client, token)
        later.post("in a new chat")
    example.wait_until(lambda: {"meanwhile", "in a new chat"} <= set(example.texts))
    chat.post("after")
    example.wait_until(lambda: "after" in example.texts)
    numbers = [text for text in example.texts if text.isdigit()]
    first = int(numbers[0])
    assert numbers == [str(number) for number in range(first, posted + 1)]
    rest = [text for text in example.texts if not text.isdigit()]
    assert sorted(rest) == ["after", "in a new chat", "meanwhile"]
    assert rest.index("meanwhile") < rest.index("after")


def test_example_client_with_refused_token_ends_with_a_message(client: Client, run: Run) -> None:
    example = run(client.url, "no.valid.token")
    assert example.exit_status() == 1
    assert "The token has expired" in example.errors
    assert "Traceback" not in example.errors


def test_example_client_with_lost_and_repeated_frames_shows_each_message_once(
    api: ScriptedApi, run: Run
) -> None:
    api.texts = ["old"]
    example = run(api.url, "token")
    example.wait_until(lambda: api.connected == 1)
    api.texts += ["2", "3", "4", "5", "6"]
    api.push(6)
    example.wait_until(lambda: "6" in example.texts)
    api.push(3)
    api.push(6)
    api.texts += ["7"]
    api.push(7)
    example.wait_until(lambda: "7" in example.texts)
    api.texts += ["8"]
    api.push()
    example.wait_until(lambda: "8" in example.texts)
    assert example.texts == ["2", "3", "4", "5", "6", "7", "8"]
    assert example.errors.count("connection was lost") == 0


def test_example_client_shows_the_words_of_answers_without_gaps(api: ScriptedApi, run: Run) -> None:
    example = run(api.url, "token")
    example.wait_until(lambda: api.connected == 1)
    for n, text in ((1, "Rest"), (2, " on"), (2, " on"), (4, " lost"), (3, " Monday")):
        api.push_words(n, text)
    api.push_words(0)
    api.push_words(2, " from before")
    api.push_words(1, "Run")
    lines = ["Rest", "Rest on", "Rest on Monday", "", "Run"]
    shown = [f"chat_1 Coach writes: {words}".strip() for words in lines]
    example.wait_until(lambda: shown[-1] in example.errors)
    assert [line.strip() for line in example.errors.splitlines()] == shown


def test_example_client_with_connection_lost_in_an_answer_forgets_its_words(
    api: ScriptedApi, run: Run, request: pytest.FixtureRequest
) -> None:
    example = run(api.url, "token")
    example.wait_until(lambda: api.connected == 1)
    api.push_words(1, "Rest")
    example.wait_until(lambda: "writes: Rest" in example.errors)
    api.drop()
    example.wait_until(lambda: api.connected == 2)
    api.push_words(2, " on")
    api.push_words(1, "Run")
    example.wait_until(lambda: "writes: Run" in example.errors)
    lines = example.errors.splitlines()
    assert not any("Rest on" in line for line in lines)
    if request.node.callspec.id == "browser":  # the page removes the words
        assert "chat_1 Coach writes:" in [line.strip() for line in lines]


@pytest.mark.parametrize("status", ["done", "failed"])
def test_example_client_voids_the_words_of_an_ended_run(
    api: ScriptedApi, run: Run, status: str
) -> None:
    example = run(api.url, "token")
    example.wait_until(lambda: api.connected == 1)
    api.push_words(1, "Rest")
    api.push_end("working")
    api.push_words(2, " on")
    api.push_end(status)
    api.push_words(3, " Monday")
    api.push_words(1, "Run")
    shown = [f"chat_1 Coach writes: {words}".strip() for words in ("Rest", "Rest on", "", "Run")]
    example.wait_until(lambda: shown[-1] in example.errors)
    assert [line.strip() for line in example.errors.splitlines()] == shown


def test_example_client_without_answer_to_pings_connects_until_the_token_is_refused(
    api: ScriptedApi, run_with_short_pings: Run
) -> None:
    example = run_with_short_pings(api.url, "token")
    example.wait_until(lambda: api.pings > 2)
    assert api.connected == 1
    api.answers_pings = False
    example.wait_until(lambda: api.connected == 2)
    assert "connection was lost" in example.errors
    api.signed_in = False
    assert example.exit_status() == 1
    assert "The token has expired" in example.errors
