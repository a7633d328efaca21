"""Messages reach the index of recall through the stack's own feed, queue and worker."""

from pathlib import Path

from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from skein.recall.models.stored import Posting, RecallPassage
from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.e2e.talking import group, say


def indexed(data_dir: Path) -> tuple[list[int], set[str]]:
    """The messages and the rare words in the index."""
    database = Database(data_dir / "skein.db")
    items = SqliteTable(database).all_items()
    found = [RecallPassage.from_item(item) for item in items.values() if "recall_scope" in item]
    words = {
        Posting.from_item(item).stem for key, item in items.items() if key.pk.endswith("#WORDS")
    }
    database.close()
    return [passage.seq for passage in found], words


def test_message_is_indexed_soon_and_discarded_chat_is_not(
    start: StartStack, tmp_path: Path
) -> None:
    client: Client = start()
    chat, _ = group(client)
    say(client, chat, "Room 4711")
    say(client, chat, "The room is 4712")
    client.drain()
    assert indexed(tmp_path / "data") == ([1, 2], {"4711", "4712"})
    admin = client.token("ops", "admin")
    client.ok("POST", "/v1/recall/rebuild", {}, token=admin)
    client.drain()
    assert indexed(tmp_path / "data") == ([1, 2], {"4711", "4712"})
    client.ok("DELETE", f"/v1/chats/{chat}", token=client.token("usr_husam"))
    client.drain()
    assert indexed(tmp_path / "data") == ([], set())
