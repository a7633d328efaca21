"""The client of MCP servers, against a server of the official library, also without its server."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from local.template import ROOT
from skein.adapters.mcp_client import LibraryMcpClient
from skein.errors import Ambiguous, Unavailable
from skein.models.common.http import HttpAnswer, HttpRequest, McpAnswer
from tests.support.mcp_server import URL, Shop, shop
from tools.deployment.layer import MCP_FOLDERS

CLIENT = LibraryMcpClient()
MODULES = {"python-multipart": "python_multipart", "sse-starlette": "sse_starlette"}

WITHOUT = """
import json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())

from skein.adapters.mcp_client import LibraryMcpClient
from skein.models.common.http import HttpAnswer

RESULTS = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0,
                        "cacheScope": "private", "resultType": "complete"},
    "tools/list": {"tools": [{"name": "sing", "inputSchema": {"type": "object"},
                              "outputSchema": {"type": "object"}}],
                   "ttlMs": 0, "cacheScope": "private", "resultType": "complete"},
    "tools/call": {"content": [], "structuredContent": {"la": 1}, "resultType": "complete"},
}

def send(request):
    asked = json.loads(request.body)
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[asked["method"]]}
    return HttpAnswer(status=200, content_type="application/json", body=json.dumps(answer).encode())

client = LibraryMcpClient()
listing = client.tools("https://a.example/mcp", send, seconds=5)
print(client.call("https://a.example/mcp", listing.version, "sing", {}, send, seconds=5).text)
"""


def pruned() -> Iterator[str]:
    """The packages of the library that the layer leaves out."""
    spec = find_spec("mcp")
    assert spec is not None
    [root] = spec.submodule_search_locations or [""]
    for part, kept in MCP_FOLDERS.items():
        folders = (each for each in (Path(root) / part).iterdir() if each.is_dir())
        yield from (
            ".".join(["mcp", *filter(None, [part]), each.name])
            for each in folders
            if each.name not in kept
        )


@pytest.fixture(scope="module")
def server() -> Iterator[Shop]:
    with shop() as made:
        yield made


def older(server: Shop) -> Any:
    """The server, as it answers clients that know no stateless protocol."""

    def send(request: HttpRequest) -> HttpAnswer:
        stateless = b"server/discover" in request.body
        return HttpAnswer(status=404) if stateless else server.answer(request)

    return send


@pytest.mark.parametrize("old", [False, True])
def test_tools_are_listed_and_called_at_both_generations_of_servers(
    server: Shop, old: bool
) -> None:
    send = older(server) if old else server.answer
    listing = CLIENT.tools(URL, send, seconds=10)
    assert (listing.version < "2026") == old
    assert [(each.name, each.reads) for each in listing.tools][:2] == [
        ("order_status", True),
        ("book_table", False),
    ]
    given = {"order": "17"}
    answer = CLIENT.call(URL, listing.version, "order_status", given, send, seconds=10)
    assert answer == McpAnswer(refused=False, text="17 is on its way")


@pytest.mark.parametrize("error", [Unavailable("down"), Ambiguous("slow"), KeyboardInterrupt()])
def test_error_of_the_guard_is_raised_as_it_is(error: BaseException) -> None:
    def send(_: HttpRequest) -> HttpAnswer:
        raise error

    with pytest.raises(type(error)) as raised:
        CLIENT.call(URL, "2026-07-28", "order_status", {}, send, seconds=10)
    assert raised.value is error


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (200, "text/html", b"<p>Welcome"),
        (200, "application/json", b"{"),
        (401, "text/plain", b"who are you"),
        (202, "", b""),
    ],
)
def test_answer_of_another_kind_is_a_refusal(status: int, kind: str, body: bytes) -> None:
    answer = HttpAnswer(status=status, content_type=kind, body=body)
    got = CLIENT.call(URL, "2026-07-28", "order_status", {}, lambda _: answer, seconds=10)
    assert got.refused


@pytest.mark.check
def test_client_works_without_the_packages_that_the_layer_leaves_out() -> None:
    lines = (ROOT / "requirements" / "overrides-layer.pip").read_text().splitlines()
    packages = {line.split(";")[0].strip() for line in lines if ";" in line}
    blocked = {MODULES.get(each, each) for each in packages} | set(pruned())
    assert {"starlette", "mcp.server", "mcp.client.auth"} <= blocked
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *sorted(blocked)],
        env={"PYTHONPATH": str(ROOT / "shared")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ('{"la": 1}\n', "")
