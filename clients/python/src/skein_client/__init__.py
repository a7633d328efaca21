"""Clients of Skein: calls, the live channel, an outbox, and the check of signatures."""

from skein_client.async_client import AsyncClient
from skein_client.async_live import AsyncLive
from skein_client.client import Client
from skein_client.errors import ApiError, NoAnswer, Unreachable
from skein_client.events import Connected, Draft, Event, Lost, Message, OtherFrame, Words
from skein_client.live import Live
from skein_client.outbox import Entry, FileStorage, MemoryStorage, Outbox, Storage
from skein_client.signatures import BadSignature, verify_call, verify_event

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncLive",
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
    "Words",
    "verify_call",
    "verify_event",
]
