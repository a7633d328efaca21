"""Our clients against a running stack: live, offline, and through lost connections."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.sync.client import connect

import skein
import skein_client
from tests.e2e.client import Client
from tests.e2e.example_process import MAX_CONNECTIONS, Example, node
from tests.e2e.process import ROOT
from tests.support.cuttable_proxy import CuttableProxy
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.typescript import TYPESCRIPT, build_typescript, skip_without_generators
from tools import generators

CLIENTS = ROOT / "clients"
PYTHON = CLIENTS / "python"
TENANT = "clients"
MAX_LINES = 32


@pytest.fixture
def proxy(client: Client) -> Iterator[CuttableProxy]:
    """The stack, behind a connection that a test cuts."""
    started = CuttableProxy(client.url)
    yield started
    started.stop()


class Talk(Example):
    """A running example, with standard input."""

    def __init__(self, command: list[str], token: str, folder: Path) -> None:
        self._out, self._errors = folder / "out", folder / "errors"
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={
                    **os.environ,
                    "TOKEN": token,
                    "NO_PROXY": "127.0.0.1",
                    "PYTHONPATH": str(PYTHON / "src"),
                },
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=errors,
            )

    @property
    def lines(self) -> list[str]:
        """The lines that it has printed."""
        return self._out.read_text(encoding="utf-8").splitlines()

    def stop(self) -> None:
        """End it."""
        super().stop()
        assert self._process.stdin
        self._process.stdin.close()

    def say(self, text: str) -> None:
        """Type a line."""
        assert self._process.stdin
        self._process.stdin.write(f"{text}\n".encode())
        self._process.stdin.flush()


@pytest.fixture(params=["python", pytest.param("typescript", marks=pytest.mark.slow)])
def example(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The command of an example, up to its arguments."""
    if request.param == "python":
        return [sys.executable, str(PYTHON / "example.py")]
    skip_without_generators()
    return [*node(), str(build_typescript(tmp_path) / "example.mjs")]


@pytest.mark.parametrize(
    "path", [PYTHON / "example.py", TYPESCRIPT / "example.mjs"], ids=lambda path: path.suffix
)
def test_example_of_a_client_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_python_client_has_the_version_and_licence_of_skein() -> None:
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["version"], project["license"]) == (skein.__version__, "Apache-2.0")
    assert (PYTHON / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (PYTHON / "src" / "skein_client" / "py.typed").is_file()


@pytest.mark.slow
def test_typescript_client_is_packed_with_types_and_without_dependencies(tmp_path: Path) -> None:
    skip_without_generators()
    package = build_typescript(tmp_path)
    shutil.rmtree(package / "dist")  # `npm pack` builds it
    manifest = json.loads((package / "package.json").read_text(encoding="utf-8"))
    assert (manifest["version"], manifest["license"]) == (skein.__version__, "Apache-2.0")
    assert "dependencies" not in manifest
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    packed = generators.run(["npm", "pack", "--json", "--offline"], package)
    [report] = json.loads(packed.stdout)
    sources = (package / "src").glob("*.ts")
    assert {each["path"] for each in report["files"]} == {
        *("LICENSE", "README.md", "package.json"),
        *(f"dist/{path.stem}{suffix}" for path in sources for suffix in (".js", ".d.ts")),
    }
    lock = "package-lock.json"
    assert (package / lock).read_bytes() == (TYPESCRIPT / lock).read_bytes()
    assert "clients/typescript/*.tgz" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def test_example_after_cut_connection_posts_and_shows_each_message_once(
    client: Client,
    proxy: CuttableProxy,
    model: ScriptedOpenAI,
    tmp_path: Path,
    example: list[str],
) -> None:
    model.default = "Yes, but slowly."
    admin = client.token("operator", "admin", TENANT)
    agent = client.ok("POST", "/v1/agents", {"name": "Coach", "listed": True}, token=admin)
    token = client.token(f"usr_{Path(example[-1]).suffix[1:]}", "chat", TENANT)
    new = {"kind": "direct", "members": [{"kind": "agent", "id": agent["id"]}]}
    chat = client.ok("POST", "/v1/chats", new, token=token)["id"]
    storage = tmp_path / "outbox.json"
    with ExitStack() as stopped:
        talk = Talk([*example, proxy.url, chat, str(storage)], token, tmp_path)
        stopped.callback(talk.stop)
        talk.wait_until(lambda: "connected" in talk.errors)
        talk.say("Should I stretch?")
        talk.wait_until(lambda: len(talk.lines) == 2)
        proxy.cut()
        for _ in range(MAX_CONNECTIONS):  # so that the live channel closes the oldest one
            live = client.ok("POST", "/v1/live", token=token)
            stopped.enter_context(connect(f"{live['url']}?ticket={live['ticket']}"))
        talk.wait_until(lambda: "lost" in talk.errors)
        talk.say("written offline")
        talk.wait_until(lambda: "written offline" in storage.read_text(encoding="utf-8"))
        talk.stop()  # the outbox survives the end of the process
        proxy.mend()
        again = Talk([*example, proxy.url, chat, str(storage)], token, tmp_path)
        stopped.callback(again.stop)
        again.wait_until(lambda: json.loads(storage.read_text(encoding="utf-8")) == [])
        client.drain()
    messages = client.ok("GET", f"/v1/chats/{chat}/messages", token=token)["items"]
    assert [message["text"] for message in messages] == [
        "Should I stretch?",
        "Yes, but slowly.",
        "written offline",
        "Yes, but slowly.",
    ]
    model.default = None


def test_question_of_an_app_gets_its_answer_from_both_python_clients(
    client: Client, model: ScriptedOpenAI
) -> None:
    model.default = "The plank."
    token = client.token("asker", tenant="demo")
    with skein_client.Client(client.url, token) as api:
        agent = next(api.agents.list())
        chat = api.chats.open(agent["id"])["id"]
        answer = api.chats.ask(chat, "What is a good exercise?")
        file = api.media.upload(chat, b"Three times a minute.", "text/plain")
    assert answer["sender"]["kind"] == "agent"
    assert file.startswith("med_")

    async def converse() -> list[str]:
        async with skein_client.AsyncClient(client.url, token) as api:
            again = await api.chats.ask(chat, "And another one?")
            assert again["seq"] > answer["seq"]
            assert {each["kind"] async for each in api.members.list(chat)} == {"user", "agent"}
            return [each["sender"]["kind"] async for each in api.messages.list(chat)]

    assert asyncio.run(converse()) == ["user", "agent", "user", "agent"]
    client.call("POST", "/local/drain")
    model.default = None
