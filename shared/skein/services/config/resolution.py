"""Which value of a setting holds: the agent's, else the line's, the tenant's, the deployment's.

A chat keeps what its agent, line and tenant said when a person last wrote there (`Chat.overrides`),
so whoever holds the chat knows what holds in it. Groups, in which several agents share one window
and one summary, go by the deployment alone.
"""

from collections.abc import Mapping
from typing import Any

from skein.models.agent import Agent
from skein.models.base import Value
from skein.models.chat import Chat
from skein.models.line import Line
from skein.models.overrides import ChatOverrides, TenantOverrides, TenantSettings
from skein.models.storage import Item, Key
from skein.ports import Table
from skein.settings import Settings


class EffectiveSettings(Value):
    """The settings that hold for one agent in one chat; see `models/overrides.py`.

    Attributes:
        tokenizer_model: None for the agent's own model.
    """

    message_history_limit: int
    include_system_messages: bool
    max_context_tokens: int
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


def resolved(
    agent: Agent | None,
    line: Line | None,
    tenant: TenantOverrides | None,
    settings: Settings,
    *,
    chat: Chat | None,
) -> EffectiveSettings:
    """What holds for an agent in a chat, or without one.

    Args:
        agent: Whose word counts most; None if nobody's does.
        line: On which the chat began; None for a chat in the app, or a line that is gone.
        tenant: What the tenant says.
        settings: Of the deployment; those of chats on a line are their own.
        chat: Where; None for a run that has entered none.
    """
    return _filled(said_by(agent, line, tenant), chat, settings)


def said_by(
    agent: Agent | None, line: Line | None, tenant: TenantOverrides | None
) -> ChatOverrides:
    """What the three say together, the first one's word before the next one's."""
    known: dict[str, Any] = {}
    for voice in (tenant, line.settings if line else None, agent.settings if agent else None):
        known |= voice.said if voice is not None else {}
    return ChatOverrides.model_validate(known)


def keys_of_settings(tenant: str, chat: Chat | None) -> list[Key]:
    """The items, beside the agent's own, that say what holds in a chat."""
    return [
        TenantSettings.key_of(tenant),
        *([Line.key_of(chat.line)] if chat is not None and chat.line is not None else []),
    ]


def found_settings(
    tenant: str, chat: Chat | None, found: Mapping[Key, Item]
) -> tuple[Line | None, TenantOverrides]:
    """The line and the tenant's word, from what was read under `keys_of_settings`."""
    said = TenantSettings.found_in(found.get(TenantSettings.key_of(tenant)))
    if chat is None or chat.line is None:
        return None, said
    item = found.get(Line.key_of(chat.line))
    ours = item is not None and item["tenant"] == tenant
    return (Line.from_item(item) if item is not None and ours else None), said


def keys_of_overrides(chat: Chat) -> list[Key]:
    """The items of all who have a say in a direct chat."""
    return [*_agent_keys(chat), *keys_of_settings(chat.tenant, chat)]


def found_overrides(chat: Chat, found: Mapping[Key, Item]) -> ChatOverrides:
    """What the agent of a direct chat, its line and its tenant say, by `keys_of_overrides`."""
    agents = (Agent.from_item(found[key]) for key in _agent_keys(chat) if key in found)
    return said_by(next(agents, None), *found_settings(chat.tenant, chat, found))


def read_overrides(table: Table, chat: Chat) -> ChatOverrides:
    """What the agent of a direct chat, its line and its tenant say now, in one read."""
    return found_overrides(chat, table.get_many(keys_of_overrides(chat)))


def _agent_keys(chat: Chat) -> list[Key]:
    """That of a direct chat's only agent."""
    agents = [Agent.key_of(chat.tenant, one.id) for one in chat.roster if one.kind == "agent"]
    return agents[:1]


def effective_in(chat: Chat, settings: Settings) -> EffectiveSettings:
    """What holds in a chat, as far as it depends on nobody who is not at hand."""
    return _filled(chat.overrides or ChatOverrides(), chat, settings)


def _filled(said: ChatOverrides, chat: Chat | None, settings: Settings) -> EffectiveSettings:
    return EffectiveSettings(**_defaults(chat, settings) | said.said)


def _defaults(chat: Chat | None, settings: Settings) -> dict[str, Any]:
    """The deployment's own values, some of them under other names; those on a line are its own."""
    known = settings.model_dump()
    direct = chat is not None and chat.kind == "direct"
    known |= {
        "message_history_limit": known["direct_history_window" if direct else "history_window"],
        "reserved_response_tokens": known["max_output_tokens"],
        "reply_debounce_max_seconds": known["reply_debounce_seconds"],
    }
    if chat is not None and chat.line is not None:
        known |= {
            "message_history_limit": known["line_history_window"],
            "max_context_tokens": known["line_context_tokens"],
            "reply_debounce_seconds": known["line_reply_debounce_seconds"],
            "reply_debounce_max_seconds": known["line_reply_debounce_max_seconds"],
        }
    return {name: known[name] for name in EffectiveSettings.model_fields}
