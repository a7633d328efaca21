"""Composition of the two HTTP APIs.

A request uses one or two of these services, so each is imported and built at its first use. The
imports at the top of this module are for the type checker only.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from skein.bootstrap import app
from skein.bootstrap.lazy import lazy

if TYPE_CHECKING:
    from skein.agent.preview import Preview
    from skein.agent.recall_preview import RecallPreview
    from skein.agent.replay import Replays
    from skein.agent.training_export import TrainingExport
    from skein.bootstrap.ports import Ports
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
    from skein.services.memory.history import ConsolidationRequests, ReflectionViews
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

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.building = RLock()

    @lazy
    def dispatch(self) -> Dispatch:
        """The service that sends jobs after a commit."""
        from skein.services.outbox.dispatch import Dispatch

        return Dispatch(queues=self.ports.queues, metrics=self.ports.metrics)

    @lazy
    def renaming(self) -> Renaming:
        """The service that copies new names into rosters."""
        from skein.services.directory.display_names import Renaming

        return Renaming(table=self.ports.table, dispatch=self.dispatch)

    @lazy
    def agents(self) -> Agents:
        """The service for agents."""
        from skein.services.directory.agents import Agents

        return Agents(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            renaming=self.renaming,
            dispatch=self.dispatch,
        )

    @lazy
    def audit(self) -> AuditLog:
        """The audit log."""
        from skein.services.privacy.audit_log import AuditLog

        return AuditLog(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            settings=self.ports.settings,
        )

    @lazy
    def chat_admin(self) -> ChatAdministration:
        """The service for chats, their members and their settings."""
        from skein.services.chats.administration import ChatAdministration

        return ChatAdministration(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            dispatch=self.dispatch,
            rate_limiter=self.rate_limiter,
            settings=self.ports.settings,
        )

    @lazy
    def consolidation_requests(self) -> ConsolidationRequests:
        """The service by which operators request and view consolidations."""
        from skein.services.memory.history import ConsolidationRequests

        return ConsolidationRequests(
            table=self.ports.table, clock=self.ports.clock, dispatch=self.dispatch
        )

    @lazy
    def documents(self) -> Documents:
        """The service for documents."""
        from skein.services.workspace.documents import Documents

        return Documents(table=self.ports.table, clock=self.ports.clock, ids=self.ports.ids)

    @lazy
    def document_search(self) -> DocumentSearch:
        """The service by which operators search documents."""
        from skein.services.common.text_search import EmbeddingCache
        from skein.services.workspace.document_search import DocumentSearch

        meanings = EmbeddingCache(lambda: self.ports.text_embeddings)
        return DocumentSearch(table=self.ports.table, meanings=meanings)

    @lazy
    def erasures(self) -> Erasures:
        """The service by which operators request and view erasures."""
        from skein.services.privacy.erasure_requests import Erasures

        return Erasures(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            dispatch=self.dispatch,
        )

    @lazy
    def exports(self) -> Exports:
        """The export of all data about a person."""
        from skein.services.privacy.export import Exports

        return Exports(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def goals(self) -> Goals:
        """The service for goals."""
        from skein.services.planning.goals import Goals

        return Goals(table=self.ports.table, clock=self.ports.clock, ids=self.ports.ids)

    @lazy
    def rate_limiter(self) -> RateLimiter:
        """The rate limits on people's messages."""
        from skein.services.quotas.rate_limits import RateLimiter

        return RateLimiter(
            table=self.ports.table,
            clock=self.ports.clock,
            metrics=self.ports.metrics,
            settings=self.ports.settings,
        )

    @lazy
    def lines(self) -> Lines:
        """The service for lines."""
        from skein.services.directory.lines import Lines

        return Lines(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def live_tickets(self) -> LiveTickets:
        """The service for tickets of the live channel."""
        from skein.services.live.tickets import LiveTickets

        return LiveTickets(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def memories(self) -> Memories:
        """The service for memories."""
        from skein.services.memory.memories import Memories

        return Memories(table=self.ports.table, clock=self.ports.clock, ids=self.ports.ids)

    @lazy
    def phone_links(self) -> PhoneLinks:
        """The service that links phone numbers to users."""
        from skein.services.account_linking.phone_links import PhoneLinks

        return PhoneLinks(
            table=self.ports.table,
            clock=self.ports.clock,
            dispatch=self.dispatch,
        )

    @lazy
    def message_search(self) -> MessageSearch:
        """The service by which people search the messages of their chats."""
        from skein.bootstrap.recall import RecallReader
        from skein.services.chats.message_search import MessageSearch

        return MessageSearch(
            table=self.ports.table,
            clock=self.ports.clock,
            views=self.views,
            recall=RecallReader(self.ports).recall,
        )

    @lazy
    def recall_preview(self) -> RecallPreview:
        """The service by which operators see what recall finds."""
        from skein.agent.recall_preview import RecallPreview
        from skein.bootstrap.recall import RecallReader

        return RecallPreview(
            table=self.ports.table, clock=self.ports.clock, recall=RecallReader(self.ports).recall
        )

    @lazy
    def recall_rebuilds(self) -> RecallRebuilds:
        """The service by which operators rebuild the index of recall."""
        from skein.services.recall.rebuild import RecallRebuilds

        return RecallRebuilds(table=self.ports.table, dispatch=self.dispatch)

    @lazy
    def message_deletion(self) -> MessageDeletion:
        """The service by which people delete their own messages."""
        from skein.services.privacy.message_deletion import MessageDeletion

        return MessageDeletion(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            dispatch=self.dispatch,
            rate_limiter=self.rate_limiter,
        )

    @lazy
    def model_warnings(self) -> ModelWarnings:
        """The service that warns about models that the provider does not list."""
        from skein.services.directory.model_warnings import ModelWarnings

        return ModelWarnings(
            model_list=self.ports.model_list, clock=self.ports.clock, settings=self.ports.settings
        )

    @lazy
    def pauses(self) -> TenantPauses:
        """The service by which operators pause the work of their tenant."""
        from skein.services.config.pauses import TenantPauses

        return TenantPauses(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def model_statuses(self) -> ModelStatuses:
        """The service that tells whether the model's provider answers."""
        from skein.services.directory.model_status import ModelStatuses

        return ModelStatuses(model_list=self.ports.model_list, clock=self.ports.clock)

    @lazy
    def backlogs(self) -> Backlogs:
        """The service that counts the waiting work of a tenant."""
        from skein.services.outbox.backlogs import Backlogs

        return Backlogs(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def current_work(self) -> WorkOverviews:
        """The service that finds the current runs of a tenant."""
        from skein.services.runs.current_work import WorkOverviews

        return WorkOverviews(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def tool_warnings(self) -> ToolWarnings:
        """The service that warns about models that call no tool."""
        from skein.services.runs.tool_warnings import ToolWarnings

        return ToolWarnings(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def pins(self) -> Pins:
        """The service for pinned threads."""
        from skein.services.workspace.pinning import Pins

        return Pins(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def plans(self) -> Plans:
        """The service for plans."""
        from skein.services.planning.plans import Plans

        return Plans(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def app_messages(self) -> AppMessages:
        """The service for messages that people post in the app."""
        from skein.services.chats.app_messages import AppMessages
        from skein.services.chats.post_message import Chats

        chats = Chats(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            dispatch=self.dispatch,
            settings=self.ports.settings,
        )
        return AppMessages(
            table=self.ports.table,
            chats=chats,
            rate_limiter=self.rate_limiter,
            clock=self.ports.clock,
        )

    @lazy
    def preview(self) -> Preview:
        """The preview of prompts for operators."""
        from skein.agent.preview import Preview
        from skein.bootstrap.prompting import Prompting

        prompting = Prompting(self.ports)
        return Preview(
            table=self.ports.table,
            clock=self.ports.clock,
            context_loader=prompting.context_loader,
            prompt_builder=prompting.prompt_builder,
        )

    @lazy
    def replays(self) -> Replays:
        """The service that replays prompts for operators."""
        from skein.agent.replay import Replays
        from skein.services.quotas.token_budget import TokenBudgets

        ports = self.ports
        return Replays(
            table=ports.table,
            clock=ports.clock,
            model=ports.model,
            tokens=ports.tokens,
            rate_limiter=self.rate_limiter,
            token_budgets=TokenBudgets(
                table=ports.table,
                clock=ports.clock,
                metrics=ports.metrics,
            ),
            usage=self.usage,
            settings=ports.settings,
        )

    @lazy
    def reflection_views(self) -> ReflectionViews:
        """The service by which operators view reflections."""
        from skein.services.memory.history import ReflectionViews

        return ReflectionViews(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def manual_trigger(self) -> ManualTrigger:
        """The service that starts runs on a person's request."""
        from skein.services.runs.manual_trigger import ManualTrigger

        return ManualTrigger(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            dispatch=self.dispatch,
            settings=self.ports.settings,
        )

    @lazy
    def reason_views(self) -> ReasonViews:
        """The view of the reasons why messages have no answer."""
        from skein.services.chats.message_reasons import ReasonViews

        return ReasonViews(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def run_views(self) -> RunViews:
        """The views of runs for the API."""
        from skein.services.runs.queries import RunViews

        return RunViews(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def skills(self) -> Skills:
        """The service for skills."""
        from skein.services.workspace.skills import Skills

        return Skills(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def webhook_services(self) -> WebhookServices:
        """The service for webhook services, which trigger agents."""
        from skein.services.inbound.service_webhooks import WebhookServices

        return WebhookServices(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            dispatch=self.dispatch,
        )

    @lazy
    def setting_sources(self) -> SettingSources:
        """The service that shows the settings in force."""
        from skein.services.config.sources import SettingSources

        return SettingSources(table=self.ports.table, settings=self.ports.settings)

    @lazy
    def stack_settings(self) -> StackSettingsService:
        """The service for the settings and pauses of the stack."""
        from skein.services.config.stack_settings import StackSettingsService

        return StackSettingsService(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def tenant_settings(self) -> TenantSettingsService:
        """The service for tenants' settings."""
        from skein.services.config.tenant_settings import TenantSettingsService

        return TenantSettingsService(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def threads(self) -> Threads:
        """The service for threads."""
        from skein.services.workspace.threads import Threads

        return Threads(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            settings=self.ports.settings,
        )

    @lazy
    def training_export(self) -> TrainingExport:
        """The export of completed threads as training units."""
        from skein.agent.training_export import TrainingExport

        return TrainingExport(threads=self.threads, run_views=self.run_views)

    @lazy
    def usage(self) -> UsageCounters:
        """The counters of agents' token usage by day."""
        from skein.services.quotas.usage import UsageCounters

        return UsageCounters(
            table=self.ports.table, clock=self.ports.clock, metrics=self.ports.metrics
        )

    @lazy
    def usage_reports(self) -> UsageReports:
        """The reports of usage by day, agent, person or model."""
        from skein.services.quotas.usage_reports import UsageReports

        return UsageReports(table=self.ports.table, clock=self.ports.clock)

    @lazy
    def people_search(self) -> PeopleSearch:
        """The service by which operators search for people."""
        from skein.services.directory.people_search import PeopleSearch

        return PeopleSearch(table=self.ports.table)

    @lazy
    def users(self) -> Users:
        """The service for users."""
        from skein.services.directory.users import Users

        return Users(
            table=self.ports.table,
            clock=self.ports.clock,
            ids=self.ports.ids,
            renaming=self.renaming,
        )

    @lazy
    def views(self) -> ChatViews:
        """The views of chats and messages for the API."""
        from skein.services.chats.views import ChatViews

        return ChatViews(table=self.ports.table, clock=self.ports.clock)


def services() -> ApiServices:
    """Return the container's services for the routes."""
    return app().get(ApiServices)
