"""Services that store and show records; they need only ports and each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skein.bootstrap.outside import Outside
from skein.bootstrap.part import part

if TYPE_CHECKING:
    from skein.services.account_linking.phone_links import Numbers
    from skein.services.chats.views import ChatViews
    from skein.services.config.tenant_settings import TenantSettingsService
    from skein.services.directory.agents import Agents
    from skein.services.directory.display_names import Renaming
    from skein.services.directory.lines import Lines
    from skein.services.directory.users import Users
    from skein.services.memory.memories import Memories
    from skein.services.outbox.dispatch import Dispatch
    from skein.services.planning.goals import Goals
    from skein.services.planning.plans import Plans
    from skein.services.privacy.audit_log import AuditLog
    from skein.services.runs.queries import RunViews
    from skein.services.workspace.documents import Documents
    from skein.services.workspace.pinning import Pins
    from skein.services.workspace.skills import Skills
    from skein.services.workspace.threads import Threads


class OnRecord(Outside):
    """Services for the records of tenants."""

    @part
    def dispatch(self) -> Dispatch:
        """The service that sends jobs after a commit."""
        from skein.services.outbox.dispatch import Dispatch

        return Dispatch(queues=self.queues, metrics=self.metrics)

    @part
    def renaming(self) -> Renaming:
        """The service that copies new names into rosters."""
        from skein.services.directory.display_names import Renaming

        return Renaming(table=self.table, dispatch=self.dispatch)

    @part
    def views(self) -> ChatViews:
        """The views of chats and messages for the API."""
        from skein.services.chats.views import ChatViews

        return ChatViews(table=self.table, clock=self.clock)

    @part
    def agents(self) -> Agents:
        """The service for agents."""
        from skein.services.directory.agents import Agents

        return Agents(table=self.table, clock=self.clock, ids=self.ids, renaming=self.renaming)

    @part
    def audit(self) -> AuditLog:
        """The audit log."""
        from skein.services.privacy.audit_log import AuditLog

        return AuditLog(table=self.table, clock=self.clock, ids=self.ids, settings=self.settings)

    @part
    def users(self) -> Users:
        """The service for users."""
        from skein.services.directory.users import Users

        return Users(table=self.table, clock=self.clock, ids=self.ids, renaming=self.renaming)

    @part
    def numbers(self) -> Numbers:
        """The service that links phone numbers to users."""
        from skein.services.account_linking.phone_links import Numbers

        return Numbers(table=self.table, clock=self.clock, settings=self.settings)

    @part
    def lines(self) -> Lines:
        """The service for lines."""
        from skein.services.directory.lines import Lines

        return Lines(table=self.table, clock=self.clock)

    @part
    def tenant_settings(self) -> TenantSettingsService:
        """The service for tenants' settings."""
        from skein.services.config.tenant_settings import TenantSettingsService

        return TenantSettingsService(table=self.table, clock=self.clock)

    @part
    def run_views(self) -> RunViews:
        """The views of runs for the API."""
        from skein.services.runs.queries import RunViews

        return RunViews(table=self.table, clock=self.clock)

    @part
    def goals(self) -> Goals:
        """The service for goals."""
        from skein.services.planning.goals import Goals

        return Goals(table=self.table, clock=self.clock, ids=self.ids)

    @part
    def memories(self) -> Memories:
        """The service for memories."""
        from skein.services.memory.memories import Memories

        return Memories(table=self.table, clock=self.clock, ids=self.ids)

    @part
    def plans(self) -> Plans:
        """The service for plans."""
        from skein.services.planning.plans import Plans

        return Plans(table=self.table, clock=self.clock, settings=self.settings)

    @part
    def documents(self) -> Documents:
        """The service for documents."""
        from skein.services.workspace.documents import Documents

        return Documents(table=self.table, clock=self.clock, ids=self.ids)

    @part
    def skills(self) -> Skills:
        """The service for skills."""
        from skein.services.workspace.skills import Skills

        return Skills(table=self.table, clock=self.clock)

    @part
    def threads(self) -> Threads:
        """The service for threads."""
        from skein.services.workspace.threads import Threads

        return Threads(table=self.table, clock=self.clock, ids=self.ids, settings=self.settings)

    @part
    def pins(self) -> Pins:
        """The service for pinned threads."""
        from skein.services.workspace.pinning import Pins

        return Pins(table=self.table, clock=self.clock)
