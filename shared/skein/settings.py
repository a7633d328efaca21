"""Settings of a deployment, with their defaults and bounds.

Each setting is an environment variable: `SKEIN_` and the setting's name in capitals. Only
`Settings.from_environment` reads the environment, and only when the composition root is built.
"""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skein.errors import SkeinError
from skein.models.common.quiet_hours import QuietHours
from skein.models.config.overrides import ResetPhrases

PREFIX = "SKEIN_"


class BadSettings(SkeinError):
    """An environment variable has a value that its setting does not accept."""


def _listed(value: object) -> object:
    """Split the value of an environment variable at commas."""
    return tuple(value.split(",")) if isinstance(value, str) else value


def _hours(value: object) -> object:
    """Split the value of an environment variable such as `21:00-08:00`."""
    if not isinstance(value, str):
        return value
    begin, _, end = value.partition("-")
    return {"from": begin.strip(), "to": end.strip()}


class Settings(BaseModel):
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
    vector_index: Annotated[
        str, Field(description="Name of the table's vector index; unset if it has none.")
    ] = ""
    turns_queue_url: Annotated[str, Field(description="URL of the queue of agent runs.")] = ""
    deliveries_queue_url: Annotated[str, Field(description="URL of the queue of deliveries.")] = ""
    upkeep_queue_url: Annotated[str, Field(description="URL of the queue of chat upkeep.")] = ""
    summaries_queue_url: Annotated[str, Field(description="URL of the queue of summaries.")] = ""
    consolidations_queue_url: Annotated[
        str, Field(description="URL of the queue of consolidations.")
    ] = ""
    reflections_queue_url: Annotated[str, Field(description="URL of the queue of reflections.")] = (
        ""
    )
    erasures_queue_url: Annotated[str, Field(description="URL of the queue of erasures.")] = ""
    recall_queue_url: Annotated[
        str, Field(description="URL of the queue of the index of recall.")
    ] = ""
    pushes_queue_url: Annotated[
        str, Field(description="URL of the queue of the live channel's frames.")
    ] = ""
    live_url: Annotated[
        str,
        Field(
            description="WebSocket URL of the live channel, with the stage; "
            "unset if there is no live channel."
        ),
    ] = ""
    aws_endpoint_url: Annotated[
        str | None,
        Field(description="Endpoint of DynamoDB, SQS and Secrets Manager; unset on AWS."),
    ] = None
    public_base_url: Annotated[
        str,
        Field(description="URL of the webhooks for Twilio, with the stage."),
    ] = "http://127.0.0.1:8787"

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
    openai_base_url: Annotated[
        str | None, Field(description="Base URL of an OpenAI-compatible API; unset for OpenAI's.")
    ] = None
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
    former_embeddings_model: Annotated[
        str,
        Field(
            description="Former model of embeddings, whose vectors are still searched: `static` "
            "or a model of the provider; unset without a change."
        ),
    ] = ""

    # Tokens of clients
    jwt_scope_claims: Annotated[
        tuple[str, ...],
        BeforeValidator(_listed),
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
    console: Annotated[bool, Field(description="Whether the console is served at `/console/`.")] = (
        True
    )
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
        BeforeValidator(_listed),
        Field(
            description="Further origins that the console calls to sign in, separated by commas."
        ),
    ] = ()
    local: Annotated[
        bool,
        Field(description="Whether the calls under `/local` exist; only the local stack sets it."),
    ] = False

    # Summaries
    summary_cooldown_seconds: Annotated[
        int, Field(description="Minimum seconds between two summaries of the same kind.", ge=10)
    ] = 300
    summary_message_threshold: Annotated[
        int, Field(description="Number of messages from which a chat has a chat summary.", ge=1)
    ] = 10
    auto_summary: Annotated[
        bool, Field(description="Whether summaries of chats are made automatically.")
    ] = True
    auto_title: Annotated[
        bool, Field(description="Whether chats that nobody has named get a title automatically.")
    ] = True

    # Memories
    core_memory_tokens: Annotated[
        int, Field(description="Maximum tokens of core memories in a prompt.", ge=100)
    ] = 5_000
    journal_tokens: Annotated[
        int, Field(description="Maximum tokens of journal entries in a prompt.", ge=100)
    ] = 2_000
    recall_tokens: Annotated[
        int,
        Field(
            description="Maximum tokens of recalled messages in a prompt; 0 for none.",
            ge=0,
            le=32_000,
        ),
    ] = 1_000
    consolidate: Annotated[
        bool, Field(description="Whether idle chats are consolidated into memories.")
    ] = True
    consolidation_idle_seconds: Annotated[
        int, Field(description="Seconds of silence after which a group is consolidated.", ge=60)
    ] = 21_600
    direct_consolidation_idle_seconds: Annotated[
        int,
        Field(description="Seconds of silence after which a direct chat is consolidated.", ge=60),
    ] = 1_800
    consolidation_chunk_tokens: Annotated[
        int, Field(description="Maximum tokens of messages per consolidation.", ge=1_000)
    ] = 100_000

    consolidation_answer_tokens: Annotated[
        int,
        Field(
            description="Maximum tokens of the model's answer per consolidation.", ge=100, le=32_000
        ),
    ] = 8_000

    # Threads and skills
    skill_tokens: Annotated[
        int,
        Field(description="Maximum tokens of skills in a prompt; a skill is never cut.", ge=100),
    ] = 4_000
    max_open_threads: Annotated[
        int, Field(description="Maximum number of open threads per agent and scope.", ge=1, le=10)
    ] = 3

    # Audit
    audit_days: Annotated[int, Field(description="Retention of the audit log in days.", ge=1)] = 400

    # Turns
    reply_debounce_seconds: Annotated[
        int,
        Field(
            description="Debounce: seconds that a run waits for more messages before it starts.",
            ge=0,
            le=900,
        ),
    ] = 1
    line_reply_debounce_seconds: Annotated[
        int,
        Field(
            description="Debounce: seconds that the answer to an SMS waits for another SMS.",
            ge=0,
            le=900,
        ),
    ] = 3
    line_reply_debounce_max_seconds: Annotated[
        int,
        Field(description="Maximum debounce in seconds, however many SMS arrive.", ge=0, le=900),
    ] = 3
    apology: Annotated[
        bool, Field(description="Whether a person gets one notice that the answer is late.")
    ] = True
    apology_text: Annotated[
        str, Field(description="Text of the notice that the answer is late.", min_length=1)
    ] = "Sorry, I can't answer just now. Your message is safe, and I'll reply as soon as I can."
    streaming: Annotated[
        bool,
        Field(description="Whether connected people see an answer while the model writes it."),
    ] = True
    sms_answer_characters: Annotated[
        int,
        Field(
            description="Maximum characters of an SMS answer, as the prompt asks.",
            ge=70,
            le=20_000,
        ),
    ] = 480
    model_timeout_seconds: Annotated[
        float,
        Field(
            description="Timeout of one model answer, including its retry, in seconds.", gt=0, le=90
        ),
    ] = 90
    max_output_tokens: Annotated[
        int, Field(description="Tokens reserved for the model's answer.", ge=16, le=32_000)
    ] = 1_500
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
    max_context_tokens: Annotated[
        int, Field(description="Maximum tokens of history and summary in a prompt.", ge=100)
    ] = 12_000
    line_context_tokens: Annotated[
        int,
        Field(
            description="Maximum tokens of history and summary in a prompt of a chat on a line.",
            ge=100,
        ),
    ] = 1_000
    history_window: Annotated[
        int, Field(description="Messages in the prompt of a group.", ge=2, le=200)
    ] = 50
    direct_history_window: Annotated[
        int, Field(description="Messages in the prompt of a direct chat.", ge=2, le=200)
    ] = 20
    line_history_window: Annotated[
        int, Field(description="Messages in the prompt of a chat on a line.", ge=2, le=200)
    ] = 5
    include_system_messages: Annotated[
        bool, Field(description="Whether prompts show keywords such as STOP, and notices.")
    ] = False
    tokenizer_model: Annotated[
        str | None,
        Field(description="Model whose tokenizer counts tokens; unset for the agent's model."),
    ] = None
    token_cache_bytes: Annotated[
        int,
        Field(
            description="Maximum memory of the cache of token counts per container, in bytes.", ge=0
        ),
    ] = 32_000_000

    # Sessions and the context cache
    conversation_gap_minutes: Annotated[
        int,
        Field(
            description="Minutes of silence after which a direct chat's next session begins.",
            ge=1,
            le=525_600,
        ),
    ] = 30
    context_reset_phrases: Annotated[
        ResetPhrases,
        BeforeValidator(_listed),
        Field(description="Messages that begin a new session, separated by commas."),
    ] = ("start over", "new topic", "reset")
    context_caching: Annotated[
        bool, Field(description="Whether containers cache data that changes rarely.")
    ] = True
    context_cache_seconds: Annotated[
        int,
        Field(description="Maximum age of the context cache's data in seconds.", ge=1, le=86_400),
    ] = 300
    context_cache_bytes: Annotated[
        int, Field(description="Maximum memory of the context cache per container, in bytes.", ge=0)
    ] = 64_000_000

    # Runs
    max_chain_depth: Annotated[
        int,
        Field(description="Chain depth from which agents' messages start no run.", ge=1, le=50),
    ] = 5
    max_agent_runs: Annotated[
        int,
        Field(
            description="Runs of an agent in a chat that agents' messages may start per window.",
            ge=1,
        ),
    ] = 8
    agent_runs_window_seconds: Annotated[
        int,
        Field(
            description="Window, in seconds, for counting runs that agents' messages start.",
            ge=1,
        ),
    ] = 300
    wait_seconds: Annotated[
        int, Field(description="Seconds that a run waits for a reply.", ge=1, le=900)
    ] = 300
    max_concurrent_runs: Annotated[
        int | None,
        Field(description="Concurrency limit of an agent's runs; unset for no limit.", ge=1),
    ] = None
    max_attempts: Annotated[
        int, Field(description="Number of attempts after which a run fails.", ge=1, le=10)
    ] = 3
    retry_base_seconds: Annotated[
        int,
        Field(
            description="Seconds before a run's second attempt; doubles for each further attempt.",
            ge=1,
            le=900,
        ),
    ] = 10
    max_put_off_seconds: Annotated[
        int,
        Field(
            description="Maximum total time, in seconds, for which a run whose model is down is "
            "deferred.",
            ge=60,
        ),
    ] = 21_600
    model_retry_max_seconds: Annotated[
        int,
        Field(
            description="Maximum seconds until a deferred run calls its model again.", ge=10, le=900
        ),
    ] = 900
    outbox_grace_seconds: Annotated[
        int,
        Field(
            description="Seconds after which the tick sends work that was not sent at once.",
            ge=5,
            le=900,
        ),
    ] = 60

    # Limits
    user_messages_per_minute: Annotated[
        int, Field(description="Messages per person and minute; 0 for no limit.", ge=0)
    ] = 20
    user_tokens_per_day: Annotated[
        int, Field(description="Model tokens per person and day; 0 for no limit.", ge=0)
    ] = 200_000
    user_chat_changes_per_hour: Annotated[
        int,
        Field(
            description="Opened chats, changes of members and of one's own record, per person and"
            " hour; 0 for no limit.",
            ge=0,
        ),
    ] = 60
    tenant_messages_per_minute: Annotated[
        int,
        Field(description="Messages of a tenant's people per minute; 0 for no limit.", ge=0),
    ] = 0
    tenant_tokens_per_day: Annotated[
        int, Field(description="Model tokens of a tenant's runs per day; 0 for no limit.", ge=0)
    ] = 20_000_000
    background_tokens_per_day: Annotated[
        int,
        Field(
            description="Model tokens of a tenant's summaries and memories per day (UTC); "
            "0 for no limit.",
            ge=0,
        ),
    ] = 5_000_000
    plan_cron_minutes: Annotated[
        int, Field(description="Minimum minutes between two firings of a plan.", ge=1, le=1_440)
    ] = 15
    plan_idle_days: Annotated[
        int,
        Field(description="Days of inactivity of its person after which a plan ends.", ge=1),
    ] = 90
    quiet_hours: Annotated[
        QuietHours,
        BeforeValidator(_hours),
        Field(
            description="Hours in which plans send no SMS, in the person's time zone; "
            "equal times for none."
        ),
    ] = QuietHours(from_="21:00", to="08:00")

    # Deliveries
    delivery_order_seconds: Annotated[
        int, Field(description="Seconds that an SMS waits for the SMS before it.", ge=0, le=300)
    ] = 30
    ambiguous_post_seconds: Annotated[
        int,
        Field(
            description="Seconds that an SMS with unknown outcome waits for its status callback.",
            ge=0,
            le=600,
        ),
    ] = 60

    # Failures of outside services and loops
    max_job_hops: Annotated[
        int,
        Field(
            description="Maximum hops of a job; then the tick continues its work.",
            ge=20,
        ),
    ] = 1_000
    breaker_failures: Annotated[
        int,
        Field(description="Number of failures after which a circuit breaker opens.", ge=1),
    ] = 5
    breaker_window_seconds: Annotated[
        int, Field(description="Seconds in which a circuit breaker counts failures.", ge=1)
    ] = 30
    breaker_open_seconds: Annotated[
        int,
        Field(
            description="Seconds that a circuit breaker stays open before one call may probe.",
            ge=1,
            le=900,
        ),
    ] = 30
    trace_percent: Annotated[
        float,
        Field(
            description="Percentage of traces that are sent to X-Ray; 0 turns tracing off.",
            ge=0,
            le=100,
        ),
    ] = 0
    context_read_seconds: Annotated[
        float,
        Field(
            description="Timeout of reading a context, in seconds; then the context is degraded.",
            gt=0,
            le=20,
        ),
    ] = 1.5

    # Roll-out of context
    context_enabled: Annotated[
        bool,
        Field(
            description="Whether prompts contain context; overrides of tenants and the stack win."
        ),
    ] = True
    context_rollout_percent: Annotated[
        float,
        Field(
            description="Percentage of people whose prompts contain context; overrides win.",
            ge=0,
            le=100,
        ),
    ] = 100

    def queue_urls(self) -> dict[str, str]:
        """Return the URL of each queue, by the queue's name."""
        end = "_queue_url"
        return {
            name.removesuffix(end): getattr(self, name)
            for name in type(self).model_fields
            if name.endswith(end)
        }

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the settings from variables such as `SKEIN_TABLE_NAME`; empty ones are ignored.

        With `SKEIN_OPENAI_BASE_URL`, `SKEIN_LIGHT_MODEL` defaults to the default model, because a
        compatible API need not have OpenAI's light model.

        Raises:
            BadSettings: A variable has an invalid value.
        """
        given = {
            name: environment[variable(name)]
            for name in cls.model_fields
            if environment.get(variable(name))
        }
        if "openai_base_url" in given:
            default = given.get("default_model", cls.model_fields["default_model"].default)
            given.setdefault("light_model", default)
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            reasons = "; ".join(f"{variable(str(e['loc'][0]))}: {e['msg']}" for e in error.errors())
            raise BadSettings(reasons) from None


def variable(name: str) -> str:
    """Return the name of a setting's environment variable."""
    return PREFIX + name.upper()
