"""What every channel keeps to, by the same code: those of the product, and one of the tests."""

import json
from base64 import b64decode
from importlib import import_module
from itertools import permutations
from typing import Any
from urllib.parse import parse_qsl

import pytest

import sms_webhook
from skein.adapters.text_providers import TextProviders
from skein.channels import registry
from skein.channels.port import Channel
from skein.channels.registry import CHANNELS, channel_at, channel_named, reached_by_address
from skein.channels.sms import SMS
from skein.errors import Ambiguous, Unavailable
from skein.models.common.address import Address, Route, route_on
from skein.models.common.storage import Key, Put
from skein.models.delivery.delivery import Delivery, DeliveryPart
from skein.models.delivery.sms import InboundSms, StatusReport
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.line import Line
from skein.ports import Secrets, Sms
from skein.services.chats.post_message import PostedMessage
from skein.services.delivery.state import MORE_HINT, first_parts, parts_of
from skein.services.directory.assigned_numbers import AssignedNumbers
from skein.settings import Settings
from tests.fakes.sms import Fault, MemorySecrets
from tests.support.api_client import EVENTS, everything, operator, recorded
from tests.support.builders import NOON, TENANT, World
from tests.support.ends import Ends, ends_of
from tests.support.erasure import end
from tests.support.fakes import ScriptedModel
from tests.support.pager import PAGER
from tests.support.webhooks import invoke, signed_world
from webhooks.event import Webhook
from webhooks.providers import PROVIDERS, Provider

LONG = " ".join(f"Sentence {n} of the answer ends here." for n in range(400))


@pytest.fixture(autouse=True)
def _with_pagers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHANNELS, PAGER.name, PAGER)


@pytest.fixture(params=[*reached_by_address(), PAGER.name])
def channel(request: pytest.FixtureRequest) -> Channel:
    name: str = request.param
    return {**CHANNELS, PAGER.name: PAGER}[name]


class Reached(World):
    """A person who writes to an agent's line on one channel."""

    channel: Channel

    @classmethod
    def on(cls, channel: Channel, answer: str = "Hello!") -> "Reached":
        world = cls(model=ScriptedModel.saying(default=lambda _: answer))
        world.channel = channel
        world.agent()
        line = Line(
            tenant=TENANT,
            address=world.route.line,
            agent_id="agt_a",
            channels=tuple(reached_by_address()),
            created_at=NOON,
        )
        world.table.write(Put(line.key, line.to_item()))
        return world

    @property
    def ends(self) -> Ends:
        return ends_of(self.channel.kind)

    @property
    def route(self) -> Route:
        return route_on(self.channel.name, line=self.ends.line, person=self.ends.person)

    def send(
        self, body: str, sid: str | None = None, *, sender: str | None = None, name: str = ""
    ) -> PostedMessage | None:
        sms = InboundSms(
            channel=name or self.channel.name,
            account_sid="AC1",
            message_sid=sid or f"SM{self.ids.ulid()}",
            sender=sender or self.ends.person,
            recipient=self.ends.line,
            body=body,
        )
        posted = self.app.sms_receiver.receive(sms)
        self.drain()
        return posted

    def chat_of(self, body: str = "Hi", **more: str) -> str:
        posted = self.send(body, **more)
        assert posted is not None
        return posted.message.chat_id


def test_an_address_is_stored_in_one_form(channel: Channel) -> None:
    world = Reached.on(channel)
    assert channel.kind is not None
    chats = {world.chat_of(sender=each) for each in (world.ends.person, *world.ends.written)}
    assert len(chats) == 1
    stored = world.ends.person
    assert channel.kind.form.fullmatch(stored)
    assert channel.normalised(stored) == stored
    for wrong in world.ends.wrong:
        with pytest.raises(ValueError):  # noqa: PT011 - each library has words of its own
            channel.normalised(wrong)
    with pytest.raises(ValueError, match="pattern"):
        Address(kind=channel.kind.name, address=world.ends.wrong[0])


def test_a_prefix_leads_to_its_channel(channel: Channel) -> None:
    person = Reached.on(channel).ends.person
    assert channel_at(f"{channel.prefix}{person}") == (channel, person)


def test_a_long_answer_keeps_to_the_limits_and_loses_nothing(channel: Channel) -> None:
    settings, bodies, start = Settings(), list[str](), 0
    at: int | None = start
    while at is not None:
        parts, at = first_parts(LONG, channel, settings, at)
        assert parts
        assert parts == tuple(
            DeliveryPart(body=part.body, segments=channel.units(part.body)) for part in parts
        )
        said = " ".join(part.body for part in parts)
        bodies.append(said.replace(MORE_HINT, "") if at is not None else said)
    assert len(bodies) > 1
    assert "".join("".join(bodies).split()) == "".join(LONG.split())
    assert parts_of(" ", channel) == ()


def test_a_question_is_never_cut(channel: Channel) -> None:
    assert channel.objection("Shall we run?") is None
    assert "too long" in str(channel.objection(LONG))


def test_a_message_carries_files_within_the_limits_only(channel: Channel) -> None:
    ends = Reached.on(channel).ends
    most = channel.media_bytes
    sizes = [(kind, size) for kind in channel.media_types for size in (most, most + 1)]
    carried = [each for each in sizes if channel.carries(*each, ends.person, ends.line)]
    assert carried == [(kind, most) for kind in channel.media_types]
    assert not channel.carries("text/html", 1, ends.person, ends.line)


def test_mms_goes_to_no_other_countries() -> None:
    assert not SMS.carries("image/png", 1, "+4915123456789", "+15005550006")


def test_the_prompt_says_how_to_write_on_the_channel(channel: Channel) -> None:
    world = Reached.on(channel)
    world.send("Hi")
    prompt = world.model.requests[-1].messages[0].content or ""
    assert f"at most {channel.characters(Settings())} characters" in prompt


def test_a_stop_ends_messages_on_this_channel_alone(channel: Channel) -> None:
    world = Reached.on(channel)
    chat_id = world.chat_of()
    world.send("Stop!")
    sent = len(world.sms.taken)
    world.send("Are you there?")
    assert (len(world.sms.taken) == sent) == channel.opts_out
    for name, other in reached_by_address().items():
        if other.kind is channel.kind and other is not channel:
            world.send("Here, then", name=name)
            assert world.sms.taken[-1][0].channel == name
    world.send("START")
    world.send("And now?")
    assert world.sms.taken[-1][0].channel == channel.name
    assert {each.chat_id for each in world.messages(chat_id)} == {chat_id}


def test_states_in_any_order_end_with_the_last(channel: Channel) -> None:
    world = Reached.on(channel)
    chat_id = world.chat_of()
    [first] = world.deliveries(chat_id)
    for order in permutations((*channel.states, *channel.states[-1:])):
        world.table.write(Put(first.key, first.to_item(NOON)))
        for status in order:
            world.app.deliveries.report(
                StatusReport(
                    tenant=TENANT,
                    chat_id=chat_id,
                    delivery_id=first.id,
                    part=0,
                    sid=first.parts[0].sid or "",
                    status=status,
                )
            )
        assert world.deliveries(chat_id)[0].status == channel.states[-1]


def test_a_message_that_comes_twice_is_answered_once(channel: Channel) -> None:
    world = Reached.on(channel)
    first, second = world.send("Hi", "SM1"), world.send("Hi", "SM1")
    assert first is not None
    assert second is not None
    assert (first.created, second.created) == (True, False)
    assert [sms.body for sms, _ in world.sms.taken] == ["Hello!"]


@pytest.mark.parametrize("after_effect", [True, False])
def test_a_post_with_an_unknown_outcome_is_sent_once(channel: Channel, after_effect: bool) -> None:
    world = Reached.on(channel)
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=after_effect))
    chat_id = world.chat_of()
    for _ in range(3):
        world.clock.advance(90)
        world.tick()
        world.drain()
    assert [(sms.channel, sms.body) for sms, _ in world.sms.taken] == [(channel.name, "Hello!")]
    [delivery] = world.deliveries(chat_id)
    assert (delivery.status, delivery.parts[0].sid) == ("sent", world.sms.taken[0][1].sid)


def test_an_erased_address_is_nowhere_and_leads_to_a_new_person(channel: Channel) -> None:
    world = Reached.on(channel)
    world.send("My mango hurts")
    owner = AddressOwner.key_of(TENANT, world.route.person)
    erased = _user_of(world, owner)
    end(world, world.app.erasures.request(TENANT, erased, by="usr_op"))
    kept = json.dumps([[str(key), item] for key, item in everything(world).items()], default=str)
    assert world.ends.person not in kept
    assert "mango" not in kept
    world.send("Hi again")
    assert _user_of(world, owner) != erased


def _user_of(world: World, owner: Key) -> str:
    item = world.table.get(owner)
    assert item is not None
    return AddressOwner.from_item(item).user_id


def test_the_app_needs_no_address() -> None:
    app = channel_named(None)
    assert app.name == "app"
    assert app.kind is None
    assert app.parts("Hi") == ("Hi",)


def test_a_delivery_names_its_channel(channel: Channel) -> None:
    world = Reached.on(channel)
    [delivery] = world.deliveries(world.chat_of())
    assert isinstance(delivery, Delivery)
    assert delivery.channel is channel


def test_an_operator_connects_an_address_to_an_agent(channel: Channel) -> None:
    world, ends = World(), ends_of(channel.kind)
    agent, admin = world.agent(), operator(world)
    world.app.get(AssignedNumbers).assign(TENANT, ends.line)
    new = {"phone": ends.line.upper(), "agent_id": agent.id, "channels": [channel.name]}
    assert admin.post("/v1/lines", new).status == 201
    assert admin.get(f"/v1/lines/{ends.line}").body["channels"] == [channel.name]
    for wrong in ends.wrong:
        assert admin.post("/v1/lines", new | {"phone": wrong}).status == 422


# ---------------------------------------------------------------------- providers


@pytest.mark.parametrize("name", reached_by_address())
def test_the_provider_of_a_channel_sends_and_has_webhooks(name: str) -> None:
    """The routes of its webhooks are compared with the template in `test_template`."""
    provider = CHANNELS[name].provider
    module, _, sender = registry.PROVIDERS[provider].rpartition(".")
    assert functions_of(Sms) <= vars(getattr(import_module(module), sender)).keys()
    webhooks = PROVIDERS[provider]
    assert functions_of(Provider) <= vars(webhooks).keys()
    assert webhooks.NOTHING_TO_SAY["statusCode"] in {200, 204}


def test_a_message_goes_to_the_provider_of_its_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PAGER, "provider", "pages")
    monkeypatch.setitem(registry.PROVIDERS, "pages", f"{__name__}.Pages")
    texts = TextProviders(MemorySecrets({"t": {"account_sid": "AC1"}}), Settings(twilio_secret="t"))
    assert texts.has_number("pgr-006", "pager")
    with pytest.raises(Unavailable):
        texts.has_number("+15005550006", "sms")  # without the token of Twilio


class Pages:
    """A provider of pagers."""

    def __init__(self, secrets: Secrets, settings: Settings) -> None:
        assert secrets.get(settings.twilio_secret)

    def has_number(self, phone: str, channel: str) -> bool:
        return (phone, channel) == ("pgr-006", "pager")


@pytest.mark.parametrize("name", reached_by_address())
def test_a_recorded_webhook_of_a_channel_counts_with_its_signature_only(name: str) -> None:
    webhooks = PROVIDERS[CHANNELS[name].provider]
    events = [recorded(path.stem) for path in EVENTS.glob("sms_webhook*.json")]
    ours = [each for each in events if Webhook.of(each).provider == CHANNELS[name].provider]
    assert name in {webhooks.inbound_sms(fields_of(each)).channel for each in ours}
    for event in ours:
        assert invoke(sms_webhook, signed_world(), event)["statusCode"] == 403


def functions_of(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def fields_of(event: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the body of a recorded webhook: JSON, or a form."""
    body: str = event["body"]
    if event["isBase64Encoded"]:
        body = b64decode(body).decode()
    return dict(json.loads(body) if body.startswith("{") else parse_qsl(body))
