"""`skein agent export` and `import`, on the handlers of the API."""

import argparse
from pathlib import Path

import httpx2
import pytest

import admin_api
from local import agent_command
from local.agent_command import add_agent_command
from tests.support.api_client import Client
from tests.support.builders import World


class Terminal:
    """A terminal from which the command reaches an API."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.admin = Client(World(), admin_api, sub="usr_op", scope="admin")
        transport = httpx2.MockTransport(self._answer)

        def connected(url: str) -> httpx2.Client:
            return httpx2.Client(base_url=url, transport=transport)

        monkeypatch.setattr(agent_command, "_connected", connected)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = self.admin.call(
            request.method,
            request.url.path,
            raw=request.content or None,
            query=dict(request.url.params),
            content_type=request.headers.get("content-type", ""),
        )
        text = str(answer.raw["body"])
        return httpx2.Response(answer.status, content=text.encode())

    def run(self, *arguments: str) -> int:
        parser = argparse.ArgumentParser()
        add_agent_command(parser.add_subparsers())
        given = parser.parse_args(["agent", *arguments])
        return int(given.command(given))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(monkeypatch)


def test_agent_is_exported_imported_and_updated(
    terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = terminal.admin.post("/v1/agents", {"name": "Mira", "template": "coach"}).body
    path = tmp_path / "mira.yaml"
    assert terminal.run("export", "Mira", "-o", str(path)) == 0
    assert terminal.run("export", made["id"]) == 0
    assert capsys.readouterr().out == f"Exported Mira to {path}\n{path.read_text()}"
    path.write_text(path.read_text().replace("name: Mira", "name: Tom"))
    assert terminal.run("import", str(path)) == 0
    assert capsys.readouterr().out.startswith("Created Tom (agt_")
    path.write_text(
        "agent: {name: Tom, system_prompt: You are Tom.}\n"
        "tools:\n"
        "- name: order_status\n"
        "  description: Look up an order.\n"
        "  http: {url: https://shop.example/orders}\n"
        "  credentials: {secret_arn: shop, header: X-Key}\n"
    )
    assert terminal.run("import", str(path), "--into", "Tom") == 0
    updated, secret = capsys.readouterr().out.splitlines()
    assert updated.startswith("Updated Tom (agt_")
    assert secret == "The tool order_status needs the secret skein-tools/acme/shop (X-Key)"
    prompts = [each["system_prompt"] for each in terminal.admin.get("/v1/agents").body["items"]]
    assert prompts == [made["system_prompt"], "You are Tom."]
    path.write_text(path.read_text().replace("Look up", "Find"))
    assert terminal.run("import", str(path), "--into", "Tom") == 1
    assert "tools.order_status: this tenant has a different tool" in capsys.readouterr().err
    assert terminal.run("import", str(path), "--into", "Tom", "--overwrite") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "Nobody"], "there is no agent Nobody; there are: Mira"),
        (["export", "Mira"], "several agents are named Mira: give one of agt_"),
        (["import", "{path}"], "some values are invalid\n  agent.colour: Extra inputs"),
        (["import", "{path}.none"], "No such file"),
    ],
)
def test_command_that_fails_says_why(
    terminal: Terminal,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    for _ in range(2):
        terminal.admin.post("/v1/agents", {"name": "Mira"})
    path = tmp_path / "mira.yaml"
    path.write_text("agent: {name: Mira, colour: red}")
    assert terminal.run(*(each.replace("{path}", str(path)) for each in arguments)) == 1
    assert said in capsys.readouterr().err


def test_token_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKEIN_TOKEN", "sk_1")
    with agent_command._connected("https://api.example") as http:
        assert http.headers["authorization"] == "Bearer sk_1"
    monkeypatch.delenv("SKEIN_TOKEN")
    with pytest.raises(agent_command.CommandError, match="set SKEIN_TOKEN"):
        agent_command._connected("http://127.0.0.1:1")
