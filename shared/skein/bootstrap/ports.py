"""The ports of all functions, with their real adapters.

An adapter is imported at its first use. Its libraries are large, and each function needs only some
of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from threading import RLock
from typing import TYPE_CHECKING

from skein.bootstrap.lazy import lazy
from skein.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from skein.adapters.aws.clients import Aws
    from skein.adapters.openai.model import OpenAIModel
    from skein.adapters.static_embeddings import StaticEmbeddings
    from skein.ports import (
        Background,
        CapturedCall,
        Clock,
        Embeddings,
        EventBus,
        Extensions,
        Files,
        Guardrails,
        IdentityProvider,
        Ids,
        LanguageModel,
        McpClient,
        MediaReader,
        Metrics,
        MobilePush,
        ModelList,
        ModelTokens,
        NumbersTable,
        OutboundHttp,
        ParallelMap,
        QueryEmbeddings,
        Queues,
        RegisterTable,
        Secrets,
        Sms,
        Sockets,
        Table,
        TextEmbeddings,
        VectorIndex,
        Vocabulary,
        WebhookVerifier,
    )
    from skein.tracing import Tracer

APP = "app"  # stands for the app itself among the names of ports
ADAPTERS = {  # port -> module of its real adapter
    "clock": "system",
    "ids": "system",
    "table": "dynamodb.table",
    "erasure_register": "dynamodb.table",
    "assigned_numbers": "dynamodb.table",
    "vectors": "dynamodb.vectors",
    "queues": "aws.sqs",
    "files": "aws.s3",
    "media_reader": "media_reader",
    "model": "openai.model",
    "model_list": "openai.model",
    "guardrails": "guardrails",
    "tokens": "tokens",
    "sms": "text_providers",
    "sockets": "aws.gateway_sockets",
    "mobile_push": "aws.mobile_push",
    "background": "background",
    "parallel_map": "parallel",
    "outbound_http": "outbound_http",
    "event_bus": "aws.event_bus",
    "identity_provider": "identity_provider",
    "mcp_client": "mcp_client",
    "verifier": "twilio.signature",
    "secrets": "aws.secrets",
    "metrics": "aws.metrics",
    "tracer": "opentelemetry_tracer",
    "embeddings": "static_embeddings",
    "vocabulary": "static_embeddings",
}
TABLES = ("table", "erasure_register", "assigned_numbers")
OF_WORLDS = ("model", "guardrails", "tokens", "vocabulary", "parallel_map")
"""The ports that worlds share with the app: they change nothing outside, and reach no person."""
SHARED = ("clock", "ids", "table", "queues", "metrics")  # the ports that every function needs


class Ports:
    """The settings and the adapters of one container.

    Args:
        overrides: Adapters to use instead of the real ones, by the names in `ADAPTERS`.

    Raises:
        TypeError: An override's name is not in `ADAPTERS`.
    """

    def __init__(self, settings: Settings, **overrides: object) -> None:
        unknown = overrides.keys() - ADAPTERS.keys()
        if unknown:
            raise TypeError(f"unknown port: {', '.join(sorted(unknown))}")
        self.settings = settings
        self.building = RLock()
        vars(self).update(overrides)  # `lazy` stores built adapters there, too

    @lazy
    def clock(self) -> Clock:
        from skein.adapters.system import SystemClock

        return SystemClock()

    @lazy
    def ids(self) -> Ids:
        from skein.adapters.system import UlidIds

        return UlidIds(self.clock)

    @lazy
    def extensions(self) -> Extensions:
        from skein.interface.extensions import RegisteredExtensions

        return RegisteredExtensions()

    @lazy
    def aws(self) -> Aws:
        from skein.adapters.aws.clients import Aws

        return Aws(self.settings)

    @lazy
    def dynamodb(self) -> DynamoDBClient:
        """The client of the table and of its vector index, so that the two share connections."""
        from skein.adapters.dynamodb.table import dynamo_client

        return dynamo_client(self.aws)

    @lazy
    def table(self) -> Table:
        from skein.adapters.dynamodb.table import DynamoTable

        return DynamoTable(self.dynamodb, self.settings.table_name, self.clock)

    @lazy
    def erasure_register(self) -> RegisterTable:
        from skein.adapters.dynamodb.table import DynamoTable

        return DynamoTable(self.dynamodb, self.settings.erasure_register_name, self.clock)

    @lazy
    def assigned_numbers(self) -> NumbersTable:
        from skein.adapters.dynamodb.table import DynamoTable

        return DynamoTable(self.dynamodb, self.settings.assigned_numbers_name, self.clock)

    @lazy
    def vectors(self) -> VectorIndex:
        from skein.adapters.dynamodb.vectors import DynamoVectorIndex

        return DynamoVectorIndex(
            self.dynamodb, self.settings.table_name, self.settings.vector_index, self.clock
        )

    @lazy
    def parallel_map(self) -> ParallelMap:
        from skein.adapters.parallel import map_threads

        return map_threads

    @lazy
    def queues(self) -> Queues:
        from skein.adapters.aws.sqs import SqsQueues, sqs_client

        return SqsQueues(sqs_client(self.aws), self.settings.queue_urls)

    @lazy
    def files(self) -> Files:
        from skein.adapters.aws.s3 import S3Files, s3_client

        return S3Files(s3_client(self.aws), self.settings.media_bucket)

    @lazy
    def media_reader(self) -> MediaReader:
        from skein.adapters.media_reader import LibraryMediaReader

        return LibraryMediaReader()

    @lazy
    def secrets(self) -> Secrets:
        from skein.adapters.aws.secrets import SecretsManager, secrets_client

        return SecretsManager(secrets_client(self.aws), self.clock)

    @lazy
    def model(self) -> LanguageModel:
        from skein.adapters.model_providers import AdapterParts, ProviderModels, adapted_models

        parts = AdapterParts(self.settings, lambda: self.secrets, lambda: self.aws)
        providers = self.settings.model_providers.items()
        named = {name: partial(self._provider, name, url) for name, url in providers}
        return ProviderModels(self.openai, {**adapted_models(parts), **named})

    @lazy
    def guardrails(self) -> Guardrails:
        from skein.adapters.guardrails import OperatorGuardrails

        url = self.settings.bedrock_endpoint_url
        return OperatorGuardrails(lambda: self.aws, endpoint_url=url)

    @lazy
    def model_list(self) -> ModelList:
        return self.openai

    @lazy
    def openai(self) -> OpenAIModel:
        """The client of the default provider of models."""
        return self._provider("api_key", self.settings.openai_base_url)

    def _provider(self, secret_field: str, base_url: str | None) -> OpenAIModel:
        """Return the client of one provider.

        Args:
            secret_field: The field of the models' secret that has the provider's key. If there is
                no such field, requests to Bedrock are signed with the function's role.
            base_url: The provider's address; None for OpenAI.
        """
        from skein.adapters.openai.bedrock import bedrock_region, bedrock_signer
        from skein.adapters.openai.model import OpenAIModel

        secret, region = self.settings.openai_secret, bedrock_region(base_url)

        def api_key() -> str | None:
            fields = self.secrets.get(secret) if secret else {}
            return fields.get(secret_field)

        def signer() -> object:
            return bedrock_signer(str(base_url), str(region), self.aws.credentials)

        return OpenAIModel(
            api_key=api_key,
            base_url=base_url,
            reasoning_tokens=self.settings.reasoning_tokens,
            signer=signer if region is not None else None,
            tokens=lambda: self.tokens,
        )

    @lazy
    def tokens(self) -> ModelTokens:
        from skein.adapters.tokens import Tokens

        return Tokens()

    @lazy
    def static_embeddings(self) -> StaticEmbeddings:
        from skein.adapters.static_embeddings import StaticEmbeddings

        return StaticEmbeddings()

    @lazy
    def embeddings(self) -> Embeddings:
        if not self.settings.embeddings_model:
            return self.static_embeddings
        from skein.adapters.openai.embeddings import OpenAIEmbeddings

        return OpenAIEmbeddings(self.openai, self.settings.embeddings_model)

    @lazy
    def query_embeddings(self) -> QueryEmbeddings:
        if not self.settings.embeddings_model:
            return self.embeddings
        from skein.adapters.openai import embeddings

        model = self.settings.embeddings_model
        return embeddings.QueryEmbeddings(
            embeddings.OpenAIEmbeddings(self.openai, model, seconds=embeddings.QUERY_SECONDS),
            self.clock,
            failed=lambda: self.metrics.count("RecallWithoutEmbeddings"),
        )

    @lazy
    def text_embeddings(self) -> TextEmbeddings:
        return self.static_embeddings if self.settings.embeddings_model else self.embeddings

    @lazy
    def vocabulary(self) -> Vocabulary:
        return self.static_embeddings

    @lazy
    def sms(self) -> Sms:
        from skein.adapters.text_providers import TextProviders

        return TextProviders(self.secrets, self.settings)

    @lazy
    def outbound_http(self) -> OutboundHttp:
        from skein.adapters.outbound_http import OutboundHttpClient

        return OutboundHttpClient(loopback=self.settings.local, hosts=self.settings.tool_hosts)

    @lazy
    def event_bus(self) -> EventBus:
        from skein.adapters.aws.event_bus import EventBridgeBus, events_client

        return EventBridgeBus(events_client(self.aws), self.settings.event_bus_arn)

    @lazy
    def identity_provider(self) -> IdentityProvider:
        from skein.adapters.identity_provider import OpenIdProvider

        return OpenIdProvider(self.settings.jwt_issuer, self.settings.jwt_audience)

    @lazy
    def mcp_client(self) -> McpClient:
        """The client of MCP servers; its library is imported at the first call."""
        from skein.adapters.mcp_client import LibraryMcpClient

        return LibraryMcpClient()

    @lazy
    def sockets(self) -> Sockets:
        from skein.adapters.aws.gateway_sockets import GatewaySockets, gateway_client

        url = self.settings.live_url
        return GatewaySockets(gateway_client(self.aws, url) if url else None)

    @lazy
    def mobile_push(self) -> MobilePush:
        from skein.adapters.aws.mobile_push import SnsPush, sns_client

        return SnsPush(sns_client(self.aws), self.settings.push_applications)

    @lazy
    def background(self) -> Background:
        from skein.adapters.background import BackgroundThread

        return BackgroundThread()

    @lazy
    def verifier(self) -> WebhookVerifier:
        from skein.adapters.twilio.signature import TwilioSignature

        return TwilioSignature(self.secrets, self.settings)

    @lazy
    def tracer(self) -> Tracer | None:
        """The tracer; None if tracing is off, so that its library is not loaded."""
        percent, stack_name = self.settings.trace_percent, self.settings.stack_name
        if self.settings.otlp_endpoint:
            from skein.adapters.opentelemetry_tracer import OpenTelemetryTracer
            from skein.adapters.otlp_exporter import OtlpExporter

            exporter = OtlpExporter(self.settings.otlp_endpoint, headers=self._otlp_headers)
            return OpenTelemetryTracer(exporter, percent=percent or 100, stack_name=stack_name)
        if not percent:
            return None
        from skein.adapters.opentelemetry_tracer import OpenTelemetryTracer, XRayExporter

        return OpenTelemetryTracer(XRayExporter(), percent=percent, stack_name=stack_name)

    def _otlp_headers(self) -> Mapping[str, str]:
        """Return the headers of the trace receiver, from the secret of the models."""
        secret = self.settings.openai_secret
        fields = self.secrets.get(secret) if secret else {}
        token = fields.get("otlp_authorization")
        return {"authorization": token} if token else {}

    @lazy
    def metrics(self) -> Metrics:
        from skein.adapters.aws.metrics import EmfMetrics

        return EmfMetrics(self.settings.stack_name)


def ports_of_world(app: Ports, captured: list[CapturedCall], **given: object) -> Ports:
    """Return the ports of a world, an app in memory; see `skein.ports.Services.world`.

    Args:
        app: The app's ports; the world uses those that `OF_WORLDS` lists.
        given: Ports of the world, among them its clock.
    """
    from skein.adapters.captured import Captured
    from skein.adapters.sqlite_table.database import Database
    from skein.adapters.sqlite_table.table import SqliteTable
    from skein.adapters.system import UlidIds

    clock: Clock = given["clock"]  # type: ignore[assignment]
    ports: dict[str, object] = {name: Captured(name, captured) for name in ADAPTERS}
    ports |= {name: SqliteTable(Database(), clock) for name in TABLES}
    ports |= {name: getattr(app, name) for name in OF_WORLDS}
    ports |= {"ids": UlidIds(clock), "embeddings": app.text_embeddings, "tracer": None}
    settings = app.settings.model_copy(
        update={"live": False, "live_url": "", "embeddings_model": ""}
    )
    return Ports(settings, **ports | given)


@cache
def port_types() -> Mapping[object, str]:
    """Return, for each type of a parameter, the name of the port; `APP` stands for the app."""
    from skein import ports

    built = {name: value for name, value in vars(Ports).items() if isinstance(value, lazy)}
    types = {name: vars(ports).get(value.type_name) for name, value in built.items()}
    given = {Settings: "settings", ports.Services: APP}
    return given | {kind: name for name, kind in types.items() if kind}
