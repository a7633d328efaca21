"""Settings of a deployment, with their defaults and bounds.

Each setting is an environment variable: `SKEIN_` and the setting's name in capitals. Only
`Settings.from_environment` reads the environment, and only when the composition root is built.
"""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skein.errors import SkeinError
from skein.models.config.overrides import ResetPhrases

PREFIX = "SKEIN_"


class BadSettings(SkeinError):
    """An environment variable has a value that its setting does not accept."""


def _listed(value: object) -> object:
    """Split the value of an environment variable at its commas; leave other values as they are."""
    return tuple(value.split(",")) if isinstance(value, str) else value


class Settings(BaseModel):
    """The settings of one deployment; tokens are counted as the model counts them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Locations
    table_name: Annotated[str, Field(description="Name of the DynamoDB table.")] = "skein"
    turns_queue_url: Annotated[str, Field(description="URL of the queue of agent runs.")] = ""
    deliveries_queue_url: Annotated[str, Field(description="URL of the queue of texts.")] = ""
    upkeep_queue_url: Annotated[str, Field(description="URL of the queue of chat upkeep.")] = ""
    summaries_queue_url: Annotated[str, Field(description="URL of the queue of summaries.")] = ""
    consolidations_queue_url: Annotated[
        str, Field(description="URL of the queue of chats to be consolidated.")
    ] = ""
    reflections_queue_url: Annotated[
        str, Field(description="URL of the queue of agents that are about to forget something.")
    ] = ""
    erasures_queue_url: Annotated[str, Field(description="URL of the queue of erasures.")] = ""
    aws_endpoint_url: Annotated[
        str | None,
        Field(description="Endpoint of DynamoDB, SQS and Secrets Manager; unset on AWS."),
    ] = None
    public_base_url: Annotated[
        str,
        Field(description="URL, with the stage, under which Twilio reaches the webhooks."),
    ] = "http://127.0.0.1:8787"

    # Outside services
    twilio_secret: Annotated[
        str,
        Field(description="Secret with `account_sid` and `auth_token` (Secrets Manager)."),
    ] = ""
    twilio_api_url: Annotated[
        str | None, Field(description="Base URL of Twilio's REST API; unset for the real one.")
    ] = None
    openai_secret: Annotated[str, Field(description="Secret with `api_key` (Secrets Manager).")] = (
        ""
    )
    openai_base_url: Annotated[
        str | None, Field(description="Base URL of an OpenAI-compatible API; unset for OpenAI's.")
    ] = None
    default_model: Annotated[
        str, Field(description="Model of an agent that names none.", min_length=1)
    ] = "gpt-4.1-mini"
    light_model: Annotated[
        str, Field(description="Model of summaries and other light work.", min_length=1)
    ] = "gpt-4.1-nano"

    # Summaries
    summary_cooldown_seconds: Annotated[
        int, Field(description="At most one summary of its kind in this time.", ge=10)
    ] = 300
    summary_message_threshold: Annotated[
        int, Field(description="Messages from which on a chat has a shared summary.", ge=1)
    ] = 10
    auto_summary: Annotated[
        bool, Field(description="Whether chats are summed up by themselves.")
    ] = True

    # Memories
    core_memory_tokens: Annotated[
        int, Field(description="Tokens of core memories in a prompt.", ge=100)
    ] = 5_000
    journal_tokens: Annotated[
        int, Field(description="Tokens of journal entries in a prompt.", ge=100)
    ] = 2_000
    consolidation_idle_seconds: Annotated[
        int, Field(description="How long a chat is quiet before it is consolidated.", ge=60)
    ] = 21_600
    consolidation_chunk_tokens: Annotated[
        int, Field(description="Tokens of messages that are consolidated at once.", ge=1_000)
    ] = 100_000

    consolidation_answer_tokens: Annotated[
        int, Field(description="Tokens of what is remembered of those.", ge=100, le=32_000)
    ] = 8_000

    # Threads and skills
    skill_tokens: Annotated[
        int, Field(description="Tokens of skills in a prompt; none is cut in half.", ge=100)
    ] = 4_000
    max_open_threads: Annotated[
        int, Field(description="Threads that an agent has open for one audience.", ge=1, le=10)
    ] = 3

    # Audit
    audit_days: Annotated[
        int, Field(description="How long it is on record who read or changed what.", ge=1)
    ] = 400

    # Turns
    reply_debounce_seconds: Annotated[
        int,
        Field(description="How long a run waits for more messages before it starts.", ge=0, le=900),
    ] = 1
    line_reply_debounce_seconds: Annotated[
        int,
        Field(description="How long the answer to a text waits for another one.", ge=0, le=900),
    ] = 3
    line_reply_debounce_max_seconds: Annotated[
        int,
        Field(description="How long it waits in all, however many texts come.", ge=0, le=900),
    ] = 3
    apology: Annotated[
        bool, Field(description="Whether a person is told, once, that the answer is late.")
    ] = True
    apology_text: Annotated[str, Field(description="What that person is told.", min_length=1)] = (
        "Sorry, I can't answer just now. Your message is safe, and I'll reply as soon as I can."
    )
    model_timeout_seconds: Annotated[
        float, Field(description="For one model answer, its retry included.", gt=0, le=90)
    ] = 90
    max_output_tokens: Annotated[
        int, Field(description="Tokens reserved for the model's answer.", ge=16, le=32_000)
    ] = 1_500
    max_prompt_tokens: Annotated[
        int,
        Field(description="Tokens of a whole prompt, for an agent that sets none.", ge=1_000),
    ] = 32_000
    max_context_tokens: Annotated[
        int, Field(description="Tokens of history and summary.", ge=100)
    ] = 12_000
    line_context_tokens: Annotated[
        int, Field(description="Tokens of history and summary in a chat on a line.", ge=100)
    ] = 1_000
    history_window: Annotated[
        int, Field(description="Messages of a group that a prompt holds.", ge=2, le=200)
    ] = 50
    direct_history_window: Annotated[
        int, Field(description="Messages of a direct chat that a prompt holds.", ge=2, le=200)
    ] = 20
    line_history_window: Annotated[
        int, Field(description="Messages of a chat on a line that a prompt holds.", ge=2, le=200)
    ] = 5
    include_system_messages: Annotated[
        bool, Field(description="Whether agents are shown keywords such as STOP, and notices.")
    ] = False
    tokenizer_model: Annotated[
        str | None,
        Field(description="Model whose tokens are counted; unset for the agent's own."),
    ] = None
    token_cache_bytes: Annotated[
        int,
        Field(description="Memory for remembered token counts, per container.", ge=0),
    ] = 32_000_000

    # Sessions and the context cache
    conversation_gap_minutes: Annotated[
        int,
        Field(
            description="Silence after which a direct chat's next session begins.",
            ge=1,
            le=525_600,
        ),
    ] = 30
    context_reset_phrases: Annotated[
        ResetPhrases,
        BeforeValidator(_listed),
        Field(description="Whole messages that begin a new session; with commas between."),
    ] = ("start over", "new topic", "reset")
    context_caching: Annotated[
        bool, Field(description="Whether a container keeps what changes rarely.")
    ] = True
    context_cache_seconds: Annotated[
        int, Field(description="How long it keeps that.", ge=1, le=86_400)
    ] = 300
    context_cache_bytes: Annotated[
        int, Field(description="Memory for that, per container.", ge=0)
    ] = 64_000_000

    # Runs
    max_chain_depth: Annotated[
        int, Field(description="Depth at which an agent's message triggers nobody.", ge=1, le=50)
    ] = 5
    max_agent_runs: Annotated[
        int,
        Field(
            description="Runs of an agent in a chat, by agents' messages, before it pauses.", ge=1
        ),
    ] = 8
    agent_runs_window_seconds: Annotated[
        int, Field(description="The time in which those runs are counted.", ge=1)
    ] = 300
    wait_seconds: Annotated[
        int, Field(description="How long a run waits for a reply.", ge=1, le=900)
    ] = 300
    max_concurrent_runs: Annotated[
        int | None,
        Field(description="Runs of one agent at work at once; unset for no limit.", ge=1),
    ] = None
    max_attempts: Annotated[
        int, Field(description="Attempts after which a run has failed.", ge=1, le=10)
    ] = 3
    retry_base_seconds: Annotated[
        int, Field(description="Wait before a run's second attempt; doubles after.", ge=1, le=900)
    ] = 10
    max_put_off_seconds: Annotated[
        int,
        Field(description="How long a run may wait for a model that is down.", ge=60),
    ] = 21_600
    model_retry_max_seconds: Annotated[
        int,
        Field(description="Longest pause before a run asks that model again.", ge=10, le=900),
    ] = 900
    outbox_grace_seconds: Annotated[
        int,
        Field(description="After how long the tick sends what was not sent at once.", ge=5, le=900),
    ] = 60

    # Limits
    user_messages_per_minute: Annotated[
        int, Field(description="Messages of one person in a minute; 0 for no limit.", ge=0)
    ] = 20
    user_tokens_per_day: Annotated[
        int, Field(description="Model tokens for one person in a day; 0 for no limit.", ge=0)
    ] = 200_000
    user_chat_changes_per_hour: Annotated[
        int,
        Field(
            description="Chats opened and members changed by one person in an hour; "
            "0 for no limit.",
            ge=0,
        ),
    ] = 60
    tenant_messages_per_minute: Annotated[
        int,
        Field(description="Messages of a tenant's people in a minute; 0 for no limit.", ge=0),
    ] = 0
    tenant_tokens_per_day: Annotated[
        int, Field(description="Model tokens of a tenant's runs in a day; 0 for no limit.", ge=0)
    ] = 20_000_000
    background_tokens_per_day: Annotated[
        int,
        Field(
            description="Model tokens of a tenant's summaries and memories in a day (UTC); "
            "0 for no limit.",
            ge=0,
        ),
    ] = 5_000_000
    plan_cron_minutes: Annotated[
        int, Field(description="Least minutes between two firings of a plan.", ge=1, le=1_440)
    ] = 15
    plan_idle_days: Annotated[
        int,
        Field(description="Days without activity of its person after which a plan ends.", ge=1),
    ] = 90

    # Deliveries
    delivery_order_seconds: Annotated[
        int, Field(description="How long a text waits for the one before it.", ge=0, le=300)
    ] = 30
    ambiguous_post_seconds: Annotated[
        int,
        Field(description="How long an unclear post waits for its status callback.", ge=0, le=600),
    ] = 60

    # Failures of outside services
    breaker_failures: Annotated[
        int,
        Field(description="Failures after which a dependency is left alone for a while.", ge=1),
    ] = 5
    breaker_window_seconds: Annotated[
        int, Field(description="The time in which those failures are counted.", ge=1)
    ] = 30
    breaker_open_seconds: Annotated[
        int, Field(description="How long it is left alone until one call may try it.", ge=1, le=900)
    ] = 30
    context_read_seconds: Annotated[
        float,
        Field(description="For reading a context; then the current message must do.", gt=0, le=20),
    ] = 1.5

    # Roll-out of context
    context_enabled: Annotated[
        bool, Field(description="Whether prompts hold context; the stack and tenants win.")
    ] = True
    context_rollout_percent: Annotated[
        float,
        Field(description="For how many of the people, in percent; the same.", ge=0, le=100),
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
