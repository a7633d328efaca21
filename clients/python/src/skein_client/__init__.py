"""Clients of Skein: calls, the live channel, an outbox, and the check of events and tools."""

from skein_client.async_client import AsyncClient
from skein_client.client import Client
from skein_client.errors import ApiError, NoAnswer, Unreachable
from skein_client.live import Connected, Draft, Event, Live, Lost, Message, OtherFrame
from skein_client.outbox import Entry, FileStorage, MemoryStorage, Outbox, Storage
from skein_client.signatures import BadSignature, verify_call, verify_event

__all__ = [
    "ApiError",
    "AsyncClient",
    "BadSignature",
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
    "NoAnswer",
    "OtherFrame",
    "Outbox",
    "Storage",
    "Unreachable",
    "verify_call",
    "verify_event",
]
