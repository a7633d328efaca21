"""Each section is in the order of the prompt, and the items of each section are read."""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TypeGuard

import pytest

import skein
from skein.agent.sections.order import IN_CHAT, ITEMS, NEEDS, STABLE, VOLATILE
from skein.interface.reading import SectionItems
from skein.interface.section import Section, SectionInput
from skein.models.chats.chat import Chat
from skein.own_tools.items import OwnToolItems
from skein.recall.sections import RecalledMessages
from tests.support.sections import section_input

PACKAGE = Path(skein.__file__).parent
FOLDERS = {"interface", "sections"}
MODULES = [
    import_module(f"skein.{'.'.join(path.parts)}")
    for path in (each.relative_to(PACKAGE).with_suffix("") for each in PACKAGE.rglob("*.py"))
    if not FOLDERS.isdisjoint(path.parts) and path.stem != "__init__"
]
OWN_CALLS = {
    RecalledMessages
}  # the reader makes them itself, because their calls run beside others


def _own(module: ModuleType) -> Iterator[object]:
    for name, each in vars(module).items():
        if not name.startswith("_") and getattr(each, "__module__", "") == module.__name__:
            yield each


def _is_section(each: object) -> TypeGuard[FunctionType]:
    made = inspect.get_annotations(each) if inspect.isfunction(each) else {}
    return made.pop("return", None) in {Section, Section | None} and made == {"given": SectionInput}


def test_each_section_is_in_the_order_of_the_prompt_once() -> None:
    written = [each for module in MODULES for each in _own(module) if _is_section(each)]
    placed = [*STABLE, *VOLATILE]
    missing = {each.__name__ for each in written if each not in placed}
    assert not missing, f"add {missing} to STABLE or VOLATILE of skein/agent/sections/order.py"
    assert len(placed) == len(set(placed)) == len(written)


def test_items_of_each_section_are_read() -> None:
    kinds = {
        each
        for module in MODULES
        for each in _own(module)
        if inspect.isclass(each) and issubclass(each, SectionItems) and each is not SectionItems
    }
    missing = {kind.__name__ for kind in kinds - {*ITEMS, *OWN_CALLS}}
    assert not missing, f"add {missing} to ITEMS of skein/agent/sections/order.py"
    assert kinds == {*ITEMS, *OWN_CALLS} - {OwnToolItems}  # tools are offered beside the prompt


def test_items_of_each_kind_are_empty_without_arguments() -> None:
    """A degraded context has no items, and sections ask for them anyway."""
    assert all(kind() == kind() for kind in ITEMS)


@pytest.mark.parametrize("section", [*NEEDS, *IN_CHAT], ids=lambda section: section.__name__)
def test_section_that_may_be_left_out_shows_nothing_without_its_items(
    section: Callable[[SectionInput], Section | None],
) -> None:
    assert section(section_input()) is None


def test_sections_wait_for_items_that_are_read_and_for_attributes_of_chats() -> None:
    assert set(NEEDS.values()) <= {*ITEMS, *OWN_CALLS}
    assert set(IN_CHAT.values()) <= set(Chat.model_fields)
    assert {name for kind in ITEMS for name in kind.in_chat} <= set(Chat.model_fields)
