"""Files of a message on their way to a phone: carried, shrunk or linked, and counted."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from skein.errors import Ambiguous
from skein.models.chats.media import MediaFile
from skein.models.common.storage import Delete
from skein.models.delivery.delivery import Delivery
from skein.models.outbox.jobs import DeliveryJob
from skein.services.delivery.attachments import FILE_WAIT, LINKED, NOT_SENT
from skein.services.delivery.media_links import OpenedLinks
from skein.settings import Settings
from tests.fakes.sms import Fault
from tests.support.builders import bot, person
from tests.support.media import PNG, posted, stored
from tests.support.sms import ROUTE, Texting

KB = 1024


def job_in(world: Texting) -> DeliveryJob:
    job = world.queues.ready("deliveries")[-1]
    assert isinstance(job, DeliveryJob)
    return job


def delivered(world: Texting, *files: MediaFile, text: str = "Look!") -> Delivery:
    posted(world, text, *files)
    return world.deliver(job_in(world))


def content_at(world: Texting, url: str | None) -> bytes:
    """Return what the link of a message leads to."""
    assert url is not None
    token = urlsplit(url).path.rpartition("/")[2]
    address = world.app.get(OpenedLinks).open(token)
    return world.files.download(address)[2]


@pytest.mark.parametrize(
    ("fields", "carried", "content"),
    [
        ({}, True, PNG),
        ({"content_type": "image/jpeg", "size": 600 * KB}, True, PNG),
        ({"size": 601 * KB, "small_size": 5}, True, b"small"),
        ({"size": 601 * KB}, False, PNG),
        ({"content_type": "application/pdf"}, False, PNG),
    ],
)
def test_sms_carries_a_picture_or_a_smaller_copy_and_links_the_rest(
    fields: dict[str, Any], carried: bool, content: bytes
) -> None:
    world = Texting()
    file = stored(world, **fields)
    delivery = delivered(world, file)
    sent = [sms for sms, _ in world.sms.taken]
    if carried:
        [sms] = sent
        assert (sms.body, sms.link) == ("Look!", None)
        assert content_at(world, sms.media_url) == content
        assert [part.segments for part in delivery.parts] == [3]
    else:
        text, sms = sent
        assert (text.body, text.media_url, text.link) == ("Look!", None, None)
        assert (sms.body, sms.media_url) == (LINKED[file.is_image], None)
        assert content_at(world, sms.link) == content
    assert delivery.status == "sent"


def test_mms_does_not_go_to_another_country() -> None:
    world = Texting(settings=Settings(answered_countries=("US", "DE")))
    route = ROUTE.model_copy(
        update={"person": ROUTE.person.model_copy(update={"address": "+4915123456789"})}
    )
    world.chat(person(), bot(), kind="direct", visibility="private", route=route)
    delivered(world, stored(world))
    assert [sms.media_url for sms, _ in world.sms.taken] == [None, None]


def test_mms_is_counted_and_priced_by_its_own_name() -> None:
    world = Texting()
    delivered(world, stored(world), stored(world, "med_2", size=700 * KB))
    items = world.table.all_items().items()
    [counter] = [item for key, item in items if "texts#mms" in item and "USER" in key.sk]
    named = {name: counter[name] for name in counter if name.startswith(("texts#", "units#"))}
    assert named == {"texts#mms": 1, "units#mms": 1, "texts#sms": 1, "units#sms": 2}


def test_delivery_waits_for_a_file_and_then_goes_without_it() -> None:
    world = Texting()
    file = stored(world, state="pending")
    assert delivered(world, file).parts == ()
    world.clock.advance(FILE_WAIT.total_seconds())
    world.deliver(job_in(world))
    assert world.sms.bodies == ["Look!", NOT_SENT[True]]


def test_file_that_becomes_ready_in_time_is_sent() -> None:
    world = Texting()
    file = stored(world, state="pending")
    delivered(world, file)
    stored(world, seq=1)
    world.clock.advance(2)
    world.deliver(job_in(world))
    assert [sms.media_url is not None for sms, _ in world.sms.taken] == [True]


def test_file_that_is_gone_before_its_retry_is_not_sent() -> None:
    world = Texting()
    file = stored(world)
    posted(world, "Look!", file)
    world.sms.plan(Fault(Ambiguous("lost")))
    job = job_in(world)
    world.deliver(job)
    world.table.write(Delete(file.key))
    world.later(job, minutes=5)
    assert [(sms.body, sms.media_url) for sms, _ in world.sms.taken] == [("Look!", None)]


@pytest.mark.parametrize("as_link", [False, True])
@pytest.mark.parametrize("after_effect", [True, False])
def test_file_with_an_unknown_outcome_is_sent_once(after_effect: bool, as_link: bool) -> None:
    world = Texting()
    file = stored(world, size=700 * KB if as_link else 1)
    posted(world, "Look!", file)
    world.sms.plan(*[None] * as_link, Fault(Ambiguous("lost"), after_effect=after_effect))
    job = job_in(world)
    world.deliver(job)
    delivery = world.later(job, minutes=2)
    assert len(world.sms.taken) == 1 + as_link
    assert delivery.status == "sent"
    assert content_at(world, world.sms.taken[-1][0].link or world.sms.taken[-1][0].media_url) == PNG
