"""Engine: where the stack keeps its table, its queues and the secret of the Twilio sandbox."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from local.polling.feed import Changes, FeedSource
from local.polling.inbox import Inbox, PolledQueue
from local.template import Template
from skein.models.common.storage import Item
from skein.ports import Clock, Queues, Secrets, Table, VectorIndex
from skein.settings import Settings

EngineName = Literal["sqlite", "dynamodb"]


class Adapters(NamedTuple):
    """The ports that an engine implements."""

    table: Table
    erasure_register: Table
    vectors: VectorIndex
    queues: Queues
    secrets: Secrets


class Engine(Protocol):
    """The table, the queues and the secrets of one stack.

    Attributes:
        wake: Called after each batch of sent messages.
        changed: Called after each change of the table that a feed may get; an engine that does not
            notice such changes does not call it.
    """

    wake: Callable[[], None]
    changed: Callable[[], None]

    @property
    def aws_url(self) -> str:
        """The endpoint for all AWS clients of the stack."""
        ...

    def start(self, template: Template) -> dict[str, str]:
        """Start the engine, with the template's table and queues in place.

        Returns:
            The values of the template's references to the table and the queues.

        Raises:
            LocalError: The engine could not be started, or its data is damaged.
        """
        ...

    def stop(self) -> None:
        """Stop the engine and keep its data (idempotent)."""
        ...

    def adapters(self, settings: Settings, clock: Clock) -> Adapters:
        """Create the adapters of the engine's ports."""
        ...

    def inbox(self, sources: Sequence[PolledQueue], clock: Clock) -> Inbox:
        """Create the inbox of the poller."""
        ...

    def changes(self, sources: Sequence[FeedSource], clock: Clock) -> Changes:
        """Create the source of changes for the feeds; from now on, no change is lost."""
        ...

    def twilio_account(self) -> Mapping[str, str]:
        """Return the sandbox's `account_sid` and `auth_token`, created at the first start."""
        ...

    def all_items(self) -> list[Item]:
        """Return all items of the table, for checks."""
        ...

    def dead_letters(self, queue: str) -> int:
        """Return the number of messages in a dead-letter queue, by its logical id."""
        ...


def engine_of(name: EngineName, folder: Path) -> Engine:
    """Return the engine of a data folder, not started; unused engines are not imported."""
    if name == "dynamodb":
        from local.aws.engine import AwsEngine  # noqa: PLC0415

        return AwsEngine(folder / "aws")
    from local.sqlite.engine import SqliteEngine  # noqa: PLC0415

    return SqliteEngine(folder)
