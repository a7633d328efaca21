"""The example clients of docs/live.md against a running stack, through lost connections."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.e2e.client import Client
from tests.e2e.process import ROOT

EXAMPLES = ROOT / "docs" / "examples"
PYTHON, BROWSER = EXAMPLES / "live_client.py", EXAMPLES / "live_client.js"
MAX_LINES = 60
MAX_CONNECTIONS = 10
SECONDS = 30.0
TENANT = "examples"

# What a page does with the module, for Node.
PAGE = """
import { LiveClient } from "./live_client.mjs";
const client = new LiveClient(process.argv[2], process.env.TOKEN);
client.onmessage = ({ chat_id, sender, text }) => console.log(`${chat_id} ${sender.name}: ${text}`);
client.onend = (error) => {
  console.error(`The token has expired: ${error.message}`);
  process.exit(1);
};
await client.start();
"""


class Example:
    """One run of an example client.

    Args:
        command: The program and its arguments.
        token: The token of the person.
        folder: Where the output is kept.
    """

    def __init__(self, command: list[str], token: str, folder: Path) -> None:
        self._out, self._errors = folder / "out", folder / "errors"
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, "TOKEN": token, "NO_PROXY": "127.0.0.1"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )

    @property
    def texts(self) -> list[str]:
        """The texts that it has printed so far."""
        lines = self._out.read_text(encoding="utf-8").splitlines()
        return [line.partition(": ")[2] for line in lines]

    @property
    def errors(self) -> str:
        """What it has reported so far."""
        return self._errors.read_text(encoding="utf-8")

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        give_up = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < give_up, f"{self.texts} {self.errors}"
            assert self._process.poll() is None, self.errors
            time.sleep(0.02)

    def exit_status(self) -> int:
        """Wait until it ends by itself."""
        return self._process.wait(SECONDS)

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def _node() -> list[str]:
    """Return the command of a Node that has WebSockets; skip the test without one."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    for options in ([], ["--experimental-websocket"]):
        probe = [node, *options, "-e", "process.exit(typeof WebSocket === 'function' ? 0 : 1)"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return [node, *options]
    pytest.skip("this Node has no WebSocket; Node 22 has one")


Run = Callable[[str], Example]


@pytest.fixture(params=["python", "browser"])
def run(request: pytest.FixtureRequest, client: Client, tmp_path: Path) -> Iterator[Run]:
    """Runs an example client with a token."""
    if request.param == "python":
        command = [sys.executable, str(PYTHON), client.url]
    else:
        shutil.copy(BROWSER, tmp_path / "live_client.mjs")
        (tmp_path / "page.mjs").write_text(PAGE, encoding="utf-8")
        command = [*_node(), str(tmp_path / "page.mjs"), client.url]
    with ExitStack() as started:

        def runs(token: str) -> Example:
            example = Example(command, token, tmp_path)
            started.callback(example.stop)
            return example

        yield runs


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
    example = run(token)
    posted = 0

    def first_shown() -> bool:
        nonlocal posted
        posted += 1
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
    example = run("no.valid.token")
    assert example.exit_status() == 1
    assert "The token has expired" in example.errors
    assert "Traceback" not in example.errors
