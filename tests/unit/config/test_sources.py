"""The settings in force, each with the level that set it."""

import pytest

from skein.errors import NotFound
from skein.models.api.directory import EffectiveSettingResource
from skein.models.common.address import phone_address
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.storage import Put
from skein.models.config.overrides import (
    OverridableSettings,
    StackOverridesChange,
    TenantOverridesChange,
)
from skein.models.directory.line import Line
from skein.services.config.sources import SettingSources, SourcedSetting
from skein.services.config.stack_settings import StackSettingsService
from skein.services.config.tenant_settings import TenantSettingsService
from tests.support.builders import LINE, TENANT, World


def by_name(found: tuple[SourcedSetting, ...]) -> dict[str, tuple[object, str]]:
    return {each.name: (each.value, each.source) for each in found}


def test_unset_setting_comes_from_the_environment() -> None:
    found = by_name(World().app.get(SettingSources).show(TENANT))
    assert list(found) == list(OverridableSettings.model_fields)
    assert found["message_history_limit"] == (20, "environment")
    assert found["user_messages_per_minute"] == (20, "environment")
    assert found["message_days"] == (None, "environment")
    assert {source for _, source in found.values()} == {"environment"}


def test_nearest_level_that_set_a_setting_wins() -> None:
    world = World()
    change = TenantOverridesChange(
        apology=False, streaming=False, quiet_hours=QuietHours(from_="21:30", to="07:00")
    )
    TenantSettingsService(table=world.table, clock=world.clock).change(TENANT, change)
    stack = StackSettingsService(table=world.table, clock=world.clock)
    stack.change(StackOverridesChange(context_rollout_percent=50, context_enabled=False))
    agent = world.agent(settings={"apology": True, "sms_answer_characters": 200})
    line = Line(
        tenant=TENANT,
        address=phone_address(LINE),
        agent_id=agent.id,
        settings={"sms_answer_characters": 300, "recall_tokens": 0},
        created_at=world.clock.now(),
    )
    world.table.write(Put(line.key, line.to_item()))
    found = by_name(world.app.get(SettingSources).show(TENANT, agent.id, LINE))
    assert found["apology"] == (True, "agent")
    assert found["sms_answer_characters"] == (200, "agent")
    assert found["recall_tokens"] == (0, "line")
    assert found["streaming"] == (False, "tenant")
    assert found["quiet_hours"] == ({"from": "21:30", "to": "07:00"}, "tenant")
    assert found["context_rollout_percent"] == (50, "stack")
    assert found["message_history_limit"] == (5, "environment")


def test_effective_setting_has_the_type_and_the_bounds_of_its_definition() -> None:
    shown = {
        name: EffectiveSettingResource.from_parts(name, None, "environment")
        for name in OverridableSettings.model_fields
    }
    described = {
        name: (shown[name].type, shown[name].minimum, shown[name].maximum)
        for name in ("recall_tokens", "tokenizer_model", "message_days", "quiet_hours", "apology")
    }
    assert described == {
        "recall_tokens": ("integer", 0, 32_000),
        "tokenizer_model": ("string", None, None),
        "message_days": ("integer", 1, 36_500),
        "quiet_hours": ("object", None, None),
        "apology": ("boolean", None, None),
    }


def test_agent_of_another_tenant_is_not_found() -> None:
    world = World()
    agent = world.agent()
    with pytest.raises(NotFound):
        world.app.get(SettingSources).show("other", agent.id)


def test_line_of_another_tenant_is_not_found() -> None:
    world = World()
    world.line()
    with pytest.raises(NotFound):
        world.app.get(SettingSources).show("other", phone=LINE)
