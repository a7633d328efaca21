"""The change feed of a running stack: messages are indexed, and a kill loses no change."""

from pathlib import Path

from local.config import Config
from local.sqlite.engine import SqliteEngine
from skein.recall.models.stored import RecallPassage
from tests.e2e.client import Client
from tests.e2e.process import LocalProcess
from tests.e2e.watched import WatchedStack
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.template import deployed_template


def indexed(engine: SqliteEngine) -> list[int]:
    """The numbers of the messages that are in the index."""
    items = [item for item in engine.all_items() if RecallPassage.PREFIX.holds(item)]
    lines = map(RecallPassage.from_item, items)
    return sorted(line.seq for line in lines)


def test_drain_hands_all_changes_to_the_feed_and_indexes_the_messages(
    model: ScriptedOpenAI, tmp_path: Path
) -> None:
    config = Config(port=0, data_dir=tmp_path, openai_base_url=model.base_url)
    with WatchedStack(config, template=deployed_template()) as stack:
        client = Client(stack.url)
        client.drain()
        before = indexed(stack.engine)
        model.say("The plank.")
        client.text("What is a good exercise?")
        report = client.ok("POST", "/local/drain")
        assert client.texts() == ["The plank."]
        assert len(indexed(stack.engine)) == len(before) + 2
        assert "changes" not in {waiting["kind"] for waiting in report["waiting_for"]}
        assert stack.engine.dead_letters("FeedDeadLetters") == 0


def test_kill_after_a_post_loses_no_change(model: ScriptedOpenAI, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    environment = {"OPENAI_BASE_URL": model.base_url}
    process = LocalProcess(folder, environment=environment)
    try:
        client = Client(process.wait_until_ready())
        token = client.token("usr_ann")
        admin = client.token("ops", "admin")
        [agent] = client.ok("GET", "/v1/agents", token=admin)["items"]
        new = {
            "kind": "group",
            "title": "Us",
            "respond": "manual",
            "members": [{"kind": "agent", "id": agent["id"]}],
        }
        chat = client.ok("POST", "/v1/chats", new, token=token)["id"]
        client.drain()
        before = len(indexed(SqliteEngine(folder)))
        for number in range(5):
            said = {"text": f"Bring item {number}", "client_id": str(number)}
            client.ok("POST", f"/v1/chats/{chat}/messages", said, token=token)
    finally:
        process.kill()
    process = LocalProcess(folder, environment=environment)
    try:
        Client(process.wait_until_ready()).drain()
        assert len(indexed(SqliteEngine(folder))) == before + 5
    finally:
        process.kill()
