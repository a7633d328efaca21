"""Changes to records that carry a `version`: only what changed is written, on a fresh reading."""

from collections.abc import Mapping
from typing import Any, TypeVar

from skein.models.agent import Agent
from skein.models.chat import Chat
from skein.models.overrides import TenantSettings
from skein.models.source import Source
from skein.models.storage import Is, Update
from skein.models.user import Line, User

Versioned = TypeVar("Versioned", Agent, Chat, Line, Source, TenantSettings, User)


def revise(
    thing: Versioned, changes: Mapping[str, Any], *, also: Mapping[str, Any] | None = None
) -> tuple[Versioned, Update]:
    """`thing` with `changes`, and the write that makes it so if nobody wrote in between.

    Attributes that newer writers may have added to the item stay as they are.

    Args:
        thing: The record as it was read.
        changes: Fields and their new values.
        also: Bookkeeping attributes of the item to set or, with None, to remove.
    """
    revised = thing.model_copy(update={**changes, "version": thing.version + 1})
    attributes = revised.attributes()
    change = {name: attributes.get(name) for name in (*changes, "version")}
    write = Update(thing.key, set=change | dict(also or {}), condition=Is("version", thing.version))
    return revised, write
