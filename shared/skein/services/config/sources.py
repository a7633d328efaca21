"""Show the settings that apply to a tenant, an agent or a line, each with its source."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from skein.errors import NotFound
from skein.models.common.address import address_at
from skein.models.config.overrides import (
    OverridableSettings,
    Overrides,
    SettingSource,
    StackSettings,
    TenantSettings,
)
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.ports import Table
from skein.services.config.resolution import defaults_of
from skein.settings import Settings


class SourcedSetting(NamedTuple):
    """The value of a setting, and the level that set it."""

    name: str
    value: Any
    source: SettingSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSources:
    """The service that shows which settings apply and where each value was set."""

    table: Table
    settings: Settings

    def show(
        self, tenant: str, agent_id: str | None = None, phone: str | None = None
    ) -> tuple[SourcedSetting, ...]:
        """Return all settings of direct chats, in the order of `OverridableSettings`.

        Args:
            agent_id: An agent, whose own settings take precedence; None to leave out settings of
                agents.
            phone: A line, whose settings take precedence over the tenant's; None for chats in the
                app.

        Raises:
            NotFound: The agent or the line does not exist in the tenant.
        """
        of_tenant, of_stack = TenantSettings.key_of(tenant), StackSettings.key_for(tenant)
        keys = [of_tenant, of_stack]
        keys += [Agent.key_of(tenant, agent_id)] if agent_id is not None else []
        line = address_at(phone) if phone is not None else None
        keys += [Line.key_of(line)] if line is not None else []
        found = self.table.get_many(keys)
        levels: list[tuple[SettingSource, Overrides]] = []
        if agent_id is not None:
            agent = Agent.read(found, Agent.key_of(tenant, agent_id))
            if agent is None or agent.deleted_at is not None:
                raise NotFound("agent not found")
            levels.append(("agent", agent.settings))
        if line is not None:
            known = Line.read(found, Line.key_of(line))
            if known is None or known.tenant != tenant:
                raise NotFound("line not found")
            levels.append(("line", known.settings))
        levels.append(("tenant", TenantSettings.from_optional(found.get(of_tenant))))
        levels.append(("stack", StackSettings.from_optional(found.get(of_stack))))
        defaults = defaults_of(self.settings, kind="direct", on_line=line is not None)
        deployment = OverridableSettings().model_dump(mode="json") | self.settings.model_dump(
            mode="json"
        )
        levels.append(("environment", {**deployment, **defaults}))
        return tuple(
            next(
                SourcedSetting(name, values[name], source)
                for source, values in levels
                if name in values
            )
            for name in OverridableSettings.model_fields
        )
