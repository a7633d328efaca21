"""Settings that operators may override without a deployment, and their overrides.

Each setting is defined once, in this module. The class of a setting determines who may override it.
`skein.settings.Settings` inherits the classes whose settings have an environment variable. The
models of the API's requests and answers inherit all classes.

A level stores its values by the name of the setting. The first level with a value decides, in the
order agent, line, tenant, stack, environment (`services/config/resolution.py`).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StringConstraints,
    model_validator,
)

from skein.models.common.base import Instant, PartialModel, Stored, Tenant, key_part, stable_hash
from skein.models.common.image_models import MODELS_WITH_IMAGES, ImageDetail
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.storage import META, Item, Key
from skein.models.config.desk import DeskSettings
from skein.models.config.guardrail import Guardrail
from skein.models.config.pauses import NO_PAUSES, Pauses
from skein.models.config.templates import MAX_TEMPLATES, MessageTemplate
from skein.models.quotas.prices import Prices

Overrides = Mapping[str, Any]
"""The values of one level, as JSON, by the names of their settings."""
NO_OVERRIDES: Overrides = {}
SettingSource = Literal["agent", "line", "tenant", "stack", "environment"]
"""Which level set the value of a setting; `environment` is the deployment."""
STACK_COPIES = 16  # copies of the stack's settings; each run reads one of them, to spread the load

MAX_PHRASES = 50
MAX_PATTERNS = 100
MAX_COUNTRIES = 250


def _distinct(phrases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrases))


def _says_who_and_how(text: str) -> str:
    for needed in ("{asker}", "{stop}"):
        if needed not in text:
            raise ValueError(f"the text must have {needed}")
    return text


def _rounded(percentage: float) -> float:
    """Round to two decimals, because the roll-out distinguishes 10,000 groups of people."""
    return round(percentage, 2)


ResetPhrase = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


ModelPattern = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)
]


CountryCode = Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")]


class ChatSettings(BaseModel):
    """Settings of direct chats, which an agent, a line or a tenant may override."""

    model_config = ConfigDict(frozen=True)

    message_history_limit: Annotated[
        int,
        Field(
            description="Messages of the session in a prompt, including the current one; "
            "up to twice as many while no summary covers the earlier ones.",
            ge=2,
            le=200,
        ),
        NUMBER,
    ] = 20
    include_system_messages: Annotated[
        JsonBool, Field(description="Whether prompts show keywords such as STOP, and notices.")
    ] = False
    max_context_tokens: Annotated[
        int,
        Field(
            description="Maximum tokens of history and summary in a prompt.", ge=100, le=1_000_000
        ),
        NUMBER,
    ] = 12_000
    sharing_quiet_minutes: Annotated[
        int,
        Field(
            description="Minutes without a message of the person after which their words may be "
            "told by sharing rules; until then, PRIVATE keeps them.",
            ge=1,
            le=1_440,
        ),
        NUMBER,
    ] = 15
    recall_tokens: Annotated[
        int,
        Field(
            description="Maximum tokens of recalled messages in a prompt; 0 for none.",
            ge=0,
            le=32_000,
        ),
        NUMBER,
    ] = 1_000
    knowledge_whole_tokens: Annotated[
        int, Field(ge=0, le=32_000, description="Tokens of sources that are shown whole."), NUMBER
    ] = 1_500
    knowledge_tokens: Annotated[
        int, Field(ge=0, le=32_000, description="Maximum tokens of passages of sources."), NUMBER
    ] = 800
    cite_by_sms: Annotated[
        JsonBool, Field(description="Whether texts end with a link to the page that they cite.")
    ] = False
    models_with_images: Annotated[
        tuple[ModelPattern, ...],
        Field(
            description="Names of the models that are sent pictures, with `*` for any characters; "
            "none for no model.",
            max_length=MAX_PATTERNS,
        ),
        AfterValidator(_distinct),
    ] = MODELS_WITH_IMAGES
    max_images: Annotated[
        int,
        Field(description="Maximum pictures in a prompt, newest first; 0 for none.", ge=0, le=20),
        NUMBER,
    ] = 4
    image_tokens: Annotated[
        int,
        Field(description="Maximum tokens of the pictures in a prompt.", ge=0, le=100_000),
        NUMBER,
    ] = 6_000
    allowed_fallbacks: Annotated[
        tuple[ModelPattern, ...],
        Field(
            description="Models that agents may fall back to, with `*` for any characters, such as "
            "`converse/eu.*`; none for no model.",
            max_length=MAX_PATTERNS,
        ),
        AfterValidator(_distinct),
    ] = ()
    fallback_seconds: Annotated[
        int,
        Field(
            description="Seconds that a model is down or throttled before an agent's fallback "
            "answers in its place.",
            ge=0,
            le=3_600,
        ),
        NUMBER,
    ] = 20
    guardrail: Annotated[
        Guardrail | None,
        Field(description="Checks what goes into the model and what comes out of it."),
    ] = None
    image_detail: Annotated[
        ImageDetail,
        Field(
            description="How closely a model looks at pictures: `low` costs least, `auto` leaves it"
            " to the provider."
        ),
    ] = "auto"
    reserved_response_tokens: Annotated[
        int,
        Field(description="Tokens reserved for the model's answer.", ge=16, le=32_000),
        NUMBER,
    ] = 1_500
    tokenizer_model: Annotated[
        str | None,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
        Field(description="Model whose tokenizer counts tokens; unset for the agent's model."),
    ] = None
    conversation_gap_minutes: Annotated[
        int,
        Field(description="Minutes of silence after which a new session begins.", ge=1, le=525_600),
        NUMBER,
    ] = 30
    context_reset_phrases: Annotated[
        tuple[ResetPhrase, ...],
        Field(
            description="Messages that begin a new session, compared without case.",
            max_length=MAX_PHRASES,
        ),
        AfterValidator(_distinct),
    ] = ("start over", "new topic", "reset")
    auto_summary: Annotated[
        JsonBool, Field(description="Whether summaries of the chat are made automatically.")
    ] = True
    summary_message_threshold: Annotated[
        int,
        Field(
            description="Number of messages from which a chat has a chat summary.", ge=1, le=10_000
        ),
        NUMBER,
    ] = 10
    consolidate: Annotated[
        JsonBool,
        Field(
            description="Whether idle chats are consolidated into memories; "
            "a chat's own value takes precedence."
        ),
    ] = True
    consolidation_idle_seconds: Annotated[
        int,
        Field(
            description="Seconds of silence after which a chat is consolidated.", ge=60, le=604_800
        ),
        NUMBER,
    ] = 1_800
    reply_debounce_seconds: Annotated[
        int,
        Field(
            description="Debounce: seconds that an answer waits for another message.", ge=0, le=900
        ),
        NUMBER,
    ] = 1
    reply_debounce_max_seconds: Annotated[
        int,
        Field(
            description="Maximum debounce in seconds, however many SMS arrive; "
            "at least reply_debounce_seconds.",
            ge=0,
            le=900,
        ),
        NUMBER,
    ] = 0
    choice_hours: Annotated[
        int,
        Field(description="Hours after which a choice expires.", ge=1, le=720),
        NUMBER,
    ] = 24
    apology: Annotated[
        JsonBool, Field(description="Whether a person gets one notice that the answer is late.")
    ] = True
    streaming: Annotated[
        JsonBool,
        Field(description="Whether connected people see an answer while the model writes it."),
    ] = True
    sms_answer_characters: Annotated[
        int,
        Field(
            description="Maximum characters of an SMS answer, as the prompt asks.",
            ge=70,
            le=20_000,
        ),
        NUMBER,
    ] = 480
    sms_answer_segments: Annotated[
        int,
        Field(
            description="Maximum segments of an SMS answer; a longer one is cut, and MORE sends"
            " the rest.",
            ge=2,
            le=100,
        ),
        NUMBER,
    ] = 6
    answered_countries: Annotated[
        tuple[CountryCode, ...],
        Field(
            description="ISO codes of the countries whose numbers get SMS; none for the country of"
            " the line.",
            max_length=MAX_COUNTRIES,
        ),
        AfterValidator(_distinct),
    ] = ()
    ask_after_silent_days: Annotated[
        int,
        Field(
            description="Days without an SMS after which a person is asked whether the number is"
            " still theirs; 0 for never.",
            ge=0,
            le=36_500,
        ),
        NUMBER,
    ] = 0
    long_code_segments_per_minute: Annotated[
        int,
        Field(
            description="SMS segments that an ordinary number sends per minute; 0 for no limit.",
            ge=0,
        ),
        NUMBER,
    ] = 60
    toll_free_segments_per_minute: Annotated[
        int,
        Field(
            description="SMS segments that a toll-free number sends per minute; 0 for no limit.",
            ge=0,
        ),
        NUMBER,
    ] = 180


# Defaults that differ from those of direct chats in the app. A message on a line holds less text
# than a message in the app.
DEFAULTS_ON_LINES = {
    "message_history_limit": 5,
    "max_context_tokens": 1_000,
    "reply_debounce_seconds": 3,
}
DEFAULTS_IN_GROUPS = {"message_history_limit": 50, "consolidation_idle_seconds": 21_600}


class RolloutSettings(BaseModel):
    """For how many people prompts contain context; a tenant or the stack may override this."""

    model_config = ConfigDict(frozen=True)

    context_enabled: Annotated[
        JsonBool,
        Field(description="Whether prompts contain context; otherwise, only the current message."),
    ] = True
    context_rollout_percent: Annotated[
        float,
        Field(
            description="Percentage of people whose prompts contain context, with two decimals.",
            ge=0,
            le=100,
        ),
        AfterValidator(_rounded),
        NUMBER,
    ] = 100


class LimitSettings(BaseModel):
    """Limits, which a tenant may override."""

    model_config = ConfigDict(frozen=True)

    user_messages_per_minute: Annotated[
        int, Field(description="Messages per person and minute; 0 for no limit.", ge=0), NUMBER
    ] = 20
    user_tokens_per_day: Annotated[
        int, Field(description="Model tokens per person and day; 0 for no limit.", ge=0), NUMBER
    ] = 200_000
    user_concurrent_runs: Annotated[
        int,
        Field(description="Concurrency limit of a person's runs; 0 for no limit.", ge=0),
        NUMBER,
    ] = 5
    user_chat_changes_per_hour: Annotated[
        int,
        Field(
            description="Opened chats, changes of members and of one's own record, per person and"
            " hour; 0 for no limit.",
            ge=0,
        ),
        NUMBER,
    ] = 60
    user_uploads_per_day: Annotated[
        int,
        Field(description="Pictures and files per person and day; 0 for no limit.", ge=0),
        NUMBER,
    ] = 200
    user_reads_per_minute: Annotated[
        int,
        Field(
            description="Reads (`GET`) per person and minute, beyond 30 that are free; a ticket of"
            " the live channel counts as ten; 0 for no limit.",
            ge=0,
        ),
        NUMBER,
    ] = 600
    tenant_messages_per_minute: Annotated[
        int,
        Field(description="Messages of a tenant's people per minute; 0 for no limit.", ge=0),
        NUMBER,
    ] = 0
    tenant_tokens_per_day: Annotated[
        int,
        Field(description="Model tokens of a tenant's runs per day; 0 for no limit.", ge=0),
        NUMBER,
    ] = 20_000_000
    tenant_concurrent_runs: Annotated[
        int,
        Field(description="Concurrency limit of a tenant's runs; 0 for no limit.", ge=0),
        NUMBER,
    ] = 0
    user_segments_per_day: Annotated[
        int, Field(description="SMS segments to a person per day; 0 for no limit.", ge=0), NUMBER
    ] = 300
    new_number_segments_per_day: Annotated[
        int,
        Field(
            description="SMS segments to an unknown number on its first day; 0 for no limit.", ge=0
        ),
        NUMBER,
    ] = 60
    line_segments_per_day: Annotated[
        int, Field(description="SMS segments of a line per day; 0 for no limit.", ge=0), NUMBER
    ] = 40_000
    user_first_contacts_per_day: Annotated[
        int,
        Field(
            description="Times per person and day that agents write first, for outreach, an errand "
            "or an invitation of a stranger; 0 for no limit.",
            ge=0,
        ),
        NUMBER,
    ] = 5
    line_first_contacts_per_day: Annotated[
        int,
        Field(description="The same per line and day; 0 for no limit.", ge=0),
        NUMBER,
    ] = 2_000
    background_tokens_per_day: Annotated[
        int,
        Field(
            description="Model tokens of a tenant's summaries and memories per day (UTC); "
            "0 for no limit.",
            ge=0,
        ),
        NUMBER,
    ] = 5_000_000
    quiet_hours: Annotated[
        QuietHours,
        Field(
            description="Hours in which plans send no SMS, in the person's time zone; equal times "
            "for none. A person's own take precedence."
        ),
    ] = QuietHours(from_="21:00", to="08:00")


class Retention(BaseModel):
    """How long a tenant keeps messages, runs and files; null means without limit."""

    model_config = ConfigDict(frozen=True)

    message_days: Annotated[
        int | None,
        Field(description="Retention of messages in days; null for no limit.", ge=1, le=36_500),
        NUMBER,
    ] = None
    run_days: Annotated[
        int | None,
        Field(description="Retention of runs in days; null for no limit.", ge=1, le=36_500),
        NUMBER,
    ] = None
    media_days: Annotated[
        int,
        Field(
            description="Retention of pictures and files in days, unless their message ends first.",
            ge=1,
            le=365,
        ),
        NUMBER,
    ] = 30


class TenantOnlySettings(DeskSettings, Retention):
    """Settings of a tenant that have no environment variable."""

    introduction: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=320),
        AfterValidator(_says_who_and_how),
        Field(
            description="What the first text to a person who has not written begins with; "
            "`{agent}`, `{asker}` and `{stop}` stand for the agent, who asked it to write, and the "
            "word that ends texts."
        ),
    ] = "{agent} here, for {asker}. Reply {stop} to get no more texts."

    prices: Annotated[
        Prices | None,
        Field(description="Prices of models and SMS, with which `GET /v1/usage` reports money."),
    ] = None
    message_templates: Annotated[
        tuple[MessageTemplate, ...],
        Field(
            description="Templates of the SMS provider for WhatsApp; the first one that fits is "
            "used.",
            max_length=MAX_TEMPLATES,
        ),
    ] = ()
    visitor_days: Annotated[
        int,
        Field(ge=1, le=365, description="Days after which a visitor who was not seen is erased."),
        NUMBER,
    ] = 30
    operators_read_chats: Annotated[
        JsonBool,
        Field(description="Whether operators may read chats, prompts and recalled messages."),
    ] = True


class OverridableSettings(TenantOnlySettings, RolloutSettings, LimitSettings, ChatSettings):
    """All settings that a tenant may override."""


class PartialSettings(PartialModel):
    """Base class of settings that may have no value (null).

    A subclass also inherits from the classes that define its settings.
    """

    model_config = ConfigDict(frozen=True)
    _removed: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def values(self) -> Overrides:
        """The values that are set, as they are stored."""
        return self.model_dump(mode="json", exclude_unset=True, exclude_none=True)

    @model_validator(mode="wrap")
    @classmethod
    def _without_nulls(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return validate(given)
        nulls = {name for name in cls.model_fields if given.get(name, cls) is None}
        made = validate({name: value for name, value in given.items() if name not in nulls})
        made._removed = frozenset(nulls)
        return made


class OverridesChange(PartialSettings):
    """Base class of changes to the overrides of one level."""

    model_config = ConfigDict(extra="forbid")

    def applied_to(self, current: Overrides) -> Overrides:
        kept = {name: value for name, value in current.items() if name not in self._removed}
        return {**kept, **self.values}


class ChatOverridesChange(OverridesChange, ChatSettings):
    """Changes to the settings of an agent or line. Omitted fields stay; null removes a setting."""


class TenantOverridesChange(OverridesChange, OverridableSettings):
    """Changes to a tenant's settings. Omitted fields stay; null removes a setting."""


class StackOverridesChange(OverridesChange, RolloutSettings):
    """Changes to the stack's settings. Omitted fields stay; null removes a setting."""


class TenantSettings(Stored):
    """The stored overrides and pauses of a tenant; without an item, the tenant has none.

    Attributes:
        reading_changed_at: When `operators_read_chats` was last turned on or off; None for never.
        sharing: Whether the tenant has or had sharing rules; only then do runs read the rules.
    """

    tenant: Tenant
    settings: Overrides = NO_OVERRIDES
    pauses: Pauses = NO_PAUSES
    reading_changed_at: Instant | None = None
    sharing: Annotated[bool, Field(exclude_if=lambda sharing: not sharing)] = False
    version: int = 1
    changed_at: Instant

    @staticmethod
    def key_of(tenant: str) -> "Key[TenantSettings]":
        return Key(f"{key_part(tenant)}#SETTINGS", META)

    @property
    def key(self) -> "Key[TenantSettings]":
        return self.key_of(self.tenant)

    def to_item(self) -> Item:
        return self.attributes()

    @classmethod
    def from_optional(cls, item: Item | None) -> Overrides:
        """Return the overrides in a tenant's item; if there is no item, no overrides."""
        return cls.from_item(item).settings if item is not None else NO_OVERRIDES


class StackSettings(Stored):
    """One copy of the stack's settings and pauses; all copies are identical.

    Several copies spread the load: each reader reads one of them. Only the first copy has a due
    pointer.
    """

    copy_number: int
    settings: Overrides = NO_OVERRIDES
    pauses: Pauses = NO_PAUSES
    version: int = 1
    changed_at: Instant

    @staticmethod
    def key_of(copy_number: int) -> "Key[StackSettings]":
        return Key(f"STACK#{copy_number}", "SETTINGS")

    @classmethod
    def key_for(cls, reader: str) -> Key:
        """Return the key of the copy that a reader, such as a run, reads."""
        return cls.key_of(stable_hash(f"stack:{reader}") % STACK_COPIES)

    @property
    def key(self) -> "Key[StackSettings]":
        return self.key_of(self.copy_number)

    def to_item(self) -> Item:
        """Return the settings as table attributes; the first copy has the due pointer."""
        due = {} if self.copy_number else self.pauses.due(self.key, self.changed_at)
        return self.attributes() | {name: value for name, value in due.items() if value is not None}

    @classmethod
    def from_optional(cls, item: Item | None) -> Overrides:
        """Return the overrides in a copy's item; if there is no item, no overrides."""
        return cls.from_item(item).settings if item is not None else NO_OVERRIDES
