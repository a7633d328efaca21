"""Resources of the HTTP API: usage of models and SMS."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field

from skein.models.api.base import Resource
from skein.models.quotas.prices import Money
from skein.models.quotas.usage import ChannelUsage, ModelUsage, Usage


class UsageResource(Resource):
    """The number of model answers and tokens of one day (UTC)."""

    day: Annotated[date, Field(description="The day, in UTC.")]
    answers: Annotated[int, Field(description="Number of answers of models.")]
    input_tokens: Annotated[int, Field(description="Tokens of prompts.")]
    output_tokens: Annotated[int, Field(description="Tokens of answers.")]
    cached_tokens: Annotated[
        int, Field(description="Input tokens that the provider's prefix cache served.")
    ]


class UsageRowResource(Resource):
    """The usage of a day, an agent, a person, a model, a channel or a tenant."""

    key: Annotated[
        str, Field(description="The day, id or name; empty for work of no agent, and for the total")
    ]
    calls: Annotated[int, Field(description="Answers of models.")]
    input_tokens: Annotated[int, Field(description="Tokens of prompts.")]
    cached_tokens: Annotated[
        int, Field(description="Input tokens that the provider's prefix cache served.")
    ]
    output_tokens: Annotated[int, Field(description="Tokens of answers.")]
    cache_written_tokens: Annotated[
        int, Field(description="Input tokens that were written to the provider's prefix cache.")
    ]
    texts: Annotated[int, Field(description="Messages that the provider accepted.")]
    channels: Annotated[
        dict[str, ChannelUsage], Field(description="These messages by the name of the channel.")
    ]
    tool_calls: Annotated[int, Field(description="Calls of tools of the tenant.")]
    tool_cost: Annotated[
        float, Field(description="What these calls cost, by `cost_per_call`; `money` contains it.")
    ]
    money: Annotated[
        Money | None, Field(description="The cost at the tenant's current prices; null: no prices.")
    ]

    @classmethod
    def from_parts(cls, key: str, usage: Usage, money: Money | None) -> Self:
        tokens = usage.of_all_models.model_dump()
        return cls(
            key=key,
            texts=usage.texts,
            channels=usage.channels,
            tool_calls=sum(usage.tools.values()),
            tool_cost=usage.tool_cost,
            money=money,
            **tokens,
        )


class PersonUsageResource(Resource):
    """What the work for a person used on one day (UTC)."""

    day: Annotated[date, Field(description="The day, in UTC.")]
    models: Annotated[
        dict[str, ModelUsage], Field(description="The calls of each model, and their tokens.")
    ]
    texts: Annotated[int, Field(description="Messages that the provider accepted.")]
    channels: Annotated[
        dict[str, ChannelUsage], Field(description="These messages by the name of the channel.")
    ]
    tools: Annotated[dict[str, int], Field(description="The calls of tools of the tenant.")]
    tool_cost: Annotated[float, Field(description="What these calls cost.")]

    @classmethod
    def from_parts(cls, day: date, usage: Usage) -> Self:
        return cls(
            day=day,
            models=usage.models,
            texts=usage.texts,
            channels=usage.channels,
            tools=usage.tools,
            tool_cost=usage.tool_cost,
        )


class UsageReportResource(Resource):
    """A tenant's usage over some days, in rows."""

    by: Annotated[
        Literal["day", "agent", "user", "model", "channel", "tenant"],
        Field(description="What each row stands for."),
    ]
    first: Annotated[date, Field(serialization_alias="from", description="The first day (UTC).")]
    last: Annotated[date, Field(serialization_alias="to", description="The last day.")]
    total: Annotated[UsageRowResource, Field(description="All rows together.")]
    rows: Annotated[
        tuple[UsageRowResource, ...],
        Field(description="Days in order; otherwise the most tokens first."),
    ]
