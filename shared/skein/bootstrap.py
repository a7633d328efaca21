"""The composition root: the only place where a service meets an adapter.

Every part is built when it is first asked for, so a webhook never pays for the model's client. A
test, or the local stack, gives some parts itself: `build_app(settings, model=..., clock=...)`.
"""

import os
from functools import cached_property

from skein.agent.context import ContextBuilder
from skein.agent.turn import Turns
from skein.models.jobs import QueueName
from skein.ports import (
    Clock,
    Ids,
    LanguageModel,
    Metrics,
    Queues,
    Secrets,
    Sms,
    Table,
    TokenCounter,
    WebhookVerifier,
)
from skein.services.agents import Agents
from skein.services.chat_views import ChatViews
from skein.services.chats import Chats
from skein.services.delivery import Deliveries
from skein.services.dispatch import Dispatch
from skein.services.due import Tick
from skein.services.firing import Firing
from skein.services.goals import Goals
from skein.services.ingest import Ingest
from skein.services.lines import Lines
from skein.services.plans import Plans
from skein.services.respond import Respond
from skein.services.rooms import Rooms
from skein.services.run_views import RunViews
from skein.services.runs import Runs
from skein.services.sources import Sources
from skein.services.upkeep import Upkeep
from skein.services.usage import UsageBook
from skein.services.users import Users
from skein.settings import Settings

PORTS = frozenset(
    {"clock", "ids", "table", "queues", "model", "tokens", "sms", "verifier", "secrets", "metrics"}
)


class App:
    """All of Skein, wired: ports first, then the services built from them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def clock(self) -> Clock:
        """The time."""
        from skein.adapters.system import SystemClock

        return SystemClock()

    @cached_property
    def ids(self) -> Ids:
        """The source of new ids."""
        from skein.adapters.system import UlidIds

        return UlidIds(self.clock)

    @cached_property
    def table(self) -> Table:
        """The one table."""
        from skein.adapters.dynamodb import DynamoTable, dynamo_client

        return DynamoTable(dynamo_client(self.settings), self.settings.table_name, self.clock)

    @cached_property
    def queues(self) -> Queues:
        """The queues behind the workers."""
        from skein.adapters.sqs import SqsQueues, sqs_client

        urls: dict[QueueName, str] = {
            "turns": self.settings.turns_queue_url,
            "deliveries": self.settings.deliveries_queue_url,
            "upkeep": self.settings.upkeep_queue_url,
        }
        return SqsQueues(sqs_client(self.settings), urls)

    @cached_property
    def secrets(self) -> Secrets:
        """Where credentials are kept."""
        from skein.adapters.secrets import SecretsManager, secrets_client

        return SecretsManager(secrets_client(self.settings), self.clock)

    @cached_property
    def model(self) -> LanguageModel:
        """The language model."""
        from skein.adapters.openai_model import OpenAIModel

        return OpenAIModel(
            api_key=lambda: self.secrets.get(self.settings.openai_secret)["api_key"],
            base_url=self.settings.openai_base_url,
        )

    @cached_property
    def tokens(self) -> TokenCounter:
        """Exact token counts."""
        from skein.adapters.tokens import Tokens

        return Tokens()

    @cached_property
    def sms(self) -> Sms:
        """The SMS provider."""
        from skein.adapters.twilio_sms import TwilioSms

        return TwilioSms(self.secrets, self.settings)

    @cached_property
    def verifier(self) -> WebhookVerifier:
        """Knows the SMS provider's signature."""
        from skein.adapters.twilio_signature import TwilioSignature

        return TwilioSignature(self.secrets, self.settings)

    @cached_property
    def metrics(self) -> Metrics:
        """Counters for the operator."""
        from skein.adapters.metrics import EmfMetrics

        return EmfMetrics()

    @cached_property
    def dispatch(self) -> Dispatch:
        """Sends jobs after a commit."""
        return Dispatch(queues=self.queues, metrics=self.metrics)

    @cached_property
    def chats(self) -> Chats:
        """The door by which messages enter chats."""
        return Chats(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @cached_property
    def runs(self) -> Runs:
        """The life of runs."""
        return Runs(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            metrics=self.metrics,
            settings=self.settings,
        )

    @cached_property
    def run_views(self) -> RunViews:
        """Runs as the API shows them."""
        return RunViews(table=self.table, clock=self.clock)

    @cached_property
    def respond(self) -> Respond:
        """Runs started by hand."""
        return Respond(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @cached_property
    def turns(self) -> Turns:
        """What the run worker does."""
        return Turns(
            runs=self.runs,
            context=ContextBuilder(
                table=self.table, clock=self.clock, tokens=self.tokens, settings=self.settings
            ),
            chats=self.chats,
            model=self.model,
            usage=self.usage,
            clock=self.clock,
            settings=self.settings,
        )

    @cached_property
    def usage(self) -> UsageBook:
        """What agents cost by day."""
        return UsageBook(table=self.table, clock=self.clock, metrics=self.metrics)

    @cached_property
    def tick(self) -> Tick:
        """Sends again, or fires, what is due."""
        return Tick(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            metrics=self.metrics,
            firing={"plan": Firing(table=self.table, settings=self.settings).fire},
        )

    @cached_property
    def goals(self) -> Goals:
        """What agents are after."""
        return Goals(table=self.table, clock=self.clock, ids=self.ids)

    @cached_property
    def plans(self) -> Plans:
        """What will wake agents."""
        return Plans(table=self.table, clock=self.clock)

    @cached_property
    def sources(self) -> Sources:
        """Services outside that wake agents."""
        return Sources(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @cached_property
    def upkeep(self) -> Upkeep:
        """Keeps lists of chats up to date."""
        return Upkeep(table=self.table, clock=self.clock)

    @cached_property
    def ingest(self) -> Ingest:
        """Texts on their way in."""
        return Ingest(table=self.table, clock=self.clock, ids=self.ids, chats=self.chats)

    @cached_property
    def deliveries(self) -> Deliveries:
        """Texts on their way out."""
        return Deliveries(
            table=self.table,
            clock=self.clock,
            sms=self.sms,
            dispatch=self.dispatch,
            metrics=self.metrics,
            settings=self.settings,
        )

    @cached_property
    def rooms(self) -> Rooms:
        """Who is in which chat, and how it behaves."""
        return Rooms(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @cached_property
    def views(self) -> ChatViews:
        """Chats and messages as the API shows them."""
        return ChatViews(table=self.table, clock=self.clock)

    @cached_property
    def agents(self) -> Agents:
        """The tenant's agents."""
        return Agents(table=self.table, clock=self.clock, ids=self.ids)

    @cached_property
    def users(self) -> Users:
        """The tenant's people."""
        return Users(table=self.table, clock=self.clock, ids=self.ids)

    @cached_property
    def lines(self) -> Lines:
        """The tenant's phone numbers."""
        return Lines(table=self.table, clock=self.clock)


def build_app(settings: Settings, **overrides: object) -> App:
    """Wire Skein.

    Args:
        settings: Of this deployment.
        overrides: Ports, by the names in `PORTS`, to be used instead of the adapters.

    Raises:
        TypeError: An override names no port.
    """
    unknown = overrides.keys() - PORTS
    if unknown:
        raise TypeError(f"no such port: {', '.join(sorted(unknown))}")
    app = App(settings)
    vars(app).update(overrides)  # where cached_property looks before it builds
    return app


class _Container:
    """What one Lambda container, or one test, holds on to between invocations."""

    app: App | None = None


def app() -> App:
    """The container's app, built from the environment when it is first asked for."""
    if _Container.app is None:
        _Container.app = build_app(Settings.from_environment(os.environ))
    return _Container.app


def use(replacement: App | None) -> None:
    """Let handlers use `replacement` from now on; None goes back to the environment's."""
    _Container.app = replacement
