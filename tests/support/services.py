"""The services of all functions in one object, on one set of ports."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from skein.account_linking.phone_links import PhoneLinks
from skein.agent.preview import Preview
from skein.agent.reading.loader import ContextLoader
from skein.agent.reading.reader import Reader
from skein.agent.sections.builder import PromptBuilder
from skein.agent.training_export import TrainingExport
from skein.agent.turn import Turns
from skein.bootstrap.ports import Ports
from skein.bootstrap.wiring import App
from skein.feed.feed import Feed
from skein.inbound.service_webhooks import WebhookServices
from skein.inbound.sms import SmsReceiver
from skein.live.client_frames import ClientFrames
from skein.live.connections import LiveConnections
from skein.live.pushes import Pushes
from skein.live.tickets import LiveTickets
from skein.media.describing import Descriptions, DescriptionTask
from skein.memory.consolidation import ConsolidationTask
from skein.memory.history import ConsolidationRequests
from skein.memory.memories import Memories
from skein.memory.reflection import ReflectionTask
from skein.models.outbox.due import DueKind
from skein.own_tools.records import OwnTools
from skein.planning.firing import Firing
from skein.planning.goals import Goals
from skein.planning.plans import Plans
from skein.privacy.audit_log import AuditLog
from skein.privacy.erasure_requests import Erasures
from skein.privacy.erasure_worker import Eraser
from skein.privacy.message_deletion import MessageDeletion
from skein.recall.recall_worker import RecallWorker
from skein.services.background.engine import BackgroundEngine
from skein.services.chats.administration import ChatAdministration
from skein.services.chats.app_messages import AppMessages
from skein.services.chats.post_message import Chats
from skein.services.chats.views import ChatViews
from skein.services.choices.consents import Consents
from skein.services.choices.invitation_texts import InvitationTexts
from skein.services.choices.invitations import Invitations
from skein.services.config.pauses import TenantPauses
from skein.services.config.stack_settings import StackSettingsService
from skein.services.config.tenant_settings import TenantSettingsService
from skein.services.delivery.number_code_sender import NumberCodeSender
from skein.services.delivery.sender import SmsSender
from skein.services.directory.agents import Agents
from skein.services.directory.lines import Lines
from skein.services.directory.number_codes import NumberCodes
from skein.services.directory.people_search import PeopleSearch
from skein.services.directory.users import Users
from skein.services.outbox.background_scanner import BackgroundScanner
from skein.services.outbox.dispatch import Dispatch
from skein.services.outbox.tick import Fire, Tick
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.quotas.usage import UsageCounters
from skein.services.replies.noticed_leases import NoticedLeases
from skein.services.runs.completion import RunCompletion
from skein.services.runs.manual_trigger import ManualTrigger
from skein.services.runs.queries import RunViews
from skein.settings import Settings
from skein.summaries.renewal import SummaryTasks
from skein.summaries.upkeep import Upkeep
from skein.workspace.document_search import DocumentSearch
from skein.workspace.documents import Documents
from skein.workspace.pinning import Pins
from skein.workspace.skills import Skills
from skein.workspace.threads import Threads


class AllServices(App):
    """An app whose services tests call by name."""

    agents: Agents
    app_messages: AppMessages
    audit: AuditLog
    chat_admin: ChatAdministration
    chats: Chats
    client_frames: ClientFrames
    completion: RunCompletion
    consolidation_requests: ConsolidationRequests
    background_engine: BackgroundEngine
    background_scanner: BackgroundScanner
    consents: Consents
    consolidation: ConsolidationTask
    context_loader: ContextLoader
    deliveries: SmsSender
    description: DescriptionTask
    descriptions: Descriptions
    dispatch: Dispatch
    document_search: DocumentSearch
    documents: Documents
    eraser: Eraser
    erasures: Erasures
    feed: Feed
    goals: Goals
    invitations: Invitations
    invitation_texts: InvitationTexts
    leases: NoticedLeases
    lines: Lines
    live_connections: LiveConnections
    live_tickets: LiveTickets
    manual_trigger: ManualTrigger
    memories: Memories
    message_deletion: MessageDeletion
    pauses: TenantPauses
    people_search: PeopleSearch
    number_code_sender: NumberCodeSender
    own_tools: OwnTools
    number_codes: NumberCodes
    phone_links: PhoneLinks
    pins: Pins
    plans: Plans
    preview: Preview
    prompt_builder: PromptBuilder
    pushes: Pushes
    rate_limiter: RateLimiter
    reader: Reader
    recall_worker: RecallWorker
    reflection: ReflectionTask
    run_views: RunViews
    skills: Skills
    sms_receiver: SmsReceiver
    stack_settings: StackSettingsService
    summary_tasks: SummaryTasks
    tenant_settings: TenantSettingsService
    threads: Threads
    tick: Tick
    training_export: TrainingExport
    turns: Turns
    upkeep: Upkeep
    usage: UsageCounters
    users: Users
    views: ChatViews
    webhook_services: WebhookServices

    @property
    def firing(self) -> Mapping[DueKind, Fire]:
        return {"plan": self.get(Firing).fire, "merge": self.phone_links.continue_merge}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in types():
                raise AttributeError(name)
            return self.get(types()[name])


@cache
def types() -> Mapping[str, type]:
    """Return the type of each service with a name."""
    return get_type_hints(AllServices)


def build_services(settings: Settings, **overrides: object) -> AllServices:
    """Build all services from settings and adapters; see `skein.bootstrap.Ports`.

    A table with a vector index of its own (`MemoryTable.vectors`) brings that index along.
    """
    vectors = getattr(overrides.get("table"), "vectors", None)
    if vectors is not None:
        overrides = {"vectors": vectors} | overrides
    return AllServices(Ports(settings, **overrides))
