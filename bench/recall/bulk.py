"""A fast way to store and index many messages for recall.

Passages and postings are made by the code of the product's worker. They are written straight into
the SQLite file in one transaction, so that a hundred thousand messages take about two minutes.
"""

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from local.sqlite.database import Database
from local.sqlite.vectors import ADD, MARK_CHANGED
from skein.adapters.aws.rules import VECTORS
from skein.adapters.dynamodb.attributes import marshal_item
from skein.adapters.sqlite_table.items import item_size, to_text
from skein.adapters.sqlite_table.table import PUT, columns_of
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember
from skein.models.common.storage import Item, Key
from skein.recall.indexing import IndexTarget, RecallIndexing
from skein.recall.models.stored import PostingRef
from skein.recall.passage_commit import PostingKey, RefChange, posting_after

Held = tuple[Chat, Sequence[Message]]
"""A chat and its messages."""


def load(
    database: Database,
    indexing: RecallIndexing,
    agent: NamedMember,
    held: Iterable[Held],
    now: datetime,
) -> None:
    """Store chats with their messages, and index them for an agent that was always a member."""
    words: dict[PostingKey, set[PostingRef]] = defaultdict(set)
    with database.writing() as connection:
        for chat, messages in held:
            member = Membership(tenant=chat.tenant, chat_id=chat.id, member=agent)
            _put(connection, chat.key, chat.to_item())
            _put(connection, member.key, member.to_item(chat))
            for message in messages:
                _put(connection, message.key, message.to_item())
            made = indexing.passages(IndexTarget(chat, agent.id, member), {}, messages)
            for passages in made.values():
                for passage in passages:
                    _put(connection, passage.key, passage.to_item())
                    ref = PostingRef(chat.id, passage.seq, passage.created_at)
                    for stem in passage.posted:
                        words[PostingKey(chat.tenant, agent.id, passage.scope, stem)].add(ref)
        for word, refs in words.items():
            posting = posting_after(word, None, RefChange(added=refs), now)
            if posting is not None:
                _put(connection, posting.key, posting.to_item())
        for name in connection.execute("SELECT DISTINCT partition, model FROM vectors").fetchall():
            connection.execute(MARK_CHANGED, name)


def _put(connection: sqlite3.Connection, key: Key, item: Item) -> None:
    """Write a new item. Its vector is written only to the index, where searches find it."""
    whole = {**item, "pk": key.pk, "sk": key.sk}
    vector = whole.pop(VECTORS.vector, None)
    stored = marshal_item(whole)
    connection.execute(PUT, [*columns_of(stored), item_size(stored), to_text(stored)])
    if vector is not None:
        row = (whole[name] for name in (VECTORS.author, VECTORS.month))
        place = (whole[VECTORS.partition], whole[VECTORS.model], key.pk, key.sk)
        connection.execute(ADD, [*place, *row, array("f", vector).tobytes()])
