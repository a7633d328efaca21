"""Resolve settings: the agent's value wins over the line's, the tenant's, the deployment's.

A chat stores the settings of its agent, line and tenant as of the last time that a person wrote
there (`Chat.overrides`). So code that has the chat needs no further read. Groups, in which several
agents share one history window and one summary, use the deployment's settings alone.
"""

from collections.abc import Mapping
from typing import Any

from skein.models.chats.chat import Chat
from skein.models.common.base import Value
from skein.models.common.storage import Item, Key
from skein.models.config.overrides import ChatOverrides, TenantOverrides, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.ports import Table
from skein.settings import Settings


class EffectiveSettings(Value):
    """The settings that hold for one agent in one chat; see `models/config/overrides.py`.

    Attributes:
        tokenizer_model: The model whose tokens are counted; None for the agent's own model.
    """

    message_history_limit: int
    include_system_messages: bool
    max_context_tokens: int
    recall_tokens: int
    reserved_response_tokens: int
    tokenizer_model: str | None
    conversation_gap_minutes: int
    context_reset_phrases: tuple[str, ...]
    context_caching: bool
    context_cache_seconds: int
    auto_summary: bool
    summary_message_threshold: int
    reply_debounce_seconds: int
    reply_debounce_max_seconds: int
    apology: bool
    streaming: bool
    sms_answer_characters: int
    consolidate: bool


def effective_settings(
    agent: Agent | None,
    line: Line | None,
    tenant: TenantOverrides | None,
    settings: Settings,
    *,
    chat: Chat | None,
) -> EffectiveSettings:
    """Return the settings of an agent in a chat, or without one.

    Args:
        agent: The agent, whose settings win; None for no agent.
        line: The line on which the chat began; None for a chat in the app, or a deleted line.
        tenant: The tenant's settings.
        settings: The deployment's settings, some of which are separate for chats on a line.
        chat: The chat; None for a run that has entered none.
    """
    return _filled(merged_overrides(agent, line, tenant), chat, settings)


def merged_overrides(
    agent: Agent | None, line: Line | None, tenant: TenantOverrides | None
) -> ChatOverrides:
    """Merge the settings of agent, line and tenant, in this order of precedence."""
    known: dict[str, Any] = {}
    for level in (tenant, line.settings if line else None, agent.settings if agent else None):
        known |= level.own_values if level is not None else {}
    return ChatOverrides.model_validate(known)


def keys_of_settings(tenant: str, chat: Chat | None) -> list[Key]:
    """Return the keys of the tenant's settings and the chat's line, if any."""
    return [
        TenantSettings.key_of(tenant),
        *([Line.key_of(chat.line)] if chat is not None and chat.line is not None else []),
    ]


def found_settings(
    tenant: str, chat: Chat | None, found: Mapping[Key, Item]
) -> tuple[Line | None, TenantOverrides]:
    """Return the line and the tenant's settings, from items under `keys_of_settings`.

    The line is None if it is missing or belongs to another tenant, or if the chat is not on a line.
    """
    tenant_settings = TenantSettings.from_optional(found.get(TenantSettings.key_of(tenant)))
    if chat is None or chat.line is None:
        return None, tenant_settings
    item = found.get(Line.key_of(chat.line))
    ours = item is not None and item["tenant"] == tenant
    return (Line.from_item(item) if item is not None and ours else None), tenant_settings


def keys_of_overrides(chat: Chat) -> list[Key]:
    """Return the keys of all items that hold settings of a direct chat."""
    return [*_agent_keys(chat), *keys_of_settings(chat.tenant, chat)]


def found_overrides(chat: Chat, found: Mapping[Key, Item]) -> ChatOverrides:
    """Merge the settings of a direct chat from items under `keys_of_overrides`."""
    agents = (Agent.from_item(found[key]) for key in _agent_keys(chat) if key in found)
    return merged_overrides(next(agents, None), *found_settings(chat.tenant, chat, found))


def read_overrides(table: Table, chat: Chat) -> ChatOverrides:
    """Read and merge the current settings of a direct chat, in one batch."""
    return found_overrides(chat, table.get_many(keys_of_overrides(chat)))


def _agent_keys(chat: Chat) -> list[Key]:
    """Return the key of a direct chat's only agent, as a list."""
    agents = [Agent.key_of(chat.tenant, one.id) for one in chat.roster if one.kind == "agent"]
    return agents[:1]


def effective_in(chat: Chat, settings: Settings) -> EffectiveSettings:
    """Return the settings of a chat from what the chat stores, without a read."""
    return _filled(chat.overrides or ChatOverrides(), chat, settings)


def _filled(overrides: ChatOverrides, chat: Chat | None, settings: Settings) -> EffectiveSettings:
    return EffectiveSettings(**_defaults(chat, settings) | overrides.own_values)


def _defaults(chat: Chat | None, settings: Settings) -> dict[str, Any]:
    """Return the deployment's settings for a chat, under the names of `EffectiveSettings`."""
    direct = chat is not None and chat.kind == "direct"
    on_line = chat is not None and chat.line is not None
    return defaults_of(settings, direct=direct, on_line=on_line)


def defaults_of(settings: Settings, *, direct: bool, on_line: bool) -> dict[str, Any]:
    """Return the deployment's settings under the names of `EffectiveSettings`.

    Args:
        settings: The deployment's settings.
        direct: Whether they are for a direct chat; groups have another history window.
        on_line: Whether they are for a chat on a line, which has separate values for some of them.
    """
    known = settings.model_dump()
    known |= {
        "message_history_limit": known["direct_history_window" if direct else "history_window"],
        "reserved_response_tokens": known["max_output_tokens"],
        "reply_debounce_max_seconds": known["reply_debounce_seconds"],
    }
    if on_line:
        known |= {
            "message_history_limit": known["line_history_window"],
            "max_context_tokens": known["line_context_tokens"],
            "reply_debounce_seconds": known["line_reply_debounce_seconds"],
            "reply_debounce_max_seconds": known["line_reply_debounce_max_seconds"],
        }
    return {name: known[name] for name in EffectiveSettings.model_fields}
