"""Items of sections that no key or query finds: they are loaded once the batch was read.

A loader may start its calls before the batch, in the pool of the reading. It finishes them
afterwards, within the time limit of the reading, and never makes a reading fail.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from skein.interface.reading import SectionItems, SectionReads
from skein.models.chats.chat import Message
from skein.models.common.storage import Item, Key
from skein.services.visibility.sharing_reads import SharingReading
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginInput:
    """What is known before the batch.

    Attributes:
        prefetched: The items that were read with the run.
        pool: The pool in which calls run.
        began: When the reading began; None if it repeats one whose prompt is recorded.
        sharing: The sharing rules that apply to the readers.
    """

    prefetched: Mapping[Key, Item | None]
    pool: ThreadPoolExecutor
    began: datetime | None
    sharing: SharingReading | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadInput:
    """What is known after the batch.

    Attributes:
        read: Everything that was read, with the insiders.
        effective: The settings of the agent in the active chat.
        zone: The time zone of the history.
        shown: The messages that the prompt shows anyway, by chat and number.
        repeats: Whether the prompt has the words of a message in another section.
    """

    read: SectionReads
    effective: Settings
    zone: ZoneInfo
    shown: frozenset[tuple[str, int]]
    repeats: Callable[[Message], bool]


Load = Callable[[LoadInput], SectionItems]


class SectionLoader(Protocol):
    """A service that loads the items of a section."""

    def begin(self, read: SectionReads, known: BeginInput) -> Load | None:
        """Start the calls; None if the section has no items in this prompt."""
        ...
