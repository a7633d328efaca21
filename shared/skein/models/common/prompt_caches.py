"""Prompt caches of model providers: where a request may be cached, from which size, at what price.

Sources: the providers' documentation, read in November 2026 (docs/models.md names the pages). A
model that no pattern matches gets no cache points, because some models refuse them. Inference
profiles with an opaque name (an application's ARN) match no pattern either.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

CachePlace = Literal["tools", "system", "messages"]

FIVE_MINUTES = 300
KNOWN_GAPS = 4
# A high value for estimates, since an entry near the minimum is often written but never read.
CHARACTERS_OF_A_TOKEN = 4.5
BLOCK = 1_000  # the minimum length of a block of a timeline, in characters
CLAUDE: tuple[CachePlace, ...] = ("tools", "system", "messages")
NOVA: tuple[CachePlace, ...] = ("system", "messages")


class CacheRule(NamedTuple):
    """How the provider of a model caches the beginning of prompts.

    Attributes:
        places: The parts of a request after which cache points may be set; empty if the provider
            caches without cache points.
        least_tokens: The number of tokens that must precede a cache point; providers ignore earlier
            cache points.
        most_points: The maximum number of cache points in a request.
        seconds: How long the cache keeps an entry after its last use.
        read: The price of a token that the cache serves, as a share of the price of input.
        write: The price of a token that is written to the cache, as a share of the price of input.
        step: For a cache without cache points, the served part is a multiple of this number of
            tokens.
    """

    places: tuple[CachePlace, ...]
    least_tokens: int
    most_points: int = 4
    seconds: int = FIVE_MINUTES
    read: float = 0.1
    write: float = 1.25
    step: int = 1

    def pays(self, gaps: Sequence[float]) -> bool:
        """Return whether caching a chat's prompts probably saves more than it costs.

        Args:
            gaps: Seconds between the newest requests of the chat. If there are too few values, the
                result is True, because most conversations go on within minutes.
        """
        if len(gaps) < KNOWN_GAPS:
            return True
        again = sum(gap < self.seconds for gap in gaps) / len(gaps)
        return again * (1 - self.read) > (1 - again) * (self.write - 1)


NO_CACHE = CacheRule((), 0, most_points=0, read=1.0, write=1.0)

# The first pattern that a name matches decides.
RULES: tuple[tuple[str, CacheRule], ...] = (
    ("*claude-opus-5-5*", CacheRule(CLAUDE, 512, read=0.05)),
    ("*claude-sonnet-5-5*", CacheRule(CLAUDE, 1_024, read=0.05)),
    *((f"*claude-{name}", CacheRule(CLAUDE, 512)) for name in ("opus-5*", "fable-5*", "mythos-5*")),
    ("*claude-opus-4-7*", CacheRule(CLAUDE, 2_048)),
    ("*claude-opus-4-[56]*", CacheRule(CLAUDE, 4_096)),
    ("*claude-haiku-4-5*", CacheRule(CLAUDE, 4_096)),
    *((f"*claude-{name}", CacheRule(CLAUDE, 1_024)) for name in ("opus-4*", "sonnet-[45]*")),
    ("*claude-3-7-sonnet*", CacheRule(CLAUDE, 1_024)),
    ("*claude-3-5-haiku*", CacheRule(CLAUDE, 2_048)),
    ("*claude-*-[5-9]*", CacheRule(CLAUDE, 4_096)),  # newer than this table
    *(
        (f"*amazon.nova-{size}-v1*", CacheRule(NOVA, 1_000, read=0.25, write=1.0))
        for size in ("micro", "lite", "pro", "premier")
    ),
    # OpenAI caches by itself: prefixes from 1,024 tokens, in steps of 128, without a premium.
    ("gpt-4.1*", CacheRule((), 1_024, read=0.25, write=1.0, step=128)),
    ("gpt-4o*", CacheRule((), 1_024, read=0.5, write=1.0, step=128)),
    ("gpt-5*", CacheRule((), 1_024, read=0.1, write=1.0, step=128)),
)


def cache_rule_of(model: str) -> CacheRule:
    """Return the rule of a model, whose name may have a prefix such as `converse/us.`."""
    bare = model.lower().rsplit("/", 1)[-1]
    found = (rule for pattern, rule in RULES if fnmatchcase(bare, pattern))
    return next(found, NO_CACHE)


def block_ends(text: str, begin: int, end: int) -> Iterator[int]:
    """Yield the ends of blocks of whole lines; text that is appended later does not move them."""
    while (line := text.find("\n", begin + BLOCK, end)) >= 0:
        yield (begin := line + 1)
