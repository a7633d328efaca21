"""The how-to "Where is my order?" of docs/own-tools.md, run as it is written."""

import re
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from local.python_tools import load_tools
from local.template import ROOT
from skein.adapters.outbound_http import OutboundHttpClient
from skein.own_tools.api import NewTool
from skein.own_tools.functions import use_functions_of
from skein.own_tools.models.server_tool import ServerToolRights
from skein.settings import Settings
from tests.support.agents import results_of
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, calls
from tests.support.mcp_server import SHOP, serving
from tests.support.own_tools import LOOK_UP, own_tool

HUSAM, ANN = person("husam", "Husam"), person("ann", "Ann")
FUNCTION, SERVICE, BY_MCP = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "own-tools.md").read_text(encoding="utf-8"), re.DOTALL
)


def told(
    tool: dict[str, Any], by: Any, name: str = "order_status", **overrides: Any
) -> tuple[str, str]:
    """What an agent is told that looks up the order of Husam for somebody."""
    model = ScriptedModel.saying(calls((name, {"order": "1234"})), "Here you are.")
    world = World(Settings(local=True), model, overrides)
    world.agent(enabled_tools=(name,))
    own_tool(world, tool)
    world.chat(by, bot(), kind="direct", visibility="private", title=None)
    world.post("Where is my order 1234?", by)
    world.drain()
    [run] = world.runs("chat_1")
    [result] = results_of(world, run)
    return result.status, result.content.splitlines()[-1]


@pytest.fixture
def _my_tools(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "my_tools.py").write_text(FUNCTION)
    load_tools(tmp_path / ".data")
    yield
    use_functions_of()


@pytest.mark.usefixtures("_my_tools")
def test_documented_function_tool_returns_only_the_callers_orders() -> None:
    tool = LOOK_UP | {"http": None, "python": {"function": "order_status"}, "parameters": None}
    assert told(tool, HUSAM) == ("done", "| It is on its way.")
    assert told(tool, ANN) == ("done", "| There is no such order of this person.")


def test_documented_http_service_returns_only_the_callers_orders() -> None:
    page: dict[str, Any] = {"__name__": "orders"}
    exec(SERVICE, page)
    page["Orders"].log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), page["Orders"]) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page["BASE"] = f"http://127.0.0.1:{server.server_port}"
        tool = LOOK_UP | {"http": {"url": page["BASE"] + "/orders/{order}"}}
        http = OutboundHttpClient(loopback=True)
        assert told(tool, HUSAM, outbound_http=http)[1] == '| {"error": "not signed by Skein"}'
        world = World(Settings(local=True))
        made = own_tool(world, tool)
        page["SECRET"] = world.app.own_tools._with_secret(made).secret
        page["verify_call"] = _at_noon(page["verify_call"])
        by_husam = told(tool | {"nonce": made.nonce}, HUSAM, outbound_http=http)
        assert by_husam == ("done", '| {"state": "on its way"}')
        by_ann = told(tool | {"nonce": made.nonce}, ANN, outbound_http=http)
        assert by_ann == ("correctable", '| {"error": "this person has no such order"}')
        server.shutdown()


def test_documented_mcp_server_returns_only_the_callers_orders() -> None:
    page: dict[str, Any] = {"__name__": "orders"}
    exec(BY_MCP, page)
    page["verify_call"] = _at_noon(page["verify_call"])
    http = OutboundHttpClient(loopback=True)
    with serving(page["server"]) as port:
        page["URL"] = f"http://127.0.0.1:{port}/mcp"
        mcp = {"url": page["URL"]}
        tools = World(Settings(local=True), overrides={"outbound_http": http}).app.own_tools
        made = tools.create(TENANT, NewTool.model_validate(SHOP | {"mcp": mcp}), by="operator")
        page["SECRET"] = made.secret
        [digest] = [each.listed.digest for each in tools.offered(TENANT, "shop", by="operator")]
        rights = ServerToolRights(effect="read")
        approved = tools.approve(
            TENANT, "shop", "order_status", digest, rights=rights, by="operator"
        )
        tool = approved.model_dump(exclude={"tenant", "created_at"})
        name = "shop__order_status"
        assert told(tool, HUSAM, name, outbound_http=http) == ("done", "| on its way")
        by_ann = told(tool, ANN, name, outbound_http=http)
        assert by_ann == ("done", "| this person has no such order")


def _at_noon(verify: Any) -> Any:
    """The check of a call, by the clock of the tests."""
    return lambda *given: verify(*given, now=NOON.timestamp())
