"""The outside as Skein sees it: small protocols that adapters, and fakes, fulfil."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from skein.models.completion import ModelAnswer, ModelRequest
from skein.models.jobs import Job
from skein.models.sms import OutgoingSms, SentSms
from skein.models.storage import IndexName, Item, Key, Page, Write

T = TypeVar("T")


class Clock(Protocol):
    """The time, and the only way to let some of it pass."""

    def now(self) -> datetime:
        """The present moment in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait, for a retry with jitter; never longer than a few seconds."""
        ...

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        """What `work` gives, or raises, unless it takes longer: then nobody waits for it any more.

        Raises:
            TimeoutError: It took longer; it is left to end by itself.
        """
        ...


class Ids(Protocol):
    """The source of new ids."""

    def ulid(self) -> str:
        """A new ULID: 26 characters that sort by time of creation."""
        ...


class Table(Protocol):
    """The one table. See `skein.models.storage` for what may be asked of it.

    What has expired, by the seconds since 1970 in its attribute `expires_at`, is as good as gone:
    no read of the table shows it. Conditions still see it until it is tidied up.

    Every method may raise `Throttled` or `Unavailable` (nothing happened) and, when writing,
    `Ambiguous` (it may have happened).
    """

    def get(self, key: Key) -> Item | None:
        """Read one item, strongly consistent; None when it is not there."""
        ...

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """Read up to 100 items at once, strongly consistent; those not there are left out."""
        ...

    def query(
        self,
        pk: str,
        *,
        first: str = "",
        last: str = "\U0010ffff",
        limit: int | None = None,
        newest_first: bool = False,
        start: Item | None = None,
    ) -> Page:
        """Read the items of a partition with `first <= sk <= last`, strongly consistent.

        `limit` bounds the items of the page; without it, the page holds all of them.
        """
        ...

    def query_index(
        self,
        index: IndexName,
        pk: str,
        *,
        first: str = "",
        last: str = "\U0010ffff",
        limit: int,
        newest_first: bool = False,
        start: Item | None = None,
    ) -> Page:
        """Read keys from an index, eventually consistent: each item has `pk`, `sk`, index keys."""
        ...

    def write(self, write: Write) -> None:
        """Carry out one write.

        Raises:
            ConditionFailed: Its condition does not hold; nothing was written.
            Contention: A transaction holds the item, after every retry.
        """
        ...

    def transact(self, writes: Sequence[Write]) -> None:
        """Carry out up to 100 writes of different items, all or none.

        Raises:
            ConditionFailed: Some conditions do not hold; `failed` has their positions.
            Contention: Another transaction holds one of the items, after every retry.
        """
        ...


class Queues(Protocol):
    """The queues behind the workers."""

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """Put jobs of one kind on their queue, in batches of at most 10.

        Raises:
            Transient: Some or all were not accepted.
        """
        ...


class LanguageModel(Protocol):
    """A language model with chat completions."""

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model once.

        Raises:
            Transient: The provider is down, slow or throttling.
            ModelRejected: It refuses this very request.
        """
        ...


class TokenCounter(Protocol):
    """Exact token counts."""

    def count(self, text: str) -> int:
        """How many tokens `text` is."""
        ...

    def cut(self, text: str, tokens: int) -> str:
        """The longest prefix of `text` that is at most `tokens` tokens, in whole characters."""
        ...


class ModelTokens(TokenCounter, Protocol):
    """Exact token counts, each model's in its own way."""

    @property
    def encoding(self) -> str:
        """The name of the way in which `count` and `cut` count."""
        ...

    def for_model(self, model: str) -> "ModelTokens":
        """The counter of a model; of the newest encoding for a model that nobody knows."""
        ...


class Sms(Protocol):
    """The SMS provider."""

    def send(self, sms: OutgoingSms) -> SentSms:
        """Hand over one text.

        Raises:
            SmsRejected: The provider refuses this text for good or for now; see its code.
            Throttled: The provider did not take it; asking again is safe.
            Unavailable: It was never reached; asking again is safe.
            Ambiguous: It may have taken it.
        """
        ...

    def find(self, sms: OutgoingSms, *, since: datetime) -> tuple[SentSms, ...]:
        """The texts from, to and with the body of `sms` that were created after `since`."""
        ...


class WebhookVerifier(Protocol):
    """Knows whether a webhook really comes from the SMS provider."""

    def verify(self, *, url: str, parameters: Sequence[tuple[str, str]], signature: str) -> bool:
        """Whether `signature` is the provider's for this URL and these form fields."""
        ...


class Secrets(Protocol):
    """What only the operator and the functions may know."""

    def get(self, name: str) -> Mapping[str, str]:
        """The fields of a secret; a changed one is seen within minutes.

        Raises:
            MissingSecret: It is not there, or is no JSON object of texts.
            Unavailable: The store was not reached.
        """
        ...


class Metrics(Protocol):
    """Counters for the operator."""

    def count(self, name: str, value: float = 1, *, unit: str = "Count") -> None:
        """Add `value` to a metric; names stand in `docs/operations.md`."""
        ...
