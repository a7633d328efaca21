"""One SMS enters only the modules that it uses, and those that the page about it names."""

import os
import re

import pytest

from local.template import ROOT
from tools.reference.one_sms import Walk, walk

PAGE = ROOT / "docs" / "explanation.md"
ROW = re.compile(r"^\| (?:(\d+)\.|…) .* \| (`.*`) \|$", re.MULTILINE)
NOT_PLAYED = {"9", "12", "13"}  # tool calls, the tick, and what happens later
ENTERED = ROOT / "tests" / "golden" / "one_sms.txt"
MOST_MODULES = 150
MOST_MOVES = 2_650  # calls from one module into another, those of parallel reads included
REPLACED = ("adapters/openai/", "adapters/twilio/sms.py")  # by ports in memory


@pytest.fixture(scope="module")
def one_sms() -> Walk:
    return walk()


def named_modules() -> list[str]:
    """The modules that the page names, in its order."""
    found, step = [], ""
    for number, names in ROW.findall(PAGE.read_text(encoding="utf-8")):
        step = number or step
        if step not in NOT_PLAYED:
            found += re.findall(r"`(\S+\.py)`", names)
    return [name for name in found if not name.startswith(REPLACED)]


def test_sms_passes_through_the_modules_that_the_page_names(one_sms: Walk) -> None:
    passed = {path.removeprefix("shared/skein/") for path in one_sms.modules}
    named = named_modules()
    assert len(named) > 15
    assert [name for name in named if name not in passed] == []


def test_sms_begins_at_its_webhook_and_ends_with_its_delivery(one_sms: Walk) -> None:
    functions = [path for path in one_sms.modules if re.fullmatch(r"functions/\w+\.py", path)]
    names = ("sms_webhook", "run_worker", "sms_delivery")
    assert functions == [f"functions/{name}.py" for name in names]
    assert one_sms.moves > len(one_sms.modules)


def test_sms_enters_no_further_module(one_sms: Walk) -> None:
    """A feature that the agent and the chat do not have costs no module; see `NEEDS` in `order`."""
    if os.environ.get("UPDATE_GOLDEN"):
        ENTERED.write_text("\n".join(sorted(one_sms.modules)) + "\n", encoding="utf-8")
    known = set(ENTERED.read_text(encoding="utf-8").split())
    added = {path: calls for path, calls in one_sms.modules.items() if path not in known}
    assert not added, f"one SMS also enters these modules, with as many calls: {added}"
    assert len(one_sms.modules) <= MOST_MODULES
    assert one_sms.moves <= MOST_MOVES
