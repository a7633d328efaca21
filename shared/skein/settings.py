"""Settings of a deployment, with their defaults and bounds.

Each setting is an environment variable: `SKEIN_` and the setting's name in capitals. Only
`Settings.from_environment` reads the environment, and only when the composition root is built. The
settings that `models/config/overrides.py` defines can be overridden by operators without a
deployment.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Self, get_origin

from pydantic import ConfigDict, Field, ValidationError

from skein.errors import SkeinError
from skein.models.common.json_types import JsonBool
from skein.models.config.overrides import (
    ChatSettings,
    LimitSettings,
    OverridableSettings,
    Overrides,
    RolloutSettings,
)

PREFIX = "SKEIN_"
NO_QUEUES: Mapping[str, str] = {}
NO_PROVIDERS: Mapping[str, str] = {}
# Providers of models with an adapter of their own -> the function that creates their models from
# the parts in `adapters/model_providers.py`. It is imported at the first request.
MODEL_ADAPTERS: Mapping[str, str] = {"converse": "skein.adapters.converse.model.create"}


class BadSettings(SkeinError):
    """An environment variable has a value that its setting does not accept."""


class Settings(RolloutSettings, LimitSettings, ChatSettings):
    """The settings of one deployment; tokens are counted as the model counts them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Locations
    stack_name: Annotated[
        str, Field(description="Name of the stack, the dimension `service` of its metrics.")
    ] = "skein"
    table_name: Annotated[str, Field(description="Name of the DynamoDB table.")] = "skein"
    erasure_register_name: Annotated[
        str, Field(description="Name of the DynamoDB table of the erasure register.")
    ] = "skein-erasures"
    assigned_numbers_name: Annotated[
        str, Field(description="Name of the DynamoDB table of the numbers of tenants.")
    ] = "skein-numbers"
    media_bucket: Annotated[
        str, Field(description="Name of the S3 bucket of the pictures and files of messages.")
    ] = "skein-media"
    vector_index: Annotated[
        str, Field(description="Name of the table's vector index; unset if it has none.")
    ] = ""
    recall: Annotated[
        JsonBool,
        Field(description="Whether messages are indexed and recalled; if not, recall_tokens is 0."),
    ] = True
    queue_urls: Annotated[
        Mapping[str, str],
        Field(description="URLs of the queues, by the queue's name (JSON)."),
    ] = NO_QUEUES
    live_url: Annotated[
        str,
        Field(
            description="WebSocket URL of the live channel, with the stage; "
            "unset if there is no live channel."
        ),
    ] = ""
    live: Annotated[
        JsonBool,
        Field(description="Whether changes are pushed to the live channel."),
    ] = True
    web_chat: Annotated[
        JsonBool,
        Field(description="Whether agents answer visitors of web pages."),
    ] = False
    edge_secret: Annotated[
        str,
        Field(
            description="Secret with `key`, by which CloudFront proves itself (Secrets Manager); "
            "unset without it."
        ),
    ] = ""
    aws_endpoint_url: Annotated[
        str | None,
        Field(description="Endpoint of DynamoDB, S3, SQS and Secrets Manager; unset on AWS."),
    ] = None
    bedrock_endpoint_url: Annotated[
        str | None,
        Field(
            description="Endpoint of Bedrock's Converse API and guardrails; unset for that of "
            "`SKEIN_AWS_ENDPOINT_URL`, or for AWS's own."
        ),
    ] = None
    public_base_url: Annotated[
        str,
        Field(description="URL of the webhooks for Twilio and of the console, with the stage."),
    ] = "http://127.0.0.1:8787"

    # Notifications to phones
    apns_application_arn: Annotated[
        str,
        Field(
            description="Platform application of SNS for iPhones; if unset, they get no "
            "notifications."
        ),
    ] = ""
    fcm_application_arn: Annotated[
        str,
        Field(
            description="Platform application of SNS for Android phones; if unset, they get no "
            "notifications."
        ),
    ] = ""

    # Outside services
    twilio_secret: Annotated[
        str,
        Field(description="Secret with `account_sid` and `auth_token` (Secrets Manager)."),
    ] = ""
    twilio_api_url: Annotated[
        str | None, Field(description="Base URL of Twilio's REST API; unset for Twilio's own.")
    ] = None
    openai_secret: Annotated[str, Field(description="Secret with `api_key` (Secrets Manager).")] = (
        ""
    )
    services_secret: Annotated[
        str,
        Field(
            description="Secret with `key`, from which the secrets of webhook services follow "
            "(Secrets Manager)."
        ),
    ] = ""
    openai_base_url: Annotated[
        str | None, Field(description="Base URL of an OpenAI-compatible API; unset for OpenAI's.")
    ] = None
    model_providers: Annotated[
        Mapping[str, str],
        Field(
            description="Base URLs of further providers, by the name with which the names of their "
            "models begin (JSON)."
        ),
    ] = NO_PROVIDERS
    default_model: Annotated[
        str, Field(description="Model of agents that name no model.", min_length=1)
    ] = "gpt-4.1-mini"
    light_model: Annotated[
        str, Field(description="Model of summaries and other light work.", min_length=1)
    ] = "gpt-4.1-nano"
    embeddings_model: Annotated[
        str,
        Field(
            description="Model of embeddings at the provider, with 256 dimensions; unset to "
            "compute embeddings inside the functions."
        ),
    ] = ""

    event_bus_arn: Annotated[
        str,
        Field(
            description="ARN of the event bus of Amazon EventBridge that takes events; unset if "
            "there is none."
        ),
    ] = ""

    # Tools of tenants
    tool_hosts: Annotated[
        tuple[str, ...],
        Field(description="Hosts that tools may call, separated by commas; unset for all."),
    ] = ()

    # Tokens of clients
    jwt_issuer: Annotated[
        str, Field(description="Issuer of the clients' tokens; unset if there is none.")
    ] = ""
    jwt_audience: Annotated[str, Field(description="Audience of the clients' tokens.")] = ""
    jwt_scope_claims: Annotated[
        tuple[str, ...],
        Field(description="Claims with the scopes of a token, separated by commas.", min_length=1),
    ] = ("scope", "scp")
    jwt_scope_prefix: Annotated[
        str, Field(description="Prefix of the scopes in a token; other scopes do not count.")
    ] = ""
    jwt_tenant_claim: Annotated[
        str, Field(description="Claim with the tenant of a token.", min_length=1)
    ] = "tenant"
    jwt_tenant: Annotated[
        str, Field(description="Tenant of all tokens; if empty, the claim names the tenant.")
    ] = ""

    # Console
    console_client_id: Annotated[
        str, Field(description="Id of the console at the issuer; if empty, nobody can sign in.")
    ] = ""
    console_issuer: Annotated[
        str, Field(description="Issuer at which people sign in to the console.")
    ] = ""
    console_audience: Annotated[
        str, Field(description="Audience that the console asks the issuer for.")
    ] = ""
    console_origins: Annotated[
        tuple[str, ...],
        Field(
            description="Further origins that the console calls to sign in, separated by commas."
        ),
    ] = ()
    local: Annotated[
        JsonBool,
        Field(description="Whether the calls under `/local` exist; only the local stack sets it."),
    ] = False

    # Summaries, memories and retention
    summary_cooldown_seconds: Annotated[
        int, Field(description="Minimum seconds between two summaries of the same kind.", ge=10)
    ] = 300
    auto_title: Annotated[
        JsonBool,
        Field(description="Whether chats that nobody has named get a title automatically."),
    ] = True
    consolidation_chunk_tokens: Annotated[
        int, Field(description="Maximum tokens of messages per consolidation.", ge=1_000)
    ] = 100_000
    number_silence_days: Annotated[
        int,
        Field(
            description="Days without an SMS after which a phone number is a new person's; "
            "0 for never.",
            ge=0,
        ),
    ] = 180
    reassigned_lookup_days: Annotated[
        int,
        Field(
            description="Days without an SMS after which Twilio is asked whether a US number was "
            "reassigned; 0 for never.",
            ge=0,
        ),
    ] = 0
    max_open_threads: Annotated[
        int, Field(description="Maximum number of open threads per agent and scope.", ge=1, le=10)
    ] = 3
    audit_days: Annotated[int, Field(description="Retention of the audit log in days.", ge=1)] = 400

    # Runs
    apology_text: Annotated[
        str, Field(description="Text of the notice that the answer is late.", min_length=1)
    ] = "Sorry, I can't answer just now. Your message is safe, and I'll reply as soon as I can."
    model_timeout_seconds: Annotated[
        float,
        Field(
            description="Timeout of one model answer, including its retry, in seconds.", gt=0, le=90
        ),
    ] = 90
    reasoning_tokens: Annotated[
        int,
        Field(
            description="Tokens that a reasoning model may use before its answer.",
            ge=0,
            le=100_000,
        ),
    ] = 8_000
    max_prompt_tokens: Annotated[
        int,
        Field(
            description="Maximum tokens of a prompt, for agents without a limit of their own.",
            ge=1_000,
        ),
    ] = 32_000
    context_cache_seconds: Annotated[
        int,
        Field(
            description="Maximum age of the context cache's data in seconds; 0 for no cache.",
            ge=0,
            le=86_400,
        ),
    ] = 300
    max_chain_depth: Annotated[
        int,
        Field(description="Chain depth from which agents' messages start no run.", ge=1, le=50),
    ] = 5
    max_concurrent_runs: Annotated[
        int | None,
        Field(description="Concurrency limit of an agent's runs; unset for no limit.", ge=1),
    ] = None
    model_retry_max_seconds: Annotated[
        int,
        Field(
            description="Maximum seconds until a deferred run calls its model again.", ge=10, le=900
        ),
    ] = 900
    trace_percent: Annotated[
        float,
        Field(
            description="Percentage of traces that are sent to X-Ray, or to `SKEIN_OTLP_ENDPOINT`; "
            "0 turns tracing off, or sends all traces to that endpoint.",
            ge=0,
            le=100,
        ),
    ] = 0
    otlp_endpoint: Annotated[
        str,
        Field(
            description="Base URL of an OTLP receiver (HTTP, JSON) that gets the traces in place "
            "of X-Ray; unset for none."
        ),
    ] = ""
    otlp_content: Annotated[
        JsonBool,
        Field(
            description="Whether traces at that endpoint contain the prompts and answers of open "
            "chats. Those of private chats are never sent."
        ),
    ] = False

    @property
    def push_applications(self) -> Mapping[str, str]:
        """The ARNs of the platform applications that are configured, by platform."""
        known = {"apns": self.apns_application_arn, "fcm": self.fcm_application_arn}
        return {platform: arn for platform, arn in known.items() if arn}

    def overridden(self, *levels: Overrides) -> Self:
        """Return the settings with the overrides of several levels; later levels take precedence.

        Settings that have no environment variable are not fields of this class; their overrides are
        ignored here.
        """
        given = {name: value for level in levels for name, value in level.items()}
        if not given:
            return self
        read = OverridableSettings.model_validate(given)
        names = read.model_fields_set & type(self).model_fields.keys()
        if not self.recall:
            names -= {"recall_tokens"}
        return self.model_copy(update={name: getattr(read, name) for name in names})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the settings from variables such as `SKEIN_TABLE_NAME`; ignore empty variables.

        If `SKEIN_OPENAI_BASE_URL` is set, `SKEIN_LIGHT_MODEL` defaults to the default model,
        because a compatible API need not have OpenAI's light model.

        Raises:
            BadSettings: A variable has an invalid value.
        """
        given = {
            name: _parsed(field.annotation, environment[variable(name)])
            for name, field in cls.model_fields.items()
            if environment.get(variable(name))
        }
        if "openai_base_url" in given:
            default = given.get("default_model", cls.model_fields["default_model"].default)
            given.setdefault("light_model", default)
        if given.get("recall") is False:
            given["recall_tokens"] = 0
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            reasons = "; ".join(f"{variable(str(e['loc'][0]))}: {e['msg']}" for e in error.errors())
            raise BadSettings(reasons) from None


def variable(name: str) -> str:
    """Return the name of a setting's environment variable."""
    return PREFIX + name.upper()


def _parsed(kind: Any, text: str) -> Any:
    """Parse a variable as its setting's type requires: as text, as a list of texts, or as JSON."""
    if kind in {str, str | None}:
        return text
    if get_origin(kind) is tuple:
        return tuple(text.split(","))
    try:
        return json.loads(text)
    except ValueError:
        return text  # the validation of the setting then fails
