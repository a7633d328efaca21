"""The cost of single answers at a tenant's prices."""

from collections.abc import Iterable

from skein.models.quotas.prices import Money, Prices
from skein.models.quotas.usage import MILLION, ModelUsage, Usage
from skein.models.runs.completion import TokenUsage


def money_of(
    answers: Iterable[tuple[str, TokenUsage]], prices: Prices | None, tool_cost: float = 0
) -> Money | None:
    """Return the cost of answers and tool calls.

    Args:
        answers: The model and the tokens of each answer.
        prices: The tenant's prices; if None, the result is None.
        tool_cost: The cost of the tool calls.
    """
    if prices is None:
        return None
    used = Usage(tool_micros=round(tool_cost * MILLION))
    return prices.money(used + usage_of(answers))


def usage_of(answers: Iterable[tuple[str, TokenUsage]]) -> Usage:
    """Return the calls and tokens of answers by model."""
    each = ({model: ModelUsage(calls=1, **tokens.counts())} for model, tokens in answers)
    return sum((Usage(models=models) for models in each), Usage())
