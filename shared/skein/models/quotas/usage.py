"""Usage of models and SMS by a tenant's agents and people, by day."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, NamedTuple, Self

from pydantic import Field

from skein.models.common.base import Value, key_part, stable_hash
from skein.models.common.storage import Item, Key, SortKeyPrefix

USAGE_SHARDS = 16  # partitions of a tenant's day, so that none becomes a hot key
USAGE_DAYS = 400  # the counters by agent and by person expire afterwards
OF_AGENT, OF_USER = SortKeyPrefix("AGENT#"), SortKeyPrefix("USER#")
NAMED, CALLS, BACKGROUND = "model", "calls", "background_tokens"
COST_OF_TOOLS = "tool_cost#micros"
MILLION = 1_000_000
OF_CHANNEL, UNITS = "texts#", "units#"  # the prefixes of the counters of a channel
TOLD = "told_millibits"  # information that private runs sent to services that may show it to anyone
OF_TOOL = "tool_calls#"  # the prefix of the counter of one of the tenant's tools
MAX_PAYERS = 20  # people charged for one answer: those who wrote most, who also pay for all others
TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "cache_written_tokens")


class DayUsage(Value):
    """The number of model answers on one day (UTC), and their tokens; see `TokenUsage`."""

    day: date
    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class Payer(NamedTuple):
    """The agent and the person that an answer or an SMS is counted for.

    Attributes:
        agent_id: The agent; None for a chat's own summary.
        user_id: The person to whom the work traces back, if any.
    """

    agent_id: str | None = None
    user_id: str | None = None


class Words(NamedTuple):
    """The people charged for a model call in the background, because its prompt has their words.

    Attributes:
        parts: The fraction that each person pays, by id, largest first; the sum is 1.
    """

    parts: Mapping[str, float] = MappingProxyType({})

    @classmethod
    def of(cls, written: Iterable[tuple[str | None, int]]) -> Self:
        """Return each person's part, in proportion to the characters that the person wrote.

        Args:
            written: The id of the author and the number of characters of each message. Messages
                without an author are skipped.
        """
        counts = Counter[str]()
        for user_id, characters in written:
            if user_id is not None:
                counts[user_id] += max(characters, 1)
        most = counts.most_common(MAX_PAYERS)
        total = sum(count for _, count in most)
        return cls({user_id: count / total for user_id, count in most})

    @property
    def main(self) -> str | None:
        """The person who is charged most; None if no one is charged."""
        return next(iter(self.parts), None)


NO_WORDS = Words()


class ModelUsage(Value):
    """The calls of one model, and their tokens."""

    calls: Annotated[int, Field(description="Number of model calls.")] = 0
    input_tokens: Annotated[int, Field(description="Tokens of prompts.")] = 0
    cached_tokens: Annotated[
        int, Field(description="Input tokens that the provider's prefix cache served.")
    ] = 0
    output_tokens: Annotated[int, Field(description="Tokens of answers.")] = 0
    cache_written_tokens: Annotated[
        int, Field(description="Input tokens that were written to the provider's prefix cache.")
    ] = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "ModelUsage") -> "ModelUsage":
        fields = type(self).model_fields
        return ModelUsage(**{name: getattr(self, name) + getattr(other, name) for name in fields})


class ChannelUsage(Value):
    """The messages of one channel."""

    texts: Annotated[int, Field(description="Messages that the provider accepted.")] = 0
    units: Annotated[
        int, Field(description="The units of these messages: segments of SMS, else messages.")
    ] = 0

    def __add__(self, other: "ChannelUsage") -> "ChannelUsage":
        return ChannelUsage(texts=self.texts + other.texts, units=self.units + other.units)


class Usage(Value):
    """The usage of one row of a report.

    Attributes:
        models: The calls by model.
        channels: The messages by channel.
        tools: The calls of the tenant's tools, by name.
        tool_micros: The cost of these calls, in millionths.
    """

    models: dict[str, ModelUsage] = Field(default_factory=dict)
    channels: dict[str, ChannelUsage] = Field(default_factory=dict)
    tools: dict[str, int] = Field(default_factory=dict)
    tool_micros: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        models = dict(self.models)
        for name, usage in other.models.items():
            models[name] = models.get(name, ModelUsage()) + usage
        channels = dict(self.channels)
        for name, sent in other.channels.items():
            channels[name] = channels.get(name, ChannelUsage()) + sent
        return Usage(
            models=models,
            channels=channels,
            tools=dict(Counter(self.tools) + Counter(other.tools)),
            tool_micros=self.tool_micros + other.tool_micros,
        )

    @property
    def texts(self) -> int:
        return sum(each.texts for each in self.channels.values())

    @property
    def tool_cost(self) -> float:
        """The cost of the tool calls, in the currency of the tenant's prices."""
        return self.tool_micros / MILLION

    @property
    def of_all_models(self) -> ModelUsage:
        return sum(self.models.values(), ModelUsage())


class UsageCounter(NamedTuple):
    """The stored counter of what one agent or one person used on one day.

    The item has one group of attributes for each model, because prices differ by model. The names
    of these attributes end in a hash of the model's name.

    Attributes:
        of: Whether the counter is of an agent (`AGENT#`) or of a person (`USER#`).
        id: The id of the agent or the person; empty if usage has no agent or person.
        usage: The counts.
    """

    of: SortKeyPrefix
    id: str
    usage: Usage

    @classmethod
    def from_item(cls, item: Item) -> Self:
        of = OF_AGENT if OF_AGENT.holds(item) else OF_USER
        models = {}
        for name, model in item.items():
            kind, _, group = name.partition("#")
            if kind == NAMED and group:
                counts = {each: int(item.get(f"{each}#{group}", 0)) for each in (CALLS, *TOKENS)}
                models[str(model)] = ModelUsage(**counts)
        channels = {
            name.removeprefix(OF_CHANNEL): ChannelUsage(
                texts=int(texts), units=int(item[UNITS + name.removeprefix(OF_CHANNEL)])
            )
            for name, texts in item.items()
            if name.startswith(OF_CHANNEL)
        }
        tools = {
            name.removeprefix(OF_TOOL): int(n)
            for name, n in item.items()
            if name.startswith(OF_TOOL)
        }
        usage = Usage(
            models=models,
            channels=channels,
            tools=tools,
            tool_micros=int(item.get(COST_OF_TOOLS, 0)),
        )
        return cls(of, str(item["counted_for"]), usage)


def usage_key(tenant: str, day: str, shard: int) -> Key:
    """Return the key of a tenant's counter of a day in a shard; `day` is `YYYY-MM-DD`."""
    return Key(f"{key_part(tenant)}#USAGE#{day}#{shard}", "TOTAL")


def usage_partitions(tenant: str, day: date) -> list[str]:
    """Return the partitions that hold the counters of a day (UTC) by agent and by person.

    The last partition has the counters that release 0.3.0 wrote. It also has the counters of the
    information that private runs sent to services.
    """
    sharded = [usage_key(tenant, f"{day:%Y-%m-%d}", shard) for shard in range(USAGE_SHARDS)]
    return [*(key.pk for key in sharded), unsharded(sharded[0]).pk]


def agent_usage_key(tenant: str, day: date, agent_id: str | None, shard: int) -> Key:
    """Return the key of an agent's counter of a day; each agent has one counter in each shard."""
    sort_key = f"{OF_AGENT}{key_part(agent_id or '-')}#{shard:02d}"
    return usage_key(tenant, f"{day:%Y-%m-%d}", shard)._replace(sk=sort_key)


def user_usage_key(tenant: str, day: date, user_id: str) -> Key:
    """Return the key of a person's counter of a day; the person's id determines its shard."""
    shard = stable_hash(user_id) % USAGE_SHARDS
    sort_key = f"{OF_USER}{key_part(user_id)}"
    return usage_key(tenant, f"{day:%Y-%m-%d}", shard)._replace(sk=sort_key)


def unsharded(key: Key) -> Key:
    """Return the key that a counter has in its day's partition without shards.

    Release 0.3.0 wrote all counters to this partition. The information that private runs send to
    services is still counted in this partition, because its limit requires that all workers count
    in one item.
    """
    return key._replace(pk=key.pk.rpartition("#")[0])


def days_of_user_usage(tenant: str, user_ids: Iterable[str], now: datetime) -> dict[Key, date]:
    """Return the keys of all counters of a person, with their days, oldest first.

    A person has two counters for each day; see `unsharded`. The first day is the oldest one whose
    counters may exist. The last day is tomorrow, because the clock of another machine may be ahead.

    Args:
        user_ids: The person's id and former ids.
    """
    ids = tuple(user_ids)
    days = [now.date() - timedelta(days=ago) for ago in range(USAGE_DAYS, -2, -1)]
    sharded = {user_usage_key(tenant, day, user_id): day for day in days for user_id in ids}
    return {key: day for own, day in sharded.items() for key in (own, unsharded(own))}


def model_counts(model: str, counts: Mapping[str, int]) -> tuple[dict[str, str], dict[str, int]]:
    """Return the attributes of a counter that store a model's name, and those with its counts."""
    group = sha256(model.encode()).hexdigest()[:8]
    return {f"{NAMED}#{group}": model}, {f"{name}#{group}": n for name, n in counts.items()}


def channel_counts(channel: str, texts: int, units: int) -> dict[str, int]:
    """Return a channel's counts as attributes of a counter; their names end in the channel."""
    return {f"{OF_CHANNEL}{channel}": texts, f"{UNITS}{channel}": units}


def tool_counts(names: Iterable[str], cost: float = 0) -> dict[str, int]:
    """Return the counts and the cost of tool calls as attributes of a counter."""
    calls = {f"{OF_TOOL}{name}": n for name, n in Counter(names).items()}
    return calls | ({COST_OF_TOOLS: round(cost * MILLION)} if cost else {})


def usage_expires_at(day: datetime) -> int:
    """Return when the counters of a day expire, in seconds since 1970."""
    return int((day.replace(hour=0, minute=0, second=0) + timedelta(days=USAGE_DAYS)).timestamp())
