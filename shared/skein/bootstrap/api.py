"""Composition of the two HTTP APIs.

A request uses one or two of these services, so each is imported and built at its first use. The
imports at the top of this module are for the type checker only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skein.bootstrap import app

if TYPE_CHECKING:
    from skein.agent.preview import Preview
    from skein.agent.recall_preview import RecallPreview
    from skein.agent.replay import Replays
    from skein.agent.training_export import TrainingExport
    from skein.bootstrap.ports import Ports
    from skein.bootstrap.wiring import App
    from skein.services.account_linking.phone_links import PhoneLinks
    from skein.services.chats.administration import ChatAdministration
    from skein.services.chats.app_messages import AppMessages
    from skein.services.chats.message_reasons import ReasonViews
    from skein.services.chats.message_search import MessageSearch
    from skein.services.chats.views import ChatViews
    from skein.services.config.pauses import TenantPauses
    from skein.services.config.sources import SettingSources
    from skein.services.config.stack_settings import StackSettingsService
    from skein.services.config.tenant_settings import TenantSettingsService
    from skein.services.directory.agents import Agents
    from skein.services.directory.display_names import Renaming
    from skein.services.directory.lines import Lines
    from skein.services.directory.model_status import ModelStatuses
    from skein.services.directory.model_warnings import ModelWarnings
    from skein.services.directory.people_search import PeopleSearch
    from skein.services.directory.users import Users
    from skein.services.inbound.service_webhooks import WebhookServices
    from skein.services.live.tickets import LiveTickets
    from skein.services.memory.history import BackgroundRecords, ConsolidationRequests
    from skein.services.memory.memories import Memories
    from skein.services.outbox.backlogs import Backlogs
    from skein.services.outbox.dispatch import Dispatch
    from skein.services.planning.goals import Goals
    from skein.services.planning.plans import Plans
    from skein.services.privacy.audit_log import AuditLog
    from skein.services.privacy.erasure_requests import Erasures
    from skein.services.privacy.export import Exports
    from skein.services.privacy.message_deletion import MessageDeletion
    from skein.services.quotas.rate_limits import RateLimiter
    from skein.services.quotas.usage import UsageCounters
    from skein.services.quotas.usage_reports import UsageReports
    from skein.services.recall.rebuild import RecallRebuilds
    from skein.services.runs.current_work import WorkOverviews
    from skein.services.runs.manual_trigger import ManualTrigger
    from skein.services.runs.queries import RunViews
    from skein.services.runs.tool_warnings import ToolWarnings
    from skein.services.workspace.document_search import DocumentSearch
    from skein.services.workspace.documents import Documents
    from skein.services.workspace.pinning import Pins
    from skein.services.workspace.skills import Skills
    from skein.services.workspace.threads import Threads


class ApiServices:
    """The services that the routes of both APIs call."""

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def ports(self) -> Ports:
        """The settings and the adapters."""
        return self.app.ports

    @property
    def dispatch(self) -> Dispatch:
        """The service that sends jobs after a commit."""
        from skein.services.outbox.dispatch import Dispatch

        return self.app.get(Dispatch)

    @property
    def renaming(self) -> Renaming:
        """The service that copies new names into rosters."""
        from skein.services.directory.display_names import Renaming

        return self.app.get(Renaming)

    @property
    def agents(self) -> Agents:
        """The service for agents."""
        from skein.services.directory.agents import Agents

        return self.app.get(Agents)

    @property
    def audit(self) -> AuditLog:
        """The audit log."""
        from skein.services.privacy.audit_log import AuditLog

        return self.app.get(AuditLog)

    @property
    def chat_admin(self) -> ChatAdministration:
        """The service for chats, their members and their settings."""
        from skein.services.chats.administration import ChatAdministration

        return self.app.get(ChatAdministration)

    @property
    def consolidation_requests(self) -> ConsolidationRequests:
        """The service by which operators request consolidations."""
        from skein.services.memory.history import ConsolidationRequests

        return self.app.get(ConsolidationRequests)

    @property
    def documents(self) -> Documents:
        """The service for documents."""
        from skein.services.workspace.documents import Documents

        return self.app.get(Documents)

    @property
    def document_search(self) -> DocumentSearch:
        """The service by which operators search documents."""
        from skein.services.workspace.document_search import DocumentSearch

        return self.app.get(DocumentSearch)

    @property
    def erasures(self) -> Erasures:
        """The service by which operators request and view erasures."""
        from skein.services.privacy.erasure_requests import Erasures

        return self.app.get(Erasures)

    @property
    def exports(self) -> Exports:
        """The export of all data about a person."""
        from skein.services.privacy.export import Exports

        return self.app.get(Exports)

    @property
    def goals(self) -> Goals:
        """The service for goals."""
        from skein.services.planning.goals import Goals

        return self.app.get(Goals)

    @property
    def rate_limiter(self) -> RateLimiter:
        """The rate limits on people's messages."""
        from skein.services.quotas.rate_limits import RateLimiter

        return self.app.get(RateLimiter)

    @property
    def lines(self) -> Lines:
        """The service for lines."""
        from skein.services.directory.lines import Lines

        return self.app.get(Lines)

    @property
    def live_tickets(self) -> LiveTickets:
        """The service for tickets of the live channel."""
        from skein.services.live.tickets import LiveTickets

        return self.app.get(LiveTickets)

    @property
    def memories(self) -> Memories:
        """The service for memories."""
        from skein.services.memory.memories import Memories

        return self.app.get(Memories)

    @property
    def phone_links(self) -> PhoneLinks:
        """The service that links phone numbers to users."""
        from skein.services.account_linking.phone_links import PhoneLinks

        return self.app.get(PhoneLinks)

    @property
    def message_search(self) -> MessageSearch:
        """The service by which people search the messages of their chats."""
        from skein.services.chats.message_search import MessageSearch

        return self.app.get(MessageSearch)

    @property
    def recall_preview(self) -> RecallPreview:
        """The service by which operators see what recall finds."""
        from skein.agent.recall_preview import RecallPreview

        return self.app.get(RecallPreview)

    @property
    def recall_rebuilds(self) -> RecallRebuilds:
        """The service by which operators rebuild the index of recall."""
        from skein.services.recall.rebuild import RecallRebuilds

        return self.app.get(RecallRebuilds)

    @property
    def message_deletion(self) -> MessageDeletion:
        """The service by which people delete their own messages."""
        from skein.services.privacy.message_deletion import MessageDeletion

        return self.app.get(MessageDeletion)

    @property
    def model_warnings(self) -> ModelWarnings:
        """The service that warns about models that the provider does not list."""
        from skein.services.directory.model_warnings import ModelWarnings

        return self.app.get(ModelWarnings)

    @property
    def pauses(self) -> TenantPauses:
        """The service by which operators pause the work of their tenant."""
        from skein.services.config.pauses import TenantPauses

        return self.app.get(TenantPauses)

    @property
    def model_statuses(self) -> ModelStatuses:
        """The service that tells whether the model's provider answers."""
        from skein.services.directory.model_status import ModelStatuses

        return self.app.get(ModelStatuses)

    @property
    def backlogs(self) -> Backlogs:
        """The service that counts the waiting work of a tenant."""
        from skein.services.outbox.backlogs import Backlogs

        return self.app.get(Backlogs)

    @property
    def current_work(self) -> WorkOverviews:
        """The service that finds the current runs of a tenant."""
        from skein.services.runs.current_work import WorkOverviews

        return self.app.get(WorkOverviews)

    @property
    def tool_warnings(self) -> ToolWarnings:
        """The service that warns about models that call no tool."""
        from skein.services.runs.tool_warnings import ToolWarnings

        return self.app.get(ToolWarnings)

    @property
    def pins(self) -> Pins:
        """The service for pinned threads."""
        from skein.services.workspace.pinning import Pins

        return self.app.get(Pins)

    @property
    def plans(self) -> Plans:
        """The service for plans."""
        from skein.services.planning.plans import Plans

        return self.app.get(Plans)

    @property
    def app_messages(self) -> AppMessages:
        """The service for messages that people post in the app."""
        from skein.services.chats.app_messages import AppMessages

        return self.app.get(AppMessages)

    @property
    def preview(self) -> Preview:
        """The preview of prompts for operators."""
        from skein.agent.preview import Preview

        return self.app.get(Preview)

    @property
    def replays(self) -> Replays:
        """The service that replays prompts for operators."""
        from skein.agent.replay import Replays

        return self.app.get(Replays)

    @property
    def background_records(self) -> BackgroundRecords:
        """The service by which operators view consolidations and reflections."""
        from skein.services.memory.history import BackgroundRecords

        return self.app.get(BackgroundRecords)

    @property
    def manual_trigger(self) -> ManualTrigger:
        """The service that starts runs on a person's request."""
        from skein.services.runs.manual_trigger import ManualTrigger

        return self.app.get(ManualTrigger)

    @property
    def reason_views(self) -> ReasonViews:
        """The view of the reasons why messages have no answer."""
        from skein.services.chats.message_reasons import ReasonViews

        return self.app.get(ReasonViews)

    @property
    def run_views(self) -> RunViews:
        """The views of runs for the API."""
        from skein.services.runs.queries import RunViews

        return self.app.get(RunViews)

    @property
    def skills(self) -> Skills:
        """The service for skills."""
        from skein.services.workspace.skills import Skills

        return self.app.get(Skills)

    @property
    def webhook_services(self) -> WebhookServices:
        """The service for webhook services, which trigger agents."""
        from skein.services.inbound.service_webhooks import WebhookServices

        return self.app.get(WebhookServices)

    @property
    def setting_sources(self) -> SettingSources:
        """The service that shows the settings in force."""
        from skein.services.config.sources import SettingSources

        return self.app.get(SettingSources)

    @property
    def stack_settings(self) -> StackSettingsService:
        """The service for the settings and pauses of the stack."""
        from skein.services.config.stack_settings import StackSettingsService

        return self.app.get(StackSettingsService)

    @property
    def tenant_settings(self) -> TenantSettingsService:
        """The service for tenants' settings."""
        from skein.services.config.tenant_settings import TenantSettingsService

        return self.app.get(TenantSettingsService)

    @property
    def threads(self) -> Threads:
        """The service for threads."""
        from skein.services.workspace.threads import Threads

        return self.app.get(Threads)

    @property
    def training_export(self) -> TrainingExport:
        """The export of completed threads as training units."""
        from skein.agent.training_export import TrainingExport

        return self.app.get(TrainingExport)

    @property
    def usage(self) -> UsageCounters:
        """The counters of agents' token usage by day."""
        from skein.services.quotas.usage import UsageCounters

        return self.app.get(UsageCounters)

    @property
    def usage_reports(self) -> UsageReports:
        """The reports of usage by day, agent, person or model."""
        from skein.services.quotas.usage_reports import UsageReports

        return self.app.get(UsageReports)

    @property
    def people_search(self) -> PeopleSearch:
        """The service by which operators search for people."""
        from skein.services.directory.people_search import PeopleSearch

        return self.app.get(PeopleSearch)

    @property
    def users(self) -> Users:
        """The service for users."""
        from skein.services.directory.users import Users

        return self.app.get(Users)

    @property
    def views(self) -> ChatViews:
        """The views of chats and messages for the API."""
        from skein.services.chats.views import ChatViews

        return self.app.get(ChatViews)


def services() -> ApiServices:
    """Return the container's services for the routes."""
    return ApiServices(app())
