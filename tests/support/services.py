"""The services of all functions in one object, on one set of ports."""

from skein.agent.prompt.token_cache import RememberedTokens
from skein.agent.reading.loader import ContextLoader
from skein.agent.reading.reader import Reader
from skein.agent.sections.builder import PromptBuilder
from skein.agent.tools.context import ToolServices
from skein.agent.turn import Turns
from skein.bootstrap import App
from skein.bootstrap.api import ApiServices
from skein.bootstrap.background import build_engine
from skein.bootstrap.background_scanner import build_background_scanner
from skein.bootstrap.consolidation_worker import build_consolidation
from skein.bootstrap.erasure_worker import build_eraser
from skein.bootstrap.feed import build_feed
from skein.bootstrap.live import build_client_frames, build_live_connections, build_pushes
from skein.bootstrap.ports import Ports
from skein.bootstrap.recall_worker import build_recall_worker
from skein.bootstrap.reflection_worker import build_reflection
from skein.bootstrap.run_worker import RunWorker
from skein.bootstrap.sms_delivery import build_sms_sender
from skein.bootstrap.sms_webhook import build_sms_receiver
from skein.bootstrap.summary_worker import build_summary_tasks
from skein.bootstrap.tick import build_tick
from skein.bootstrap.upkeep_worker import build_upkeep
from skein.services.background.engine import BackgroundEngine
from skein.services.chats.post_message import Chats
from skein.services.delivery.sender import SmsSender
from skein.services.feed.feed import Feed
from skein.services.inbound.sms import SmsReceiver
from skein.services.live.client_frames import ClientFrames
from skein.services.live.connections import LiveConnections
from skein.services.live.pushes import Pushes
from skein.services.memory.consolidation import ConsolidationTask
from skein.services.memory.reflection import ReflectionTask
from skein.services.outbox.background_scanner import BackgroundScanner
from skein.services.outbox.tick import Tick
from skein.services.privacy.erasure_worker import Eraser
from skein.services.quotas.token_budget import TokenBudgets
from skein.services.recall.recall_worker import RecallWorker
from skein.services.replies.user_notices import Apologies
from skein.services.runs.activations import Activations
from skein.services.runs.completion import RunCompletion
from skein.services.runs.lease import RunLeases
from skein.services.summaries.renewal import SummaryTasks
from skein.services.summaries.upkeep import Upkeep
from skein.settings import Settings


class AllServices(App, ApiServices):
    """An app whose services tests can call, of the APIs and of all workers."""

    def __init__(self, ports: Ports) -> None:
        App.__init__(self, ports)
        ApiServices.__init__(self, ports)

    @property
    def run_worker(self) -> RunWorker:
        return self.get(RunWorker)

    @property
    def turns(self) -> Turns:
        return self.run_worker.turns

    @property
    def leases(self) -> RunLeases:
        return self.run_worker.leases

    @property
    def activations(self) -> Activations:
        return self.run_worker.activations

    @property
    def completion(self) -> RunCompletion:
        return self.run_worker.completion

    @property
    def chats(self) -> Chats:
        return self.run_worker.chats

    @property
    def tool_services(self) -> ToolServices:
        return self.run_worker.tool_services

    @property
    def token_budgets(self) -> TokenBudgets:
        return self.run_worker.token_budgets

    @property
    def apologies(self) -> Apologies:
        return self.run_worker.apologies

    @property
    def reader(self) -> Reader:
        return self.run_worker.prompting.reader

    @property
    def context_loader(self) -> ContextLoader:
        return self.run_worker.prompting.context_loader

    @property
    def prompt_builder(self) -> PromptBuilder:
        return self.run_worker.prompting.prompt_builder

    @property
    def remembered_tokens(self) -> RememberedTokens:
        return self.run_worker.prompting.remembered_tokens

    @property
    def deliveries(self) -> SmsSender:
        return self.get(build_sms_sender)

    @property
    def background_engine(self) -> BackgroundEngine:
        return self.get(build_engine)

    @property
    def upkeep(self) -> Upkeep:
        return self.get(build_upkeep)

    @property
    def summary_tasks(self) -> SummaryTasks:
        return self.get(build_summary_tasks)

    @property
    def consolidation(self) -> ConsolidationTask:
        return self.get(build_consolidation)

    @property
    def reflection(self) -> ReflectionTask:
        return self.get(build_reflection)

    @property
    def eraser(self) -> Eraser:
        return self.get(build_eraser)

    @property
    def recall_worker(self) -> RecallWorker:
        return self.get(build_recall_worker)

    @property
    def feed(self) -> Feed:
        return self.get(build_feed)

    @property
    def pushes(self) -> Pushes:
        return self.get(build_pushes)

    @property
    def live_connections(self) -> LiveConnections:
        return self.get(build_live_connections)

    @property
    def client_frames(self) -> ClientFrames:
        return self.get(build_client_frames)

    @property
    def sms_receiver(self) -> SmsReceiver:
        return self.get(build_sms_receiver)

    @property
    def tick(self) -> Tick:
        return self.get(build_tick)

    @property
    def background_scanner(self) -> BackgroundScanner:
        return self.get(build_background_scanner)


def build_services(settings: Settings, **overrides: object) -> AllServices:
    """Build all services from settings and adapters; see `skein.bootstrap.Ports`.

    A table with a vector index of its own (`MemoryTable.vectors`) brings that index along.
    """
    vectors = getattr(overrides.get("table"), "vectors", None)
    if vectors is not None:
        overrides = {"vectors": vectors} | overrides
    return AllServices(Ports(settings, **overrides))
