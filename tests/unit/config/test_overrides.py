"""Settings that are said closer by: whose word counts, what it may be, and from when on."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skein.models.api.directory import AgentChange, LineChange, NewAgent, NewLine
from skein.models.chats.chat import Chat
from skein.models.common.address import phone_address
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.storage import Put, Update, Write
from skein.models.config.overrides import (
    ChatOverridesChange,
    Overrides,
    TenantOverridesChange,
    TenantSettings,
)
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.services.config.resolution import effective_settings, read_overrides
from skein.services.config.tenant_settings import TenantSettingsService
from skein.settings import BadSettings, Settings
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.support.builders import LINE, NOON, TENANT, World, bot

GAP = "conversation_gap_minutes"


def _agent(**said: Any) -> Agent:
    return Agent(tenant=TENANT, id="agt_a", name="Coach", settings=said, created_at=NOON)


def _line(**said: Any) -> Line:
    return Line(
        tenant=TENANT,
        address=phone_address(LINE),
        agent_id="agt_a",
        settings=said,
        created_at=NOON,
    )


def gap(minutes: int | None) -> Overrides:
    return {} if minutes is None else {GAP: minutes}


@pytest.mark.parametrize(
    ("agent", "line", "tenant"), list(itertools.product([None, 11], [None, 12], [None, 13]))
)
def test_override_of_agent_wins_over_line_tenant_and_environment(
    agent: int | None, line: int | None, tenant: int | None
) -> None:
    found = effective_settings(
        _agent(**gap(agent)),
        _line(**gap(line)),
        gap(tenant),
        Settings(conversation_gap_minutes=14),
        chat=None,
    )
    spoken = [word for word in (agent, line, tenant, 14) if word is not None]
    assert found.conversation_gap_minutes == spoken[0]


def test_override_with_false_zero_or_empty_value_applies() -> None:
    found = effective_settings(
        _agent(auto_summary=False, context_reset_phrases=(), reply_debounce_seconds=0),
        _line(auto_summary=True, context_reset_phrases=("anew",), reply_debounce_seconds=5),
        {},
        Settings(),
        chat=None,
    )
    assert not found.auto_summary
    assert found.context_reset_phrases == ()
    assert found.reply_debounce_seconds == 0


def test_each_setting_is_decided_by_itself() -> None:
    found = effective_settings(
        _agent(max_context_tokens=500),
        _line(apology=False),
        {"tokenizer_model": "gpt-4"},
        Settings(),
        chat=None,
    )
    assert (found.max_context_tokens, found.apology, found.tokenizer_model) == (500, False, "gpt-4")


def test_a_chat_on_a_line_has_the_seeds_defaults_and_others_keep_theirs() -> None:
    world = World()
    on_line = world.chat(
        chat_id="chat_1", kind="direct", visibility="private", line=phone_address(LINE)
    )
    direct = world.chat(chat_id="chat_2", kind="direct", visibility="private")
    group = world.chat(chat_id="chat_3")
    found = [
        effective_settings(None, None, {}, Settings(), chat=chat)
        for chat in (on_line, direct, group)
    ]
    assert [one.message_history_limit for one in found] == [5, 20, 50]
    assert [one.max_context_tokens for one in found] == [1_000, 12_000, 12_000]
    for one in found:
        assert not one.include_system_messages
        assert one.reserved_response_tokens == 1_500
        assert one.conversation_gap_minutes == 30
        assert one.context_reset_phrases == ("start over", "new topic", "reset")
        assert (one.auto_summary, one.summary_message_threshold) == (True, 10)


@pytest.mark.parametrize(
    "said",
    [
        {"message_history_limit": 1},
        {"message_history_limit": 201},
        {"message_history_limit": "many"},
        {"max_context_tokens": 99},
        {"reserved_response_tokens": 15},
        {"conversation_gap_minutes": 0},
        {"context_reset_phrases": ["  "]},
        {"context_reset_phrases": "reset"},
        {"context_reset_phrases": ["x"] * 51},
        {"summary_message_threshold": 0},
        {"reply_debounce_seconds": 901},
        {"tokenizer_model": ""},
        {"include_system_messages": "perhaps"},
        {"tone": "warm"},
    ],
)
def test_override_out_of_bounds_or_unknown_is_refused_at_every_level(
    said: dict[str, Any],
) -> None:
    for kind in (ChatOverridesChange, TenantOverridesChange):
        with pytest.raises(ValidationError):
            kind.model_validate(said)


def test_tenant_override_on_an_agent_is_refused() -> None:
    with pytest.raises(ValidationError):
        ChatOverridesChange.model_validate({"user_tokens_per_day": 1})
    assert TenantOverridesChange(user_tokens_per_day=0).values == {"user_tokens_per_day": 0}


def test_reset_phrases_come_from_the_environment_with_commas_between() -> None:
    found = Settings.from_environment(
        {"SKEIN_CONTEXT_RESET_PHRASES": "begin anew, da capo,da capo"}
    )
    assert found.context_reset_phrases == ("begin anew", "da capo")
    with pytest.raises(BadSettings, match="SKEIN_CONTEXT_RESET_PHRASES"):
        Settings.from_environment({"SKEIN_CONTEXT_RESET_PHRASES": ","})


# ---------------------------------------------------------------------- saying it


def test_an_agents_settings_change_field_by_field() -> None:
    agents = World().app.agents
    made = agents.create(TENANT, NewAgent(name="A", settings=ChatOverridesChange(apology=False)))
    for change, after in [
        ({GAP: 45}, {"apology": False, "conversation_gap_minutes": 45}),
        ({"apology": None}, {"conversation_gap_minutes": 45}),
        ({GAP: None}, {}),
    ]:
        agents.change(
            TENANT, made.id, AgentChange(settings=ChatOverridesChange.model_validate(change))
        )
        assert agents.get(TENANT, made.id).settings == after


def test_a_lines_settings_change_field_by_field() -> None:
    world = World()
    world.agent()
    said = ChatOverridesChange(max_context_tokens=800)
    world.app.lines.create(TENANT, NewLine(phone=LINE, agent_id="agt_a", settings=said))
    more = LineChange(settings=ChatOverridesChange(message_history_limit=7))
    world.app.lines.change(TENANT, LINE, more)
    found = world.app.lines.get(TENANT, LINE).settings
    assert found == {"message_history_limit": 7, "max_context_tokens": 800}


def test_overrides_of_a_line_moved_to_another_tenant_are_ignored() -> None:
    """Its number stays on the chats that began there."""
    world = World()
    world.agent()
    said = _line(conversation_gap_minutes=1)
    chat = Chat(
        tenant=TENANT,
        id="chat_1",
        line=phone_address(LINE),
        kind="direct",
        visibility="private",
        roster=(bot(),),
        activity_hour=NOON,
        created_at=NOON,
    )
    for tenant, expected in [(TENANT, {GAP: 1}), ("other", {})]:
        line = said.model_copy(update={"tenant": tenant})
        world.table.write(Put(line.key, line.to_item()))
        assert read_overrides(world.table, chat) == expected


def test_tenant_without_settings_has_no_item() -> None:
    world = World()
    assert world.app.tenant_settings.get(TENANT) == {}
    world.app.tenant_settings.change(TENANT, TenantOverridesChange())
    assert world.table.get(TenantSettings.key_of(TENANT)) is None


def test_quiet_hours_of_the_environment_are_two_times() -> None:
    found = Settings.from_environment({"SKEIN_QUIET_HOURS": '{"from": "22:00", "to": "06:30"}'})
    assert found.quiet_hours == QuietHours(from_="22:00", to="06:30")
    for wrong in ("none", "22:00-06:00", '{"from": "22:00"}', '{"from": "22:00", "to": "24:00"}'):
        with pytest.raises(BadSettings, match="SKEIN_QUIET_HOURS"):
            Settings.from_environment({"SKEIN_QUIET_HOURS": wrong})


def test_quiet_hours_of_a_tenant_are_stored() -> None:
    world, night = World(), QuietHours(from_="22:00", to="06:30")
    world.app.tenant_settings.change(TENANT, TenantOverridesChange(quiet_hours=night))
    assert world.app.tenant_settings.get(TENANT) == {
        "quiet_hours": {"from": "22:00", "to": "06:30"}
    }


class Racing(MemoryTable):
    """Lets somebody else write just before the next write."""

    meanwhile: Callable[[], object] | None = None

    def write(self, write: Write) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        super().write(write)


@pytest.mark.parametrize("there", [False, True], ids=["the first ever", "later"])
def test_concurrent_changes_of_tenant_settings_both_take_effect(there: bool) -> None:
    table = Racing()
    settings_service = TenantSettingsService(table=table, clock=FixedClock(NOON))
    if there:
        settings_service.change(TENANT, TenantOverridesChange(apology=False))
    other = TenantOverridesChange(message_days=30)
    table.meanwhile = lambda: settings_service.change(TENANT, other)
    settings_service.change(TENANT, TenantOverridesChange(run_days=60))
    said = {"message_days": 30, "run_days": 60} | ({"apology": False} if there else {})
    assert settings_service.get(TENANT) == said


def test_unknown_override_of_a_newer_version_is_kept() -> None:
    world = World()
    settings_service = world.app.tenant_settings
    settings_service.change(TENANT, TenantOverridesChange(message_days=30))
    said = {"message_days": 30, "invented_later": 1}
    world.table.write(Update(TenantSettings.key_of(TENANT), set={"settings": said}))
    settings_service.change(TENANT, TenantOverridesChange(run_days=5))
    assert settings_service.get(TENANT) == said | {"run_days": 5}


@given(st.dictionaries(st.sampled_from([GAP, "max_context_tokens"]), st.integers(100, 900)))
def test_stored_overrides_equal_the_given_ones(said: dict[str, int]) -> None:
    world = World()
    world.app.tenant_settings.change(TENANT, TenantOverridesChange.model_validate(said))
    assert world.app.tenant_settings.get(TENANT) == said
