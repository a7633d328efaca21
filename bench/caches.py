"""How much of a conversation a provider's prompt cache reads and writes, and what that costs.

Requests have the form of the Converse API, with the cache points that Skein sets. The cache is
simulated as the providers document it: at each cache point, it keeps an entry with everything
before the point, for five minutes after its last use. A request reads the longest entry that it
begins with, and writes the tokens from there up to its last cache point. Costs are shares of the
price of all input tokens without a cache.

`SMS=file` names a file with the gaps between a person's recorded messages, in seconds, one a line.
Skein has no such recording. Without the file, the gaps are drawn at random: seven of ten messages
follow within minutes (median 90 seconds), the others after hours.
"""

import json
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from skein.adapters.converse.wire import Form, parameters_of
from skein.models.common.prompt_caches import CachePlace, CacheRule, cache_rule_of
from skein.models.runs.completion import ModelRequest
from skein.ports import ModelTokens

MODELS = {
    "Claude Sonnet 4.5": "converse/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "Claude Haiku 4.5": "converse/eu.anthropic.claude-haiku-4-5-20251001-v1:0",
    "Nova Lite": "converse/eu.amazon.nova-lite-v1:0",
    "GPT-4.1 mini": "gpt-4.1-mini",
}
SHORT, LONG = (90.0, 0.8), (6 * 3_600.0, 0.7)  # median seconds and spread of each kind of gap
SHARE_OF_SHORT = 0.7
QUICK, SLOW = (60.0,), (4 * 3_600.0,)
GAPS = 400
Count = Callable[[str], int]
SEED = 59


def assumed_gaps(share: float = SHARE_OF_SHORT) -> list[float]:
    """Draw gaps between messages, in seconds; `share` is the share of short gaps."""
    drawn = random.Random(SEED)
    kinds = [SHORT if drawn.random() < share else LONG for _ in range(GAPS)]
    return [median * drawn.lognormvariate(0, spread) for median, spread in kinds]


def read_gaps(path: str) -> list[float]:
    """Return the gaps in a file, or the assumed ones if the path is empty."""
    if not path:
        return assumed_gaps()
    return [float(line) for line in Path(path).read_text(encoding="utf-8").split()]


class Piece(NamedTuple):
    """A block of a request.

    It has the hash of the request up to the block's end, the block's tokens, and whether a cache
    point follows.
    """

    head: str
    tokens: int
    point: bool


@dataclass
class Sums:
    """How many tokens of a conversation a cache read and wrote, and what they cost."""

    total: int = 0
    read: int = 0
    written: int = 0

    def cost(self, rule: CacheRule) -> float:
        """Return the cost as a share of the cost without a cache."""
        fresh = self.total - self.read - self.written
        return (fresh + self.read * rule.read + self.written * rule.write) / self.total

    @property
    def read_share(self) -> float:
        """The share of the tokens that the cache served."""
        return self.read / self.total


def pieces(
    request: ModelRequest, rule: CacheRule, left_out: Collection[CachePlace], count: Count
) -> Iterator[Piece]:
    """Yield the blocks of a request in the order in which the provider reads them."""
    given = parameters_of(request, Form(cache=rule, left_out=left_out, max_tokens=1))
    blocks = [*given.get("toolConfig", {}).get("tools", ()), *given.get("system", ())]
    blocks += [block for message in given["messages"] for block in message["content"]]
    head = sha256()
    for n, block in enumerate(blocks):
        if "cachePoint" in block:
            continue
        text = json.dumps(block)
        head.update(text.encode())
        after = blocks[n + 1] if n + 1 < len(blocks) else {}
        yield Piece(head.hexdigest(), count(text), "cachePoint" in after)


def counted(
    requests: Sequence[ModelRequest],
    gaps: Sequence[float],
    rule: CacheRule,
    count: Count,
    *,
    left_out: Collection[CachePlace] = (),
    paced: bool = True,
) -> Sums:
    """Return what a cache reads and writes over a conversation.

    Args:
        requests: The requests, in order.
        gaps: The seconds before each request but the first, repeated as often as needed.
        rule: How the model's cache works, and what it costs.
        left_out: The places in requests where no cache point is set.
        paced: Whether a request knows the gap before it, and leaves out cache points that would
            cost more than they save.
    """
    sums, entries, now, past = Sums(), dict[str, float](), 0.0, list[float]()
    for n, request in enumerate(requests):
        if n:
            past.append(gaps[(n - 1) % len(gaps)])
            now += past[-1]
        known = request.model_copy(update={"gaps": tuple(past[-10:]) if paced else ()})
        found = list(pieces(known, rule, left_out, count))
        sizes = [sum(each.tokens for each in found[: end + 1]) for end in range(len(found))]
        live = [at for at, one in enumerate(found) if entries.get(one.head, -1.0) >= now]
        points = [at for at, one in enumerate(found) if one.point]
        least = [at for at in points if sizes[at] >= rule.least_tokens]
        reached = [at for at in live if least and at <= least[-1]]
        read = sizes[reached[-1]] if reached else 0
        sums.total += sizes[-1]
        sums.read += read
        sums.written += max(sizes[least[-1]] - read, 0) if least else 0
        for at in {*least, *reached[-1:]}:
            entries[found[at].head] = now + rule.seconds
    return sums


def automatic(
    requests: Sequence[ModelRequest],
    gaps: Sequence[float],
    rule: CacheRule,
    count: Count,
) -> Sums:
    """Return what an automatic cache reads: the beginning of the request before, in steps."""
    sums, before = Sums(), ""
    for n, request in enumerate(requests):
        text = _text_of(request)
        fresh = n > 0 and gaps[(n - 1) % len(gaps)] < rule.seconds
        shared = count(_common(before, text)) if fresh else 0
        sums.total += count(text)
        sums.read += shared // rule.step * rule.step if shared >= rule.least_tokens else 0
        before = text
    return sums


def _text_of(request: ModelRequest) -> str:
    tools = json.dumps([tool.model_dump() for tool in request.tools])
    return tools + "".join(f"{one.role}\n{one.content}\n" for one in request.messages)


def _common(one: str, other: str) -> str:
    least = min(len(one), len(other))
    return one[: next((n for n in range(least) if one[n] != other[n]), least)]


class Measured(NamedTuple):
    """What the cache of one model does for one conversation.

    Attributes:
        read: The share of tokens that the cache serves if each message follows after a minute.
        allowed: Whether the beginning that prompts share with the prompt before is long enough to
            be cached.
        cost: The cost over recorded gaps, as a share of the cost without a cache.
        slow: The cost if each message follows after hours.
        savings: For each place of cache points, the cost that they save over recorded gaps.
    """

    read: float
    allowed: bool
    cost: float
    slow: float
    savings: dict[CachePlace, float]


def measured(
    requests: Sequence[ModelRequest], gaps: Sequence[float], tokens: ModelTokens
) -> dict[str, Measured]:
    """Return what each model's cache does for a conversation."""
    count = cache(tokens.count)
    return {
        label: _measured(requests, gaps, cache_rule_of(name), count)
        for label, name in MODELS.items()
    }


def _measured(
    requests: Sequence[ModelRequest], gaps: Sequence[float], rule: CacheRule, count: Count
) -> Measured:
    play = counted if rule.places else automatic
    quick, usual, slow = (play(requests, each, rule, count) for each in (QUICK, gaps, SLOW))
    saved = {
        place: counted(requests, gaps, rule, count, left_out=(place,)).cost(rule) - usual.cost(rule)
        for place in rule.places
    }
    texts = [_text_of(request) for request in requests]
    shared = [count(_common(*two)) for two in pairwise(texts)]
    allowed = fmean(shared) >= rule.least_tokens
    return Measured(quick.read_share, allowed, usual.cost(rule), slow.cost(rule), saved)
