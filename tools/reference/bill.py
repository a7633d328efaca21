"""The largest possible bill: the most that anybody can cost, by the limits and measured calls.

Each figure is an upper bound with the default settings. A full token bucket allows its size, plus
what it refills in the time. A person's runs can exceed their bucket by one request, because they
reserve tokens. A tenant's runs and background work can exceed theirs by one request for each that
is in progress.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from skein.memory.consolidation import MAX_CLOSE
from skein.memory.extraction import ANSWER_TOKENS, MAX_MEMORY
from skein.memory.shown import CORE_MEMORY_TOKENS
from skein.models.quotas.limit import DAY, MINUTE, Rate
from skein.services.background.engine import CHARACTERS_PER_TOKEN
from skein.services.quotas.usage import SHARE
from skein.settings import Settings
from skein.summaries.summary_task import SummaryTask
from tests.patterns import chats, runs, summaries, texts
from tests.patterns.meter import Meter
from tests.support.builders import World, bot, person, tokens
from tests.support.template import deployed_template
from tools.reference.markdown import table

HEADING = "## The largest bill"
HEAD = ("who", "tokens", "SMS segments", "AWS calls")
TIMES = (1, 1_440)  # minutes
REFUSED = 3  # calls of a forged webhook: the request, an invocation and a read of the service
SUMMARIES_AT_ONCE = 3  # of one chat with one agent: its own, the chat's and the title


class Bill(NamedTuple):
    """The most that somebody can cost in a number of minutes."""

    tokens: int
    segments: int
    calls: int


@cache
def calls_of(pattern: str) -> int:
    """Return the number of AWS calls that an access pattern makes.

    The request and each job that follows count as two further calls: one that delivers it, and one
    invocation that handles it.

    Raises:
        ValueError: The pattern measures nothing.
    """
    meter = Meter()
    every = {**chats.patterns, **runs.patterns, **summaries.patterns, **texts.patterns}
    every[pattern](meter)
    if meter.cost is None:
        raise ValueError(f"the pattern {pattern!r} measures nothing")
    of_table = sum(int(part.split()[0]) for part in meter.cost.calls.split(", "))
    jobs = 0 if meter.cost.queues == "-" else len(meter.cost.queues.split(", "))
    return of_table + 2 * (1 + jobs)


@cache
def least_tokens() -> int:
    """Return the tokens of a run's smallest request: "Hi", to an agent without a system prompt."""
    world = World()
    world.agent()
    world.chat(person(), bot(), kind="direct", visibility="private")
    world.post("Hi", person())
    world.drain()
    [asked] = world.model.requests
    return sum(tokens().count(message.content or "") for message in asked.messages)


@dataclass(frozen=True, slots=True)
class Bills:
    """The upper bounds for some settings.

    Attributes:
        parameters: The parameters of the template.
    """

    settings: Settings
    parameters: dict[str, object]

    def stranger(self, minutes: int) -> Bill:
        """Somebody without a token, who sends requests that are refused."""
        return Bill(0, 0, self._requests(minutes) * REFUSED)

    def texter(self, minutes: int) -> Bill:
        """Somebody with one phone number who texts an agent's line."""
        used, messages = self.person(minutes).tokens, self._messages(minutes)
        text = ("receive an SMS from a known phone", "a whole turn in a private chat")
        segments = messages * self.settings.sms_answer_segments
        answer = calls_of("deliver an SMS of one part") + calls_of("receive the status of an SMS")
        calls = messages * (sum(map(calls_of, text)) + answer)
        return Bill(used, segments, calls + self._renewals(minutes, agents=1))

    def person(self, minutes: int) -> Bill:
        """A person of the app in a chat with one agent."""
        used = self._bucket(self.settings.user_tokens_per_day, minutes)
        used += self._answer + self._chunk + SUMMARIES_AT_ONCE * self._summary
        answers = self._messages(minutes) * calls_of("a whole turn in a private chat")
        calls = self._calls(minutes) + answers + self._renewals(minutes, agents=1)
        return Bill(used, 0, calls)

    def crowd(self, minutes: int) -> Bill:
        """A member of many chats with many agents, which also talk to each other."""
        used = self._bucket(self.settings.user_tokens_per_day, minutes)
        used += self._answer + round(SHARE * self.settings.background_tokens_per_day) + self._chunk
        return Bill(used, 0, self._calls(minutes) + self._turns(used))

    def tenant(self, minutes: int) -> Bill:
        """All people and agents of a tenant together, for example after an operator's mistake."""
        used = self._bucket(self.settings.tenant_tokens_per_day, minutes)
        at_once = self.settings.tenant_concurrent_runs or self._at_once("Turns")
        used += at_once * self._answer
        segments = used // least_tokens() * self.settings.sms_answer_segments
        calls = self._calls(minutes) + self._turns(used)
        used += self.settings.background_tokens_per_day
        used += self._at_once("Background") * self._chunk
        used += self._at_once("Upkeep") * self._summary
        return Bill(used, segments, calls)

    @property
    def _answer(self) -> int:
        """The tokens of a run's largest request, with the answer."""
        own = self.settings
        return own.max_prompt_tokens + own.reserved_response_tokens + own.reasoning_tokens

    @property
    def _chunk(self) -> int:
        """The tokens of the largest request of a consolidation."""
        close = MAX_CLOSE * MAX_MEMORY // CHARACTERS_PER_TOKEN
        asked = self.settings.consolidation_chunk_tokens + CORE_MEMORY_TOKENS + close
        return asked + ANSWER_TOKENS

    @property
    def _summary(self) -> int:
        """The tokens of the largest request for a summary, if each character takes a token."""
        return self.settings.max_prompt_tokens + SummaryTask.answer_tokens

    def _at_once(self, name: str) -> int:
        sizes = deployed_template().document["Mappings"]["Sizes"]
        return int(sizes[str(self.parameters["Size"])][name])

    def _bucket(self, size: int, minutes: int) -> int:
        return _most(Rate(size, DAY), minutes)

    def _messages(self, minutes: int) -> int:
        return _most(Rate(self.settings.user_messages_per_minute, MINUTE), minutes)

    def _requests(self, minutes: int) -> int:
        """The most requests that the gateway lets through, for the whole deployment."""
        return self._at_once("Burst") + self._at_once("Requests") * 60 * minutes

    def _calls(self, minutes: int) -> int:
        """The AWS calls of the most requests to the API.

        Each counts as a read receipt, the most expensive request that no limit of a person counts.
        """
        return self._requests(minutes) * calls_of("set a read receipt")

    def _turns(self, used: int) -> int:
        return used // least_tokens() * calls_of("a message of the app and its answer in a group")

    def _renewals(self, minutes: int, *, agents: int) -> int:
        """The AWS calls for renewing the summaries of one chat, once in each cooldown."""
        times = 1 + minutes * 60 // self.settings.summary_cooldown_seconds
        upkeep = calls_of("upkeep of a chat with stale summaries")
        return times * (upkeep + (agents + 2) * calls_of("renew a chat summary"))


def _most(rate: Rate, minutes: int) -> int:
    """Return the most that a bucket allows in a number of minutes, if it is full at first."""
    return rate.size + round(rate.size * (minutes * MINUTE / rate.window))


def bill() -> str:
    """Return the table and text of the section in docs/limits.md, in Markdown."""
    bills = Bills(Settings(), deployed_template().parameters())
    who: dict[str, Callable[[int], Bill]] = {
        "a stranger, without a token": bills.stranger,
        "a phone number that texts a line": bills.texter,
        "a person in the app, with one agent": bills.person,
        "a member of many chats with many agents": bills.crowd,
        "a whole tenant, as by an operator's mistake": bills.tenant,
    }

    def rows() -> Iterator[tuple[str, ...]]:
        for name, of in who.items():
            minute, day = map(of, TIMES)
            yield name, *(f"{a:,} / {b:,}" for a, b in zip(minute, day, strict=True))

    return table(*HEAD, rows=rows())


def with_bill(page: str) -> str:
    """Return docs/limits.md with the current table.

    Raises:
        ValueError: The page has no such table.
    """
    before, found, after = page.partition(f"{HEADING}\n")
    text, row, rest = after.partition("| who |")
    if not found or not row:
        raise ValueError(f"docs/limits.md has no table under {HEADING!r}")
    end = rest.index("\n\n")
    return f"{before}{found}{text}{bill()}{rest[end + 1 :]}"
