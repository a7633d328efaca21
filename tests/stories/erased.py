"""What an erasure has left of a person, looked for when it is done and before they do more."""

import re
from collections.abc import Iterator

from skein.models.chats.chat import Chat, Message
from skein.models.common.storage import Key
from skein.privacy.models.erasure import ERASURE
from tests.attacks.cast import named
from tests.fakes.table import MemoryTable

LEFT = re.compile("#ERASURE|#AUDIT#|^CONNECTION#| LIVE$|#VISIT#")
"""Records of it, later connections, and a visit, which stays so that its tokens stay invalid."""

DONE = '"stage":{"S":"done"}'


def is_erased(table: MemoryTable, who: str) -> bool:
    """Whether all erasures of a person are done."""
    stored = table.all_stored().items()
    theirs = [item for key, item in stored if key.sk.startswith(ERASURE) and f'"{who}"' in item]
    return bool(theirs) and all(DONE in item for item in theirs)


def left_of(table: MemoryTable, who: str) -> Iterator[str]:
    """The items that name a person.

    A question to another person, in a chat that they alone have with an agent, stays as it was
    asked, also if its answer was to reach them. What has expired is deleted by the table.
    """
    for key, item in table.all_stored().items():
        if f'"{who}"' not in item or LEFT.search(f"{key.pk} {key.sk}"):
            continue
        if table.get(key) is not None and not _asks_another_alone(table, key, who):
            yield f"{named(who)} is named in {key}"


def _asks_another_alone(table: MemoryTable, key: Key, who: str) -> bool:
    """Whether a message asks another person alone, and only the data of its question names them."""
    if not key.sk.startswith(Message.PREFIX):
        return False
    message = Message.from_item(table.get(key) or {})
    if message.choice is None or message.choice.addressee == who:
        return False
    chat = Chat.read(table, Chat.key_of(message.tenant, message.chat_id))
    if chat is None or chat.kind == "group":
        return False
    return f"'{who}'" not in str(message.model_copy(update={"choice": None}).to_item())
