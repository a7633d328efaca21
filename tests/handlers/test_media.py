"""Uploads by an app, messages that have them, and links, through the gateway's event shapes."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from skein.models.chats.media import MediaFile
from skein.models.common.storage import Update
from tests.support.api_client import Client, operator
from tests.support.builders import World, bot, person
from tests.support.pictures import picture

HUSAM, AHMAD, EVE = person(), person("usr_ahmad", "Ahmad"), person("usr_eve", "Eve")
MESSAGES = "/v1/chats/chat_1/messages"
PICTURE = picture()
WHY = "A complaint about a picture"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(HUSAM, AHMAD, bot(), visibility="private")
    world.chat(EVE, bot(), chat_id="chat_2")
    return world


def announced(client: Client, content: bytes = PICTURE, **other: Any) -> Any:
    new = {
        "chat_id": "chat_1",
        "type": "image/jpeg",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return client.post("/v1/media", {**new, **other})


def uploaded(world: World, client: Client, content: bytes = PICTURE, **other: Any) -> str:
    begun = announced(client, content, **other)
    assert begun.status == 201
    assert world.files.upload(begun.body["url"], begun.body["headers"], content) == 200
    media_id: str = begun.body["id"]
    return media_id


def post(client: Client, *media: str, client_id: str = "1", **more: Any) -> Any:
    return client.post(MESSAGES, {"media": list(media), "client_id": client_id, **more})


def test_picture_of_an_app_is_posted_checked_and_shown(
    world: World, husam: Client, ahmad: Client
) -> None:
    media_id = uploaded(world, husam)
    posted = post(husam, media_id, text="My knee")
    assert posted.status == 201
    [shown] = posted.body["media"]
    assert (shown["id"], shown["type"], shown["state"]) == (media_id, "image/jpeg", "pending")
    assert ahmad.get(f"/v1/chats/chat_1/media/{media_id}").status == 409
    world.drain()
    [shown] = ahmad.get(MESSAGES).body["items"][0]["media"]
    assert (shown["state"], shown["width"], shown["height"]) == ("ready", 64, 48)
    link = ahmad.get(f"/v1/chats/chat_1/media/{media_id}")
    status, headers, content = world.files.download(link.body["url"])
    assert (status, headers["content-type"]) == (200, "image/jpeg")
    assert len(content) == shown["bytes"]
    world.clock.advance(301)
    assert world.files.download(link.body["url"])[0] == 403


def test_repeated_post_with_a_picture_returns_the_first(world: World, husam: Client) -> None:
    media_id = uploaded(world, husam)
    first = post(husam, media_id)
    for _ in range(2):
        again = post(husam, media_id)
        assert (again.status, again.body["seq"]) == (200, first.body["seq"])
        world.drain()
    assert post(husam, media_id, client_id="2").status == 422


@pytest.mark.parametrize(
    "case", ["not uploaded", "other bytes", "of another", "other chat", "unknown", "expired"]
)
def test_message_takes_only_what_its_sender_has_uploaded_for_the_chat(
    world: World, husam: Client, ahmad: Client, case: str
) -> None:
    media_id = "med_unknown" if case == "unknown" else announced(husam).body["id"]
    file = next((key for key in world.table.all_keys() if media_id in key.sk), None)
    if case == "other bytes":
        world.files.contents[f"incoming/acme/chat_1/{media_id}"] = b"x" * len(PICTURE)
    elif case not in {"unknown", "not uploaded"}:
        world.files.contents[f"incoming/acme/chat_1/{media_id}"] = PICTURE
    client = ahmad if case == "of another" else husam
    if case == "other chat":
        world.chat(HUSAM, bot(), chat_id="chat_3")
        refused = husam.post("/v1/chats/chat_3/messages", {"media": [media_id], "client_id": "1"})
    else:
        world.clock.advance(86_400 if case == "expired" else 0)
        refused = post(client, media_id)
    assert refused.status == 422
    assert husam.get(MESSAGES).body["items"] == []
    assert (file is None) == (case == "unknown")


def test_upload_that_no_message_has_is_deleted_after_a_day(world: World, husam: Client) -> None:
    uploaded(world, husam)
    world.clock.advance(86_401)
    world.tick()
    world.run_ready()
    assert world.files.contents == {}
    assert not [key for key in world.table.all_keys() if key.sk.startswith(MediaFile.PREFIX)]


@pytest.mark.parametrize(
    ("other", "status"),
    [
        ({"type": "image/svg+xml"}, 422),
        ({"type": "text/html"}, 422),
        ({"bytes": 5_000_001}, 422),
        ({"bytes": 0}, 422),
        ({"sha256": "abc"}, 422),
        ({"chat_id": "chat_2"}, 404),
    ],
)
def test_upload_of_another_kind_is_refused(
    world: World, husam: Client, other: dict[str, Any], status: int
) -> None:
    assert announced(husam, **other).status == status
    assert not [key for key in world.table.all_keys() if key.sk.startswith(MediaFile.PREFIX)]


def test_message_has_at_most_ten_files_each_once(world: World, husam: Client) -> None:
    ids = [announced(husam).body["id"] for _ in range(11)]
    assert post(husam, *ids).status == 422
    assert post(husam, ids[0], ids[0]).status == 422


def test_media_link_is_not_found_for_outsiders_and_after_deletion(
    world: World, husam: Client, ahmad: Client
) -> None:
    media_id = uploaded(world, husam)
    post(husam, media_id)
    world.drain()
    path = f"/v1/chats/chat_1/media/{media_id}"
    eve = Client(world, sub=EVE.id)
    assert eve.get(path).status == 404
    assert eve.get(f"/v1/chats/chat_2/media/{media_id}").status == 404
    assert ahmad.get(path).status == 200
    husam.delete(f"{MESSAGES}/1")
    assert ahmad.get(path).status == 404


def test_operator_gets_a_link_as_they_read_the_chat(world: World, husam: Client) -> None:
    media_id = uploaded(world, husam)
    post(husam, media_id)
    world.drain()
    path = f"/v1/transcripts/chat_1/media/{media_id}"
    assert replace(operator(world), scope="support").get(path, reason=WHY).status == 403
    link = replace(operator(world), scope="privacy").get(path, reason=WHY)
    assert world.files.download(link.body["url"])[0] == 200
    assert replace(operator(world), scope="privacy").get(path).status == 422


def test_picture_of_release_0_2_0_was_not_stored_and_is_not_shown(
    world: World, husam: Client
) -> None:
    husam.post(MESSAGES, {"text": "My knee", "client_id": "1"})
    old = [{"url": "https://api.twilio.com/ME1", "content_type": "image/jpeg"}]
    world.table.write(Update(world.messages()[0].key, set={"media": old}))
    assert world.messages()[0].media[0].content_type == "image/jpeg"
    assert husam.get(MESSAGES).body["items"][0]["media"] == []


def test_message_with_files_can_be_read_by_release_0_2_0(world: World, husam: Client) -> None:
    """That release wants a URL in `media`, and ignores attributes that it does not know."""
    post(husam, uploaded(world, husam))
    stored = world.table.get(world.messages()[0].key)
    assert stored is not None
    assert stored["media"] == []
    assert stored["files"]


def test_export_has_files_with_links(world: World, husam: Client) -> None:
    world.known(HUSAM)
    media_id = uploaded(world, husam)
    post(husam, media_id)
    world.drain()
    page = operator(world).get(f"/v1/users/{HUSAM.id}/export")
    [file] = page.body["files"]
    assert (file["id"], file["seq"]) == (media_id, 1)
    assert world.files.download(file["url"])[0] == 200
