"""The page that follows one SMS through the code names modules that an SMS passes through."""

import re

import pytest

from local.template import ROOT
from tools.reference.one_sms import Walk, walk

PAGE = ROOT / "docs" / "explanation.md"
ROW = re.compile(r"^\| (?:(\d+)\.|…) .* \| (`.*`) \|$", re.MULTILINE)
NOT_PLAYED = {"9", "12", "13"}  # tool calls, the tick, and what happens later
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
