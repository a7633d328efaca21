"""Ports: small protocols for the outside world, implemented by adapters and by fakes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from skein.models.common.embedding import Embedding
from skein.models.common.file import CheckedFile, FileUpload, SignedUpload, StoredFile
from skein.models.common.http import HttpAnswer, HttpRequest, McpAnswer, McpListing, McpReply
from skein.models.common.storage import Item, Key, Page, Query, Write
from skein.models.common.vector_search import VectorSearch
from skein.models.config.guardrail import Guardrail
from skein.models.delivery.notification import Notification, Platform
from skein.models.delivery.sms import OutgoingSms, SentSms
from skein.models.outbox.jobs import Job
from skein.models.runs.completion import ModelAnswer, ModelRequest

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
DocumentFormat = Literal["pdf", "docx", "html"]
SendRequest = Callable[[HttpRequest], HttpAnswer]


class CapturedCall(NamedTuple):
    """A call of a port that a world recorded instead of carrying it out; see `Services.world`."""

    port: str
    method: str
    arguments: tuple[Any, ...]


class Services(Protocol):
    """The services of the app, for code that looks up a service at run time."""

    def get(self, kind: type[T]) -> T:
        """Return the app's instance of a service class."""
        ...

    def world(
        self, captured: list[CapturedCall], given: Mapping[type[Any], Any], **ports: object
    ) -> "Services":
        """Return the services of a world: an app on empty tables in memory, which sends nothing.

        The world shares models, guardrails and tokenizers with this app.

        Args:
            captured: The list to which calls of all ports that are not shared or given are added.
            given: Services to use, by class, instead of building instances of these classes.
            ports: Ports to use, by name, instead of ports that only record their calls.
        """
        ...


class Extensions(Protocol):
    """The extensions of the core, by name; see `skein/interface/extensions.py`."""

    def effect(self, purpose: str, data: Iterable[str]) -> type[Any]:
        """Return the effect class that carries out the answers to a kind of question.

        Args:
            purpose: The purpose of the question.
            data: The keys of the question's data.

        Raises:
            KeyError: No effect is registered for such a question.
        """
        ...

    def due_item(self, due: str, kind: str) -> type[Any] | None:
        """Return the class that a feature has registered for a kind of due item.

        Args:
            due: The kind of the item's due pointer.
            kind: The kind of item, which is part of the item's sort key.

        Returns:
            The class, whose attribute `job` is the job that continues the work. None if no feature
            has registered a class, because the item belongs to the core.
        """
        ...


class Clock(Protocol):
    """The source of the current time, and the only way to wait."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait before a retry, with jitter; never longer than a few seconds."""
        ...

    def within(self, seconds: float, function: Callable[[], T]) -> T:
        """Run `function` with a time-out; return its result, or raise its error.

        Raises:
            TimeoutError: `function` took longer than `seconds`. It is not stopped.
        """
        ...


class Ids(Protocol):
    """The generator of new ids and of random codes."""

    def ulid(self) -> str:
        """Return a new ULID: 26 characters that sort by time of creation."""
        ...

    def digits(self, length: int) -> str:
        """Return random digits that cannot be predicted."""
        ...


class Table(Protocol):
    """The single table. `skein.models.common.storage` defines its keys, conditions and writes.

    An item expires at its `expires_at`, in seconds since 1970. Reads do not return expired items.
    Conditions still see them until the table deletes them.

    Every method may raise `Throttled` or `Unavailable` (the call had no effect). A method that
    writes may also raise `Ambiguous` (the call may have had an effect).
    """

    def get(self, key: Key) -> Item | None:
        """Read one item, strongly consistent; None if the item does not exist."""
        ...

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        """Read up to 100 items at once; missing items are left out.

        Args:
            consistent: Whether the read is strongly consistent. Otherwise it costs half as much,
                and may miss writes of the last second.
        """
        ...

    def query(self, query: Query) -> Page:
        """Read one page of a partition, in the table or in an index.

        Items of an index have only `pk`, `sk` and the keys of the index. Reads of the table are
        strongly consistent, and reads of an index are eventually consistent.
        """
        ...

    def write(self, write: Write) -> None:
        """Carry out one write.

        Raises:
            ConditionFailed: The condition does not hold; nothing was written.
            Contention: A transaction held the item during every attempt.
        """
        ...

    def transact(self, writes: Sequence[Write]) -> None:
        """Carry out up to 100 writes of different items as one transaction.

        Raises:
            ConditionFailed: Some conditions do not hold; `failed` has their positions.
            Contention: Another transaction held one of the items during every attempt.
        """
        ...


class RegisterTable(Table, Protocol):
    """The table of the erasure register."""


class NumbersTable(Table, Protocol):
    """The table of the numbers that the deployment's owner assigned to tenants."""


class ParallelMap(Protocol):
    """A function that calls another function once for each of several arguments, in parallel."""

    def __call__(self, function: Callable[[A], B], over: Sequence[A]) -> list[B]:
        """Return the results of `function` in the order of `over`.

        The calls start in this order. If calls raise exceptions, the first exception in this order
        is raised after all calls have ended.
        """
        ...


class Files(Protocol):
    """The storage of messages' pictures and files, by name.

    Every method may raise `Transient`. A call can be repeated without harm.
    """

    def put(self, name: str, content: bytes, content_type: str) -> None:
        """Store a file, or replace it."""
        ...

    def get(self, name: str) -> bytes | None:
        """Return the content of a file; None if the file does not exist."""
        ...

    def head(self, name: str) -> StoredFile | None:
        """Return the length and the checksum of a file; None if the file does not exist."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file; a missing file is not an error."""
        ...

    def copy(self, source: str, target: str) -> bool:
        """Copy a file; return False if the file does not exist."""
        ...

    def upload_url(self, name: str, upload: FileUpload, *, seconds: int) -> SignedUpload:
        """Sign a URL to which a client uploads a file of this type, length and checksum."""
        ...

    def download_url(self, name: str, *, content_type: str, inline: bool, seconds: int) -> str:
        """Sign a URL from which a client downloads a file, whether or not it exists.

        Args:
            content_type: The media type of the response.
            inline: Whether a browser may show the file; otherwise it saves the file.
        """
        ...


class MediaReader(Protocol):
    """The libraries that read pictures and documents. Each call has limited time and memory."""

    def check(self, content: bytes, claimed: str) -> CheckedFile:
        """Check the real type of a file, and remove hidden metadata from it.

        Args:
            claimed: The media type that the sender claims. It is only used to distinguish texts
                from pictures.

        Raises:
            MediaRefused: The file is too large, damaged, of no allowed type, or takes too long.
        """
        ...

    def text(self, content: bytes, kind: DocumentFormat) -> str:
        """Return the text of a document, as Markdown if it has headings.

        The pages of a PDF end with a form feed. Of a web page, only the main part is returned.

        Raises:
            MediaRefused: The document is damaged, has too much text, or takes too long.
        """
        ...

    def shrunk(self, content: bytes, max_bytes: int) -> bytes | None:
        """Return a checked picture as a JPEG of a limited size; None if the limit is too small.

        Raises:
            MediaRefused: The content is not a picture, or takes too long.
        """
        ...


class Queues(Protocol):
    """The queues behind the workers."""

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """Send jobs of one kind to their queue, in batches of at most 10.

        Raises:
            Transient: The queue did not accept some or all of the jobs.
        """
        ...


class LanguageModel(Protocol):
    """A language model with chat completions."""

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Call the model once.

        Raises:
            Transient: The provider is down, slow or throttling.
            ModelRejected: The provider refuses this request.
        """
        ...

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """Call the model once, and report its text while it is generated.

        Args:
            heard: Called with the whole text so far, from any thread. If the client repeats the
                request, the text starts over. Errors of the function propagate.

        Raises:
            Transient, ModelRejected: As in `complete`.
        """
        ...


class Guardrails(Protocol):
    """The guardrails that operators have chosen, which check the input and output of models."""

    def blocks(self, guardrail: Guardrail, texts: Sequence[str], *, output: bool) -> bool:
        """Return whether a guardrail intervenes in any of the texts.

        Args:
            texts: Texts that are not blank.
            output: Whether a model wrote the texts; otherwise they are about to be sent to a model.

        Raises:
            Transient: The guardrail cannot be asked now. Nothing may pass unchecked.
        """
        ...


class ModelList(Protocol):
    """The list of the models that the provider offers."""

    def models(self, *, seconds: float) -> frozenset[str]:
        """Return the names of the models; empty if the provider lists no models.

        Args:
            seconds: The time-out.

        Raises:
            Transient: The provider is down, slow or throttling, refuses the key, or has no list.
            ModelRejected: The provider refuses the request.
        """
        ...


class TokenCounter(Protocol):
    """Exact token counts of texts."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...

    def cut(self, text: str, tokens: int) -> str:
        """Return the longest prefix of `text` with whole characters and at most `tokens` tokens."""
        ...


class ModelTokens(TokenCounter, Protocol):
    """Exact token counts, with the encoding of each model."""

    @property
    def encoding(self) -> str:
        """The name of the encoding that `count` and `cut` use."""
        ...

    def for_model(self, model: str) -> "ModelTokens":
        """Return the counter of a model; an unknown model gets the newest encoding."""
        ...


class Embeddings(Protocol):
    """Embeddings of texts, all by one model."""

    @property
    def name(self) -> str:
        """The name of the model, which is stored with each vector."""
        ...

    @property
    def dimensions(self) -> int:
        """The number of components of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the embedding of each text, in order."""
        ...


class QueryEmbeddings(Embeddings, Protocol):
    """Embeddings of search queries, made by the model that also embeds messages.

    If the model is unavailable, the embeddings are empty.
    """


class TextEmbeddings(Embeddings, Protocol):
    """Embeddings of memories and documents, always computed inside the Lambda function."""


class VectorIndex(Protocol):
    """The eventually consistent index of the vectors of passages."""

    def nearest(self, search: VectorSearch) -> list[Item]:
        """Return the passages nearest to a vector by cosine, nearest first; vectors are left out.

        Each passage has a `distance`, which is 1 minus the cosine.

        Raises:
            NoVectorIndex: The table has no vector index, or the index is not ready.
            Throttled: The index asks Skein to slow down.
            Unavailable: The index was not reached.
        """
        ...


class Vocabulary(Protocol):
    """The common words of a language; all other words count as rare."""

    def holds(self, word: str) -> bool:
        """Return whether a word is common; `word` is in lower case."""
        ...


class Sockets(Protocol):
    """The open WebSocket connections of the live channel."""

    def push(self, connection_id: str, text: str) -> None:
        """Send a text frame of at most 32 KB to a connection.

        Raises:
            ConnectionGone: The connection is closed.
            Transient: The frame may not have reached the connection.
        """
        ...

    def close(self, connection_id: str) -> None:
        """Close a connection (idempotent).

        Raises:
            Transient: The connection may still be open.
        """
        ...


class MobilePush(Protocol):
    """The push provider, which shows notifications on phones."""

    def register(self, platform: Platform, token: str) -> str:
        """Register a device for notifications, and return its address (idempotent).

        Raises:
            PushRefused: The provider refuses the token.
            Transient: The device may or may not be registered.
        """
        ...

    def forget(self, address: str) -> None:
        """Delete a device and its token at the provider (idempotent).

        Raises:
            Transient: The device may still be registered.
        """
        ...

    def notify(self, address: str, notification: Notification) -> None:
        """Show a notification, in place of an earlier notification with the same collapse key.

        Raises:
            DeviceGone: The device is not registered, or its token is no longer valid.
            PushRefused: The provider refuses the notification, or the deployment's key.
            Transient: The notification may not have been accepted.
        """
        ...


class Background(Protocol):
    """A worker for tasks that no caller waits for; it runs one task at a time."""

    def later(self, seconds: float, task: Callable[[], None]) -> bool:
        """Run a task after a delay; an error of the task is logged.

        Returns:
            Whether the task will run; False if too many tasks are waiting.
        """
        ...

    def finish(self, seconds: float) -> None:
        """Wait until all tasks whose delay has passed are done, but at most `seconds`."""
        ...


class Sms(Protocol):
    """The SMS provider."""

    def send(self, sms: OutgoingSms) -> SentSms:
        """Hand one SMS to the provider.

        Raises:
            SmsRejected: The provider refuses this SMS, permanently or for now; see the code.
            Throttled: The provider did not accept the SMS; a retry is safe.
            Unavailable: The provider was not reached; a retry is safe.
            Ambiguous: The provider may have accepted the SMS.
        """
        ...

    def find(self, sms: OutgoingSms, *, since: datetime) -> tuple[SentSms, ...]:
        """Find SMS with the numbers and body of `sms` that the provider got after `since`."""
        ...

    def has_number(self, phone: str, channel: str = "sms") -> bool:
        """Return whether the account may send from a phone number (E.164) on a channel.

        Raises:
            Unavailable: The provider did not answer.
        """
        ...

    def media(self, url: str, *, max_bytes: int) -> bytes | None:
        """Fetch a file of a message from the provider; None if the provider no longer has it.

        Raises:
            MediaRefused: The URL is not the provider's, or the file is too large.
            Unavailable: The provider was not reached.
        """
        ...

    def was_reassigned(self, phone: str, *, since: date) -> bool:
        """Return whether a phone number in E.164 was reassigned to a new person since a given day.

        A number that the provider knows nothing about counts as not reassigned.

        Raises:
            Unavailable: The provider did not answer.
        """
        ...


class WebhookVerifier(Protocol):
    """The check that a webhook comes from the SMS provider."""

    def verify(self, *, url: str, parameters: Sequence[tuple[str, str]], signature: str) -> bool:
        """Return whether `signature` is the provider's for this URL and these form fields."""
        ...


class Secrets(Protocol):
    """Secrets that only the operator and the functions may know."""

    def get(self, name: str) -> Mapping[str, str]:
        """Return the fields of a secret; a change takes effect within minutes.

        Raises:
            MissingSecret: The secret does not exist, or is not a JSON object of strings.
            Unavailable: The secret store was not reached.
        """
        ...


class IdentityProvider(Protocol):
    """The external issuer of the tokens with which people sign in."""

    def claims(self, token: str) -> Mapping[str, Any]:
        """Verify a token and return its claims.

        Raises:
            Unauthenticated: The token is invalid, expired or not the issuer's.
            Unavailable: The issuer's keys cannot be read.
        """
        ...


class OutboundHttp(Protocol):
    """Sends requests to services that operators configure, but never to private addresses."""

    def send(self, request: HttpRequest, *, seconds: float) -> HttpAnswer:
        """Send a request, and follow redirects within the same host.

        Args:
            seconds: The time-out of the whole call.

        Raises:
            Failed: The address is not allowed.
            Redirected: The service redirects to an address that is not followed; the request may
                have taken effect.
            Unavailable: The service was not reached; a retry is safe.
            Ambiguous: The request may have taken effect.
        """
        ...


class EventBus(Protocol):
    """The bus of Amazon EventBridge that the deployment names."""

    def put(self, event_type: str, event: str, at: datetime) -> None:
        """Put an event on the bus, whose rules decide who gets it.

        Args:
            event_type: The type, which becomes the `detail-type`.
            event: The event as JSON, which becomes the `detail`.
            at: When it happened.

        Raises:
            Transient: The bus did not accept the event, or may not have accepted it. The caller may
                put the event again, with the same id.
            TooLarge: The bus refuses events of this size.
        """
        ...


class McpClient(Protocol):
    """MCP servers: their tools, and calls of these tools.

    Each method receives a function that signs a request and sends it, but never to a private
    address. The errors of this function propagate.
    """

    def tools(self, url: str, send: SendRequest, *, seconds: float) -> McpListing:
        """List the tools of a server.

        Raises:
            Failed: The server refuses the request.
            Ambiguous: The server broke the protocol, or took longer than `seconds`.
        """
        ...

    def call(
        self,
        url: str,
        version: str,
        name: str,
        arguments: dict[str, Any],
        send: SendRequest,
        *,
        seconds: float,
        may_ask: bool = False,
        reply: McpReply | None = None,
    ) -> McpAnswer:
        """Call a tool of a server.

        Args:
            version: The version of the protocol with which the server listed its tools.
            may_ask: Whether a person can answer a question that the server asks. If not, Skein
                declines the question.
            reply: What a person answered to the question of an earlier call.

        Raises:
            Ambiguous: The server broke the protocol, or took longer than `seconds`.
        """
        ...


class Metrics(Protocol):
    """The metrics that operators watch."""

    def count(
        self, name: str, value: float = 1, *, unit: str = "Count", reason: str | None = None
    ) -> None:
        """Add `value` to a metric; `docs/alarms.md` lists the names.

        With a `reason`, `value` is also added to the metric that counts only this reason.
        """
        ...
