"""The state after a load run: the items of the table, and the answers that reached people."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.twilio.sms_log import Sms
from skein.models.chats.chat import Chat, Message
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.media import MediaFile
from skein.models.chats.membership import Membership
from skein.models.common.storage import Item
from skein.models.delivery.delivery import Delivery
from skein.models.runs.run import Run
from skein.models.runs.step import Step


@dataclass(frozen=True)
class Acknowledged:
    """A message whose receipt was acknowledged to its sender.

    Attributes:
        id: The id that the sender chose: a `client_id`, or Twilio's id. The stored client id ends
            with it.
        seq: The number of the message, if the acknowledgement had one.
        message_id: The id of the message, if the acknowledgement had one.
        files: The number of the message's pictures.
    """

    id: str
    text: str
    seq: int | None = None
    message_id: str | None = None
    files: int = 0


@dataclass
class StoredState:
    """Everything that the checks read.

    Attributes:
        due: The due pointers as kind and key.
        files: The pictures of messages.
        stored: The names of the files in the bucket.
        sms: The SMS that reached phones.
        bookings: How many bookings the service has counted for each run and message.
        booked_keys: The idempotency keys of the service's bookings.
        dead_letters: The number of messages in each dead-letter queue.
        held: The number of messages that the queues still hold.
    """

    chats: dict[str, Chat] = field(default_factory=dict)
    members: list[Membership] = field(default_factory=list)
    messages: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    records: list[IdempotencyRecord] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    files: list[MediaFile] = field(default_factory=list)
    stored: Collection[str] = ()
    due: list[tuple[str, str]] = field(default_factory=list)
    acknowledged: Sequence[Acknowledged] = ()
    sms: Sequence[Sms] = ()
    bookings: Mapping[tuple[str, str], int] = field(default_factory=dict)
    booked_keys: Collection[str] = ()
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    held: int = 0

    def take(self, items: Iterable[Item]) -> None:
        """Add items of the table, each to the list of its kind."""
        for item in items:
            if "gsi2pk" in item:
                self.due.append((str(item["gsi2pk"]).split("#")[1], f"{item['pk']}|{item['sk']}"))
            if "#CHAT#" in item["pk"]:
                self._take_one(item)

    def _take_one(self, item: Item) -> None:
        kind = str(item["sk"]).split("#")[0]
        match kind:
            case "META" if item["sk"] == "META":
                self.chats[item["id"]] = Chat.from_item(item)
            case "MEMBER" | "LEFT":
                self.members.append(Membership.from_item(item))
            case "MSG":
                self.messages[item["chat_id"]].append(Message.from_item(item))
            case "FILE":
                self.files.append(MediaFile.from_item(item))
            case "DEDUPE":
                self.records.append(IdempotencyRecord.from_item(item))
            case "RUN" if "#STEP#" in item["sk"]:
                self.steps.append(Step.from_item(item))
            case "RUN":
                self.runs.append(Run.from_item(item))
            case "DELIVERY":
                self.deliveries.append(Delivery.from_item(item))

    @property
    def everything_said(self) -> list[Message]:
        """Return the messages of all chats."""
        return [message for said in self.messages.values() for message in said]


def ledger_of(path: Path) -> list[dict[str, Any]]:
    """Read the lines that people wrote to a ledger. An incomplete last line is left out."""
    lines: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return lines


def acknowledged_in(ledger: Sequence[Mapping[str, Any]]) -> list[Acknowledged]:
    """Return the messages of a ledger that were acknowledged."""
    return [
        Acknowledged(
            line["id"],
            line["text"],
            line.get("seq"),
            line.get("message_id"),
            line.get("files", 0),
        )
        for line in ledger
        if line["what"] == "message"
    ]
