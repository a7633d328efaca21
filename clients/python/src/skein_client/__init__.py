"""Client of Skein: typed calls, the live channel with streamed answers, and an outbox."""

from skein_client.client import ApiError, Client, Unreachable
from skein_client.live import Connected, Draft, Event, Live, Lost, Message, OtherFrame
from skein_client.outbox import Entry, FileStorage, MemoryStorage, Outbox, Storage

__all__ = [
    "ApiError",
    "Client",
    "Connected",
    "Draft",
    "Entry",
    "Event",
    "FileStorage",
    "Live",
    "Lost",
    "MemoryStorage",
    "Message",
    "OtherFrame",
    "Outbox",
    "Storage",
    "Unreachable",
]
