"""Functions that a deployment installs as tools, by the entry points of a package."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skein.own_tools import functions
from skein.own_tools.functions import installed_functions
from tests.support.agents import COACH, HUSAM, results_of, stage
from tests.support.fakes import calls
from tests.support.own_tools import LOOK_UP, own_tool

MODULE = '''
from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext


@tool(effect="read")
def order_status(call: CallContext, order: str) -> str:
    """Look up an order."""
    return f"{order} of {call.person} is on its way"


@tool(effect="save")
def cancel_order(call: CallContext, order: str) -> str:
    """Cancel an order."""
    return f"{order} of {call.person} is canceled"


@tool(effect="read")
def opening_hours(call: CallContext) -> str:
    """Tell when the shop is open."""
    return "always"
'''
ENTRIES = """
[skein.tools]
all = fake_orders
one = fake_orders:order_status
broken = fake_missing
"""


@pytest.fixture
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose entry points name a module, a function, and a module that is missing."""
    (tmp_path / "fake_orders.py").write_text(MODULE)
    metadata = tmp_path / "fake_orders-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-orders\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    functions._of_entry_points.cache_clear()
    yield
    functions._of_entry_points.cache_clear()
    sys.modules.pop("fake_orders", None)


@pytest.mark.usefixtures("_package")
def test_functions_of_an_installed_package_are_tools(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert {"order_status", "opening_hours"} <= installed_functions().keys()
    assert [each.message for each in caplog.records] == ["failed to load tools"]
    look = calls(("order_status", {"order": "17"}))
    world = stage(look, "Here.", reply_mode="text", enabled_tools=("order_status",))
    python = {"python": {"function": "order_status"}, "http": None, "parameters": None}
    own_tool(world, LOOK_UP | python)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", title=None)
    world.post("Where is my order?", HUSAM)
    world.drain()
    [result] = results_of(world, world.runs("chat_1")[-1])
    assert result.content.endswith(f"\n| 17 of {HUSAM.id} is on its way")


@pytest.mark.usefixtures("_package")
def test_function_that_saves_gets_only_its_own_arguments() -> None:
    cancel = calls(("cancel_order", {"order": "17"}))
    world = stage(cancel, "Done.", reply_mode="text", enabled_tools=("cancel_order",))
    python = {"python": {"function": "cancel_order"}, "http": None, "parameters": None}
    writes = {"name": "cancel_order", "effect": "write", "approval": "none"}
    own_tool(world, LOOK_UP | python | writes)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", title=None)
    world.post("Cancel my order", HUSAM)
    world.drain()
    [result] = results_of(world, world.runs("chat_1")[-1])
    assert result.content.endswith(f"\n| 17 of {HUSAM.id} is canceled")
