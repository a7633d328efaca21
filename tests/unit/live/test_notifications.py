"""Notifications: whose phones ring, when they are silent, and what they show."""

from typing import Any

import pytest

from skein.errors import Conflict, PushRefused, Unavailable, Unprocessable
from skein.live.devices import Devices
from skein.live.models.device import MAX_DEVICES, DeviceOwner, PersonDevices
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import LiveEvent, PushJob
from skein.services.chats.views import ChatViews
from skein.settings import Settings
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.live import connect

DANA, TOM, LENA = (person(f"usr_{name.lower()}", name) for name in ("Dana", "Tom", "Lena"))
COACH = bot()
SECRET = "The surprise is a trip to Oslo"
PUSH = Settings(apns_application_arn="apns", fcm_application_arn="fcm")


def token(name: str) -> str:
    return f"{name:_<16}"


def ring(world: World, *seqs: int, **event: Any) -> None:
    """Handle the push job of new messages, or of another event."""
    events = [LiveEvent(type="message", seq=seq) for seq in seqs]
    events += [LiveEvent(**event)] if event else []
    world.handle(PushJob(tenant=TENANT, chat_id="chat_1", events=tuple(events)))


def register(world: World, user_id: str, name: str) -> str:
    return world.app.get(Devices).register(TENANT, user_id, "fcm", token(name)).id


def addresses(world: World, user_id: str) -> list[str]:
    return [each.address for each in world.app.get(Devices).list(TENANT, user_id)]


@pytest.fixture
def world() -> World:
    """Dana has two phones, Tom has one, in a private group named after its secret."""
    made = World(settings=PUSH)
    made.agent()
    made.known(DANA, TOM, LENA)
    made.chat(DANA, TOM, COACH, respond="manual", visibility="private", title=SECRET)
    for user_id, name in ((DANA.id, "dana_one"), (DANA.id, "dana_two"), (TOM.id, "tom")):
        register(made, user_id, name)
    return made


def shown(world: World) -> dict[str, list[str]]:
    """The texts on all phones that rang."""
    return {
        address.split("/")[1].rstrip("_"): world.push.texts(address)
        for address in world.push.known
        if world.push.texts(address)
    }


def test_phones_of_all_others_ring_without_a_word_of_the_chat(world: World) -> None:
    world.post(SECRET, DANA)
    world.post(f"{SECRET}, indeed", COACH)
    ring(world, 1)
    assert shown(world) == {"tom": ["Dana wrote"]}
    ring(world, 2)
    assert shown(world) == {
        "dana_one": ["Coach answered"],
        "dana_two": ["Coach answered"],
        "tom": ["Dana wrote", "Coach answered"],
    }
    everything = repr(world.push.shown)
    assert not any(word in everything for word in SECRET.split() if len(word) > 3)
    keys = {notification.collapse_key for _, notification in world.push.shown}
    assert len(keys) == 1


def test_phone_rings_once_for_a_job_and_again_under_the_same_key_if_it_is_repeated(
    world: World,
) -> None:
    for text in ("One", "Two", "Three"):
        world.post(text, DANA)
    ring(world, 1, 2, 3)
    ring(world, 1, 2, 3)
    assert [each for each, _ in world.push.shown] == ["fcm/tom_____"] * 2
    assert len({notification.collapse_key for _, notification in world.push.shown}) == 1


def test_too_many_changes_ring_for_the_newest_message(world: World) -> None:
    world.post("Hello", DANA)
    ring(world, type="resync")
    assert shown(world) == {"tom": ["Dana wrote"]}


@pytest.mark.parametrize(
    ("shows", "gone", "rings"),
    [
        ("chat_1", False, False),
        ("chat_2", False, True),
        (None, False, True),
        ("chat_1", True, True),  # the client is gone, and the gateway has not said so yet
    ],
)
def test_phone_is_silent_while_a_live_connection_shows_the_chat(
    world: World, shows: str | None, gone: bool, rings: bool
) -> None:
    connect(world, TOM.id, "tom")
    chat_id = f'"{shows}"' if shows else "null"
    world.app.client_frames.receive("tom", f'{{"type": "showing", "chat_id": {chat_id}}}')
    if gone:
        world.sockets.gone.add("tom")
    world.post("Hello", DANA)
    ring(world, 1)
    assert shown(world) == ({"tom": ["Dana wrote"]} if rings else {})


def test_notification_is_not_sent_for_seen_or_unchanged_content(world: World) -> None:
    world.post("Hello", DANA)
    ring(world, type="chat")
    ring(world, type="changed", seq=1)
    world.app.get(ChatViews).read(TENANT, TOM.id, "chat_1", 1)
    ring(world, 1)
    world.post("Hello again", DANA)
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)
    ring(world, 2)
    assert shown(world) == {}


def test_phone_is_silent_if_the_answer_goes_by_sms() -> None:
    world = World(settings=PUSH)
    world.agent()
    world.line()
    sms = InboundSms(
        account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hello"
    )
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    chat_id = posted.message.chat_id
    register(world, posted.message.sender.id, "phone")
    world.post("Hi", COACH, chat_id=chat_id)
    event = LiveEvent(type="message", seq=2)
    world.handle(PushJob(tenant=TENANT, chat_id=chat_id, events=(event,)))
    assert shown(world) == {}


def test_device_that_is_gone_is_removed_and_the_others_ring(world: World) -> None:
    world.push.gone.add("fcm/dana_one")
    world.post("Hello", TOM)
    ring(world, 1)
    assert shown(world) == {"dana_two": ["Tom wrote"]}
    assert addresses(world, DANA.id) == ["fcm/dana_two"]
    assert "fcm/dana_one" not in world.push.known


def test_job_is_repeated_while_the_provider_is_down_and_not_if_it_refuses(world: World) -> None:
    world.post("Hello", DANA)
    world.push.failing = Unavailable("down")
    with pytest.raises(Unavailable):
        ring(world, 1)
    world.push.failing = PushRefused("no")
    ring(world, 1)
    assert world.metrics.counts["NotificationsLost"] == 1
    world.push.failing = None
    ring(world, 1)
    assert shown(world) == {"tom": ["Dana wrote"]}
    assert world.metrics.counts["NotificationsSent"] == 1


# ---------------------------------------------------------------------- devices


def test_same_token_is_the_same_device_and_the_oldest_goes_for_the_twenty_first(
    world: World,
) -> None:
    first = register(world, LENA.id, "lena_00")
    assert register(world, LENA.id, "lena_00") == first
    for number in range(1, MAX_DEVICES + 1):
        register(world, LENA.id, f"lena_{number:02}")
    kept = addresses(world, LENA.id)
    assert (len(kept), kept[0]) == (MAX_DEVICES, "fcm/lena_01_")
    assert "fcm/lena_00_" not in world.push.known


def test_device_registered_by_another_person_no_longer_notifies_the_first(world: World) -> None:
    register(world, LENA.id, "tom")
    assert addresses(world, TOM.id) == []
    world.post("Hello", DANA)
    ring(world, 1)
    assert shown(world) == {}


@pytest.mark.parametrize(
    ("settings", "platform", "text", "message"),
    [
        (Settings(), "fcm", token("a"), "sends no notifications by fcm"),
        (PUSH, "apns", token("a"), "64 to 200 hexadecimal digits"),
    ],
)
def test_device_is_refused_clearly(
    settings: Settings, platform: Any, text: str, message: str
) -> None:
    world = World(settings=settings)
    world.known(DANA)
    with pytest.raises(Unprocessable, match=message):
        world.app.get(Devices).register(TENANT, DANA.id, platform, text)
    assert world.push.known == {}


def test_refused_token_and_erased_person_register_nothing(world: World) -> None:
    world.push.failing = PushRefused("no")
    with pytest.raises(Unprocessable, match="refuses the token"):
        register(world, LENA.id, "lena")
    world.push.failing = None
    world.app.erasures.request(TENANT, LENA.id, by="usr_op")
    with pytest.raises(Conflict):
        register(world, LENA.id, "lena")


def test_erasure_removes_devices_here_and_at_the_provider(world: World) -> None:
    [device] = world.app.get(Devices).list(TENANT, TOM.id)
    world.app.erasures.request(TENANT, TOM.id, by="usr_op")
    world.drain()
    keys = [PersonDevices.key_of(TENANT, TOM.id), DeviceOwner.key_of(TENANT, device.id)]
    assert world.table.get_many(keys) == {}
    assert "fcm/tom_____" not in world.push.known
    assert len(addresses(world, DANA.id)) == 2


def test_merge_moves_devices(world: World) -> None:
    world.app.get(Devices).move(TENANT, TOM.id, DANA.id)
    assert (addresses(world, TOM.id), len(addresses(world, DANA.id))) == ([], 3)
    register(world, LENA.id, "tom")  # the owner has moved, too
    assert len(addresses(world, DANA.id)) == 2
