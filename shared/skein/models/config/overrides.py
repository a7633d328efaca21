"""Overrides of the deployment's settings by agents, lines, tenants and the stack.

Each field is optional. None means that the next level decides, in the order agent, line, tenant,
stack, environment (`services/config/resolution.py`).
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from skein.models.common.base import Instant, Stored, Tenant, key_part, stable_hash
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.storage import META, Item, Key
from skein.models.config.pauses import NO_PAUSES, Pauses
from skein.models.quotas.prices import Prices

MAX_PHRASES = 50
SettingSource = Literal["agent", "line", "tenant", "stack", "environment"]
"""Which level set the value of a setting; `environment` is the deployment."""
STACK_COPIES = 16  # copies of the stack's settings, since each run reads one (spreads the load)


def _distinct(phrases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrases))


ResetPhrase = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
ResetPhrases = Annotated[
    tuple[ResetPhrase, ...], Field(max_length=MAX_PHRASES), AfterValidator(_distinct)
]


class Overrides(BaseModel):
    """Values that take precedence over later levels; fields of newer writers are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @property
    def own_values(self) -> dict[str, Any]:
        """The values that are set at this level, by field."""
        return {
            name: value
            for name in type(self).model_fields
            if (value := getattr(self, name)) is not None
        }


class ContextOverrides(Overrides):
    """Overrides for prompts in direct chats."""

    message_history_limit: Annotated[
        int | None,
        Field(
            description="Messages of the session in a prompt, including the current one; "
            "up to twice as many while no summary covers the earlier ones.",
            ge=2,
            le=200,
        ),
        NUMBER,
    ] = None
    include_system_messages: Annotated[
        JsonBool | None,
        Field(description="Whether prompts show keywords such as STOP, and notices."),
    ] = None
    max_context_tokens: Annotated[
        int | None,
        Field(
            description="Maximum tokens of history and summary in a prompt.", ge=100, le=1_000_000
        ),
        NUMBER,
    ] = None
    recall_tokens: Annotated[
        int | None,
        Field(
            description="Maximum tokens of recalled messages in a prompt; 0 for none.",
            ge=0,
            le=32_000,
        ),
        NUMBER,
    ] = None
    reserved_response_tokens: Annotated[
        int | None,
        Field(description="Tokens reserved for the model's answer.", ge=16, le=32_000),
        NUMBER,
    ] = None
    tokenizer_model: Annotated[
        str | None,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
        Field(description="Model whose tokenizer counts tokens."),
    ] = None
    conversation_gap_minutes: Annotated[
        int | None,
        Field(description="Minutes of silence after which a new session begins.", ge=1, le=525_600),
        NUMBER,
    ] = None
    context_reset_phrases: Annotated[
        ResetPhrases | None,
        Field(description="Messages that begin a new session, compared without case."),
    ] = None
    context_caching: Annotated[
        JsonBool | None,
        Field(description="Whether containers cache data that changes rarely."),
    ] = None
    context_cache_seconds: Annotated[
        int | None,
        Field(description="Maximum age of the context cache's data in seconds.", ge=1, le=86_400),
        NUMBER,
    ] = None
    auto_summary: Annotated[
        JsonBool | None, Field(description="Whether summaries of the chat are made automatically.")
    ] = None
    summary_message_threshold: Annotated[
        int | None,
        Field(
            description="Number of messages from which a chat has a chat summary.", ge=1, le=10_000
        ),
        NUMBER,
    ] = None


class ReplyOverrides(Overrides):
    """Overrides for answers in direct chats."""

    reply_debounce_seconds: Annotated[
        int | None,
        Field(
            description="Debounce: seconds that an answer waits for another message.", ge=0, le=900
        ),
        NUMBER,
    ] = None
    reply_debounce_max_seconds: Annotated[
        int | None,
        Field(
            description="Maximum debounce in seconds, however many messages arrive.", ge=0, le=900
        ),
        NUMBER,
    ] = None
    apology: Annotated[
        JsonBool | None,
        Field(description="Whether a person gets one notice that the answer is late."),
    ] = None
    streaming: Annotated[
        JsonBool | None,
        Field(description="Whether connected people see an answer while the model writes it."),
    ] = None
    sms_answer_characters: Annotated[
        int | None,
        Field(
            description="Maximum characters of an SMS answer, as the prompt asks.",
            ge=70,
            le=20_000,
        ),
        NUMBER,
    ] = None


class MemoryOverrides(Overrides):
    """Overrides for memories. A chat's own `consolidate` takes precedence."""

    consolidate: Annotated[
        JsonBool | None,
        Field(description="Whether idle chats are consolidated into memories."),
    ] = None


class ChatOverrides(ReplyOverrides, MemoryOverrides, ContextOverrides):
    """The overrides that an agent or a line may have."""


class TenantLimits(Overrides):
    """Rate limits and token limits of a tenant; 0 means no limit."""

    user_messages_per_minute: Annotated[
        int | None,
        Field(description="Messages per person and minute.", ge=0),
        NUMBER,
    ] = None
    user_tokens_per_day: Annotated[
        int | None,
        Field(description="Model tokens per person and day.", ge=0),
        NUMBER,
    ] = None
    user_chat_changes_per_hour: Annotated[
        int | None,
        Field(
            description="Opened chats, changes of members and of one's own record, per person and"
            " hour.",
            ge=0,
        ),
        NUMBER,
    ] = None
    tenant_messages_per_minute: Annotated[
        int | None,
        Field(description="Messages of all people per minute.", ge=0),
        NUMBER,
    ] = None
    tenant_tokens_per_day: Annotated[
        int | None,
        Field(description="Model tokens of all runs per day.", ge=0),
        NUMBER,
    ] = None
    background_tokens_per_day: Annotated[
        int | None,
        Field(
            description="Model tokens of summaries and memories per day (UTC).",
            ge=0,
        ),
        NUMBER,
    ] = None


class PlanOverrides(Overrides):
    """Overrides of the times at which plans fire."""

    quiet_hours: Annotated[
        QuietHours | None,
        Field(
            description="Hours in which plans send no SMS; people have their own in `quiet_hours`."
        ),
    ] = None


class PriceOverrides(Overrides):
    """The prices at which usage is reported in money."""

    prices: Annotated[
        Prices | None,
        Field(description="Prices of models and SMS, with which `GET /v1/usage` reports money."),
    ] = None


class ReadingOverrides(Overrides):
    """Whether operators may read what people said."""

    operators_read_chats: Annotated[
        JsonBool | None,
        Field(
            description="Whether operators may read chats, prompts and recalled messages; "
            "null allows it."
        ),
    ] = None

    @property
    def reading_forbidden(self) -> bool:
        """Whether the tenant forbids operators to read chats."""
        return self.operators_read_chats is False


class Retention(Overrides):
    """The retention of messages and runs; None means without limit."""

    message_days: Annotated[
        int | None,
        Field(description="Retention of messages in days.", ge=1, le=36_500),
        NUMBER,
    ] = None
    run_days: Annotated[
        int | None,
        Field(description="Retention of runs in days.", ge=1, le=36_500),
        NUMBER,
    ] = None


def _rounded(percentage: float | None) -> float | None:
    """Round to two decimals: the roll-out divides people into 10,000 shares."""
    return None if percentage is None else round(percentage, 2)


class RolloutOverride(Overrides):
    """Overrides of the roll-out of context."""

    context_enabled: Annotated[
        JsonBool | None,
        Field(description="Whether prompts contain context; otherwise, only the current message."),
    ] = None
    context_rollout_percent: Annotated[
        float | None,
        Field(
            description="Percentage of people whose prompts contain context, with two decimals.",
            ge=0,
            le=100,
        ),
        AfterValidator(_rounded),
        NUMBER,
    ] = None


class TenantOverrides(
    RolloutOverride,
    Retention,
    ReadingOverrides,
    PriceOverrides,
    PlanOverrides,
    TenantLimits,
    ChatOverrides,
):
    """The overrides that a tenant may have."""


class StackOverrides(RolloutOverride):
    """The overrides that an operator may set for the whole stack without a deployment."""


class ChatOverridesChange(ChatOverrides):
    """Changes to the settings of an agent or line. Omitted fields stay; null removes a setting."""

    model_config = ConfigDict(extra="forbid")

    def applied_to(self, current: ChatOverrides) -> ChatOverrides:
        """Return the overrides after this change."""
        return current.model_copy(update=_changes(self))


class TenantOverridesChange(TenantOverrides):
    """Changes to a tenant's settings. Omitted fields stay; null removes a setting."""

    model_config = ConfigDict(extra="forbid")

    def applied_to(self, current: TenantOverrides) -> TenantOverrides:
        """Return the overrides after this change."""
        return current.model_copy(update=_changes(self))


class StackOverridesChange(StackOverrides):
    """Change the stack's settings: a field left out stays, None removes one."""

    model_config = ConfigDict(extra="forbid")

    def applied_to(self, current: StackOverrides) -> StackOverrides:
        """Return the settings after this change."""
        return current.model_copy(update=_changes(self))


def _changes(change: Overrides) -> dict[str, Any]:
    return {name: getattr(change, name) for name in change.model_fields_set}


class TenantSettings(Stored):
    """The stored overrides and pauses of a tenant; without an item, the tenant has none."""

    tenant: Tenant
    settings: TenantOverrides = TenantOverrides()
    pauses: Pauses = NO_PAUSES
    version: int = 1
    changed_at: Instant

    @staticmethod
    def key_of(tenant: str) -> Key:
        """Return the key of a tenant's settings."""
        return Key(f"{key_part(tenant)}#SETTINGS", META)

    @property
    def key(self) -> Key:
        """The key of these settings."""
        return self.key_of(self.tenant)

    def to_item(self) -> Item:
        """Return the settings as table attributes."""
        return self.attributes()

    @classmethod
    def from_optional(cls, item: Item | None) -> TenantOverrides:
        """Return the overrides in a tenant's item; none if there is no item."""
        return cls.from_item(item).settings if item is not None else TenantOverrides()


class StackSettings(Stored):
    """One copy of the stack's settings and pauses; all copies say the same.

    Each reader reads one of the copies. Only the first has a due pointer.
    """

    copy_number: int
    settings: StackOverrides = StackOverrides()
    pauses: Pauses = NO_PAUSES
    version: int = 1
    changed_at: Instant

    @staticmethod
    def key_of(copy_number: int) -> Key:
        """Return the key of one copy."""
        return Key(f"STACK#{copy_number}", "SETTINGS")

    @classmethod
    def key_for(cls, reader: str) -> Key:
        """Return the key of the copy for a reader, for example a run's id."""
        return cls.key_of(stable_hash(f"stack:{reader}") % STACK_COPIES)

    @property
    def key(self) -> Key:
        """The key of this copy."""
        return self.key_of(self.copy_number)

    def to_item(self) -> Item:
        """Return the settings as table attributes; the first copy has the due pointer."""
        due = {} if self.copy_number else self.pauses.due(self.key, self.changed_at)
        return self.attributes() | {name: value for name, value in due.items() if value is not None}

    @classmethod
    def from_optional(cls, item: Item | None) -> StackOverrides:
        """Return the overrides in a copy's item; none if there is no item."""
        return cls.from_item(item).settings if item is not None else StackOverrides()
