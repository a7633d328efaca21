"""Prices of tokens, including those that were written to a provider's cache."""

import pytest

from skein.models.quotas.prices import ModelPrice, Prices
from skein.models.quotas.usage import UsageCounter, model_counts
from skein.models.runs.completion import TokenUsage
from skein.services.quotas.money import money_of

CLAUDE, NOVA = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "eu.amazon.nova-lite-v1:0"
USED = TokenUsage(input_tokens=1_000_000, cached_tokens=500_000, cache_written_tokens=400_000)


@pytest.mark.parametrize(("model", "premium"), [(CLAUDE, 1.25), (NOVA, 1.0)])
def test_written_tokens_cost_the_premium_of_their_family(model: str, premium: float) -> None:
    prices = Prices(currency="USD", models={model: ModelPrice(input=3, cached=0.3, output=15)})
    money = money_of([(model, USED)], prices)
    assert money is not None
    assert money.amount == pytest.approx(0.1 * 3 + 0.5 * 0.3 + 0.4 * 3 * premium)


def test_counters_have_written_tokens_only_if_there_are_any() -> None:
    named, counts = model_counts(CLAUDE, USED.counts())
    item = {"pk": "p", "sk": "AGENT#a#00", "counted_for": "a", **named, **counts}
    assert UsageCounter.from_item(item).usage.models[CLAUDE].cache_written_tokens == 400_000
    assert "cache_written_tokens" not in TokenUsage(input_tokens=1, cached_tokens=1).counts()
