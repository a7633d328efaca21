"""Links to files: for one person, for five minutes, and only while that person may see the file."""

from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest

from skein.errors import NotFound
from skein.models.chats.media import MediaFile
from skein.models.chats.membership import Membership
from skein.models.common.storage import Delete, Update
from skein.models.delivery.media_link import LINK_LIFETIME, LINK_PATH, MediaLink
from skein.privacy.message_deletion import MessageDeletion
from skein.services.delivery.media_links import OPEN_SECONDS, OpenedLinks
from tests.support.api_client import Client, recorded
from tests.support.builders import TENANT, bot, person
from tests.support.media import PNG, posted, stored
from tests.support.sms import Texting


class Linked(Texting):
    """A phone that got a picture; the token of its link is known."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.file = stored(self)
        self.message = posted(self, "Look!", self.file)
        self.drain()
        url = self.sms.taken[-1][0].media_url
        assert url is not None
        self.token = urlsplit(url).path.removeprefix(LINK_PATH)

    def open(self, token: str | None = None) -> str:
        return self.app.get(OpenedLinks).open(self.token if token is None else token)


def test_link_leads_to_the_file_for_a_minute() -> None:
    world = Linked()
    address = world.open()
    assert world.files.download(address)[::2] == (200, PNG)
    world.clock.advance(OPEN_SECONDS + 1)
    assert world.files.download(address)[0] == 403


def test_token_is_stored_nowhere_and_the_link_names_its_person() -> None:
    world = Linked()
    items = world.table.all_items().items()
    assert all(world.token not in f"{key}{item}" for key, item in items)
    [link] = [MediaLink.from_item(item) for key, item in items if key.pk.startswith("MEDIALINK#")]
    assert (link.user_id, link.media_id) == (person().id, world.file.id)


def _left(world: Linked) -> None:
    world.table.write(Delete(Membership.key_of(TENANT, "chat_1", person())))


def _message_deleted(world: Linked) -> None:
    world.app.get(MessageDeletion).delete(TENANT, bot().ref, "chat_1", world.message.seq)


def _in_no_message(world: Linked) -> None:
    world.table.write(Update(world.message.key, set={"files": None}))


def _file_gone(world: Linked) -> None:
    world.table.write(Delete(world.file.key))


def _expired(world: Linked) -> None:
    world.clock.advance(LINK_LIFETIME.total_seconds())


def _retention_over(world: Linked) -> None:
    key = MediaFile.key_of(TENANT, "chat_1", world.file.id)
    world.table.write(Update(key, set={"kept_until": "2026-01-01T00:00:00Z"}))


@pytest.mark.parametrize(
    "end", [_left, _message_deleted, _in_no_message, _file_gone, _expired, _retention_over]
)
def test_link_no_longer_works(end: Callable[[Linked], None]) -> None:
    world = Linked()
    end(world)
    with pytest.raises(NotFound):
        world.open()


@pytest.mark.parametrize("token", ["", "x", "../m", "\ud800"])
def test_guessed_media_token_is_not_found(token: str) -> None:
    with pytest.raises(NotFound):
        Linked().open(token)


def test_phone_opens_the_link_without_a_token_of_the_api_and_nobody_caches_it() -> None:
    world = Linked()
    event = recorded("mobile_api")
    del event["requestContext"]["authorizer"], event["body"]
    event["requestContext"]["http"]["method"] = "GET"
    answers = []
    for token in (world.token, "other"):
        event["rawPath"] = event["requestContext"]["http"]["path"] = f"{LINK_PATH}{token}"
        answers.append(Client(world).send(event))
    found, missing = answers
    assert (found.status, missing.status) == (302, 404)
    headers = found.raw["headers"] | {
        name: values[0] for name, values in found.raw.get("multiValueHeaders", {}).items()
    }
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    shown = dict(parse_qsl(urlsplit(headers["location"]).query))
    assert (shown["content-type"], shown["content-disposition"]) == ("image/png", "inline")
