"""Resolve settings: the first level with a value wins, from the agent down to the defaults.

The levels are agent, line, tenant, stack, environment and default. In a direct chat, each message
of the person stores the current settings of the agent, the line and the tenant in the chat
(`Chat.overrides`). So code that has read the chat needs no further read. The agents of a group
share one history window and one summary, so a group uses only the deployment's settings.
"""

from collections.abc import Mapping

from skein.models.chats.chat import Chat
from skein.models.common.storage import Item, Key
from skein.models.config.overrides import (
    DEFAULTS_IN_GROUPS,
    DEFAULTS_ON_LINES,
    ChatSettings,
    Overrides,
    Retention,
    TenantSettings,
)
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.ports import Table
from skein.settings import Settings

DESK_WORDS = "desk_words"  # the only setting of the desk that a chat stores
OF_TENANT = frozenset({DESK_WORDS, *Retention.model_fields})


def defaults_of(settings: Settings, *, kind: str, on_line: bool) -> Overrides:
    """Return the special defaults of lines or groups, without those that the environment sets."""
    in_app = DEFAULTS_IN_GROUPS if kind == "group" else {}
    known = DEFAULTS_ON_LINES if on_line else in_app
    return {name: value for name, value in known.items() if name not in settings.model_fields_set}


def effective_settings(
    agent: Agent | None,
    line: Line | None,
    tenant: Overrides,
    settings: Settings,
    *,
    chat: Chat | None,
    stack: Overrides | None = None,
) -> Settings:
    """Return the settings that apply to an agent, in a chat or outside of chats.

    Args:
        agent: The agent, whose settings take precedence; None to leave out settings of agents.
        line: The line on which the chat began; None for a chat in the app, or a deleted line.
        tenant: The tenant's overrides.
        chat: The chat; None for a run without a chat.
        stack: The stack's overrides; None if the caller does not need settings of the stack.
    """
    overrides = merged_overrides(agent, line, tenant)
    return settings.overridden(_of_kind(chat, settings), stack or {}, tenant, overrides)


def merged_overrides(agent: Agent | None, line: Line | None, tenant: Overrides) -> Overrides:
    """Merge the chat settings of agent, line and tenant, in this order of precedence.

    The result also contains the tenant's retention and the words that put a chat on the desk,
    because Skein needs both whenever a person posts in a direct chat.
    """
    levels = (tenant, line.settings if line else {}, agent.settings if agent else {})
    return {
        name: value
        for level in levels
        for name, value in level.items()
        if name in ChatSettings.model_fields or name in OF_TENANT
    }


def keys_of_settings(tenant: str, chat: Chat | None) -> list[Key]:
    """Return the keys of the tenant's settings and, if the chat is on a line, of the line."""
    return [
        TenantSettings.key_of(tenant),
        *([Line.key_of(chat.line)] if chat is not None and chat.line is not None else []),
    ]


def found_settings(
    tenant: str, chat: Chat | None, found: Mapping[Key, Item]
) -> tuple[Line | None, Overrides]:
    """Return the line and the tenant's overrides, from items under `keys_of_settings`.

    The line is None if it is missing or belongs to another tenant, or if the chat is not on a line.
    """
    overrides = TenantSettings.from_optional(found.get(TenantSettings.key_of(tenant)))
    if chat is None or chat.line is None:
        return None, overrides
    line = Line.read(found, Line.key_of(chat.line))
    return (line if line is not None and line.tenant == tenant else None), overrides


def keys_of_overrides(chat: Chat) -> list[Key]:
    """Return the keys of all items with settings that apply in a direct chat."""
    return [*_agent_keys(chat), *keys_of_settings(chat.tenant, chat)]


def found_overrides(chat: Chat, found: Mapping[Key, Item]) -> Overrides:
    """Merge the settings of a direct chat from items under `keys_of_overrides`."""
    agents = iter(Agent.read_each(found, _agent_keys(chat)))
    return merged_overrides(next(agents, None), *found_settings(chat.tenant, chat, found))


def read_overrides(table: Table, chat: Chat) -> Overrides:
    """Read and merge the current settings of a direct chat, in one batch."""
    return found_overrides(chat, table.get_many(keys_of_overrides(chat)))


def _agent_keys(chat: Chat) -> list[Key]:
    agents = [Agent.key_of(chat.tenant, one.id) for one in chat.roster if one.kind == "agent"]
    return agents[:1]


def effective_in(chat: Chat, settings: Settings) -> Settings:
    """Return the settings that apply in a chat, from its stored overrides and without a read."""
    return settings.overridden(_of_kind(chat, settings), chat.overrides or {})


def _of_kind(chat: Chat | None, settings: Settings) -> Overrides:
    if chat is None:
        return {}
    return defaults_of(settings, kind=chat.kind, on_line=chat.line is not None)
