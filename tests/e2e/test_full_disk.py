"""A full disk: writes are refused with a clear answer, and nothing acknowledged is lost."""

from pathlib import Path

from local.config import Config
from local.sqlite.engine import SqliteEngine
from tests.e2e.client import Client
from tests.e2e.watched import WatchedStack
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.template import deployed_template

MESSAGES = 20  # fewer than a person may send in a minute


def test_full_disk_answers_503_and_work_continues_when_space_returns(
    model: ScriptedOpenAI, tmp_path: Path
) -> None:
    config = Config(port=0, data_dir=tmp_path, openai_base_url=model.base_url)
    with WatchedStack(config, template=deployed_template()) as stack:
        assert isinstance(stack.engine, SqliteEngine)
        database = stack.engine.database
        client = Client(stack.url)
        token = client.token("usr_ann")
        chat = client.ok("POST", "/v1/chats", {"kind": "group", "title": "Us"}, token=token)["id"]
        path = f"/v1/chats/{chat}/messages"

        database.limit(database.pages)
        kept, refused = [], None
        for number in range(MESSAGES):
            said = {"text": f"{number} " + "x" * 19_000, "client_id": str(number)}
            answer = client.call("POST", path, said, token=token)
            if answer.status != 201:
                refused = answer
                break
            kept.append(str(number))
        assert refused is not None
        assert refused.status == 503
        assert refused.json["code"] == "storage_full"
        client.ok("GET", path, token=token)

        database.limit(None)
        again = {"text": "There is space again", "client_id": str(len(kept))}
        client.ok("POST", path, again, token=token)
        model.say("Hello!")
        client.text("Hi")
        client.drain()
        assert client.texts() == ["Hello!"]

    with WatchedStack(config, template=deployed_template()) as stack:
        client = Client(stack.url)
        token = client.token("usr_ann")
        items = client.ok("GET", f"{path}?limit=100", token=token)["items"]
        assert [item["client_id"] for item in items] == [*kept, str(len(kept))]
