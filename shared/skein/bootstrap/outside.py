"""The ports with their real adapters, which are imported at their first use."""

from __future__ import annotations

from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING

from skein.bootstrap.part import part
from skein.settings import Settings

if TYPE_CHECKING:
    from skein.adapters.aws import Aws
    from skein.ports import (
        Clock,
        Ids,
        LanguageModel,
        Metrics,
        ModelTokens,
        Queues,
        Secrets,
        Sms,
        Table,
        WebhookVerifier,
    )
    from skein.services.common.parallel import ParallelMap

ADAPTERS = {  # port -> module of its real adapter
    "clock": "system",
    "ids": "system",
    "table": "dynamodb",
    "queues": "sqs",
    "model": "openai_model",
    "tokens": "tokens",
    "sms": "twilio_sms",
    "verifier": "twilio_signature",
    "secrets": "secrets",
    "metrics": "metrics",
}
PORTS = frozenset({*ADAPTERS, "at_once"})
EVERYBODYS = ("clock", "ids", "table", "queues", "metrics")


def load_adapter(port: str) -> None:
    """Import the real adapter of a port and its libraries, without creating the adapter."""
    adapter = import_module(f"skein.adapters.{ADAPTERS[port]}")
    for library in getattr(adapter, "LIBRARIES", ()):
        import_module(library)


class Outside:
    """The ports that Skein needs."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.building = RLock()

    @part
    def clock(self) -> Clock:
        """The clock."""
        from skein.adapters.system import SystemClock

        return SystemClock()

    @part
    def ids(self) -> Ids:
        """The source of new ids."""
        from skein.adapters.system import UlidIds

        return UlidIds(self.clock)

    @part
    def aws(self) -> Aws:
        """The factory of AWS clients."""
        from skein.adapters.aws import Aws

        return Aws(self.settings)

    @part
    def table(self) -> Table:
        """The single table."""
        from skein.adapters.dynamodb import DynamoTable, dynamo_client

        return DynamoTable(dynamo_client(self.aws), self.settings.table_name, self.clock)

    @part
    def at_once(self) -> ParallelMap:
        """The parallel map, which does several calls at once."""
        from skein.services.common.parallel import map_threads

        return map_threads

    @part
    def queues(self) -> Queues:
        """The queues behind the workers."""
        from skein.adapters.sqs import SqsQueues, sqs_client

        return SqsQueues(sqs_client(self.aws), self.settings.queue_urls())

    @part
    def secrets(self) -> Secrets:
        """The store of credentials."""
        from skein.adapters.secrets import SecretsManager, secrets_client

        return SecretsManager(secrets_client(self.aws), self.clock)

    @part
    def model(self) -> LanguageModel:
        """The language model."""
        from skein.adapters.openai_model import OpenAIModel

        return OpenAIModel(
            api_key=lambda: self.secrets.get(self.settings.openai_secret)["api_key"],
            base_url=self.settings.openai_base_url,
        )

    @part
    def tokens(self) -> ModelTokens:
        """The token counter."""
        from skein.adapters.tokens import Tokens

        return Tokens()

    @part
    def sms(self) -> Sms:
        """The SMS provider."""
        from skein.adapters.twilio_sms import TwilioSms

        return TwilioSms(self.secrets, self.settings)

    @part
    def verifier(self) -> WebhookVerifier:
        """The verifier of the SMS provider's webhook signatures."""
        from skein.adapters.twilio_signature import TwilioSignature

        return TwilioSignature(self.secrets, self.settings)

    @part
    def metrics(self) -> Metrics:
        """Counters for the operator."""
        from skein.adapters.metrics import EmfMetrics

        return EmfMetrics()

    @part
    def context_table(self) -> Table:
        """The table with a circuit breaker, for reads of prompts.

        An agent can answer with a degraded context when these reads fail or are slow. All other
        reads decide whether an action is allowed, so no circuit breaker skips them.
        """
        from skein.services.common.circuit_breaker import CircuitBreaker, GuardedReads

        breaker = CircuitBreaker(
            "table reads",
            clock=self.clock,
            metrics=self.metrics,
            settings=self.settings,
            slow_seconds=self.settings.context_read_seconds,
        )
        return GuardedReads(self.table, breaker)
