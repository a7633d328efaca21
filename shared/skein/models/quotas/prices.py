"""Prices of model tokens and messages, which operators set, and the resulting costs."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from skein.channels.registry import priced_names
from skein.models.common.base import Value
from skein.models.common.json_types import NUMBER
from skein.models.quotas.usage import ModelUsage, Usage

MAX_PRICED_MODELS = 50
MILLION = Decimal(1_000_000)
VERSION = re.compile(r"-[0-9][0-9-]*$")
DIGITS = 6  # decimal places of an amount of money

Price = Annotated[float, Field(ge=0, le=1_000_000), NUMBER]


def _priced(name: str) -> str:
    if name not in priced_names():
        raise ValueError(f"no messages are counted as {name!r}")
    return name


CountedMessages: Any = Literal[priced_names()]
"""The names by which messages are counted, for the description of the API."""

PricedName = Annotated[
    str,
    AfterValidator(_priced),
    WithJsonSchema({"type": "string", "enum": list(get_args(CountedMessages))}),
]
ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class ModelPrice(BaseModel):
    """The prices of one model, for a million tokens each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[Price, Field(description="Price of a million input tokens.")]
    cached: Annotated[
        Price | None,
        Field(description="Price of a million cached input tokens; null: the price of input."),
    ] = None
    output: Annotated[Price, Field(description="Price of a million output tokens.")]


class Prices(BaseModel):
    """The prices of a tenant, in one currency."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Z]{3}$"),
        Field(description="The code of the currency (ISO 4217), such as `USD`."),
    ]
    models: Annotated[
        dict[ModelName, ModelPrice],
        Field(max_length=MAX_PRICED_MODELS, description="The prices by the name of the model."),
    ] = {}
    channels: Annotated[
        dict[PricedName, Price],
        Field(
            description="The price of a unit by the name of the channel: of a segment of `sms`, a "
            "message with a file by `mms`, or a message of `whatsapp`."
        ),
    ] = {}

    def price_of(self, model: str) -> ModelPrice | None:
        """Return the price of a model; None if it has none.

        Providers return the dated name of a version, such as `gpt-4o-2024-08-06`. A version without
        a price of its own has the price of its model.
        """
        return self.models.get(model) or self.models.get(VERSION.sub("", model))

    def money(self, usage: Usage) -> "Money":
        priced = [(name, self.price_of(name), used) for name, used in usage.models.items()]
        unpriced = sorted(name for name in usage.models if self.price_of(name) is None)
        amounts = [_cost(name, price, used) for name, price, used in priced if price is not None]
        amounts += [
            Decimal(str(self.channels[name])) * sent.units
            for name, sent in usage.channels.items()
            if name in self.channels
        ]
        amounts.append(Decimal(usage.tool_micros) / MILLION)
        return Money(
            currency=self.currency,
            amount=float(round(sum(amounts, Decimal(0)), DIGITS)),
            unpriced_models=tuple(unpriced),
            unpriced_channels=tuple(sorted(usage.channels.keys() - self.channels.keys())),
        )


class Money(Value):
    """An amount of money.

    Attributes:
        currency: The code of the currency (ISO 4217).
        amount: The amount, with up to six digits after the point.
        unpriced_models: The models without a price, which are not part of the amount.
        unpriced_channels: The channels without a price, whose messages are not part of the amount.
    """

    currency: str
    amount: float
    unpriced_models: tuple[str, ...] = ()
    unpriced_channels: tuple[str, ...] = ()


def _written_price(model: str, price: ModelPrice) -> float:
    """Return the price of input tokens that the provider wrote to its prompt cache."""
    from skein.models.common.prompt_caches import cache_rule_of  # noqa: PLC0415 - few models write

    return price.input * cache_rule_of(model).write


def _cost(model: str, price: ModelPrice, used: ModelUsage) -> Decimal:
    """Return the cost of calls; tokens that were written to a cache may cost more than others."""
    cached = price.input if price.cached is None else price.cached
    written = min(used.cache_written_tokens, used.input_tokens)
    fresh = max(used.input_tokens - used.cached_tokens - written, 0)
    parts = (
        (price.input, fresh),
        (_written_price(model, price) if written else 0.0, written),
        (cached, min(used.cached_tokens, used.input_tokens)),
        (price.output, used.output_tokens),
    )
    return sum((Decimal(str(each)) * tokens for each, tokens in parts), Decimal(0)) / MILLION
