"""Addresses to test channels with: a module for each kind of address, with the name of the kind."""

from importlib import import_module
from typing import NamedTuple

from skein.channels.port import AddressSpec


class Ends(NamedTuple):
    """Two addresses of a kind, in their stored form, and how clients write the person's."""

    line: str
    person: str
    written: tuple[str, ...]
    wrong: tuple[str, ...]


def ends_of(kind: AddressSpec | None) -> Ends:
    """Return the addresses of a kind, from `tests/support/ends/<kind>.py`."""
    assert kind is not None
    ends: Ends = import_module(f"tests.support.ends.{kind.name}").ENDS
    return ends
