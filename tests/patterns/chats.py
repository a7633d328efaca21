"""Messages in, and what people see of them."""

from contextlib import suppress

import pytest

from skein.errors import RateLimited
from skein.inbound.api import NewService
from skein.inbound.webhook_signature import sign
from skein.models.api.chats import ChatChange, NewChat
from skein.models.api.directory import AgentChange, NewUser, OwnChange, UserChange
from skein.models.chats.person_choices import MAX_OPEN
from skein.models.common.address import route_on
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import InvitationJob
from skein.services.chats.post_message import NewMessage
from skein.services.choices.answering import Answering
from skein.services.choices.open_choices import OpenChoices
from skein.workspace.models.document import DocumentReach, Folder
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import ANALYST, COACH, HUSAM, direct, group, threaded
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, person
from tests.support.choices import ask, given
from tests.support.first_contact import SARAH, contact, reachable, text_in
from tests.support.sms import Texting

patterns = Patterns()

AHMAD = person("usr_ahmad", "Ahmad")
SMS = route_on("sms", line=LINE, person=PHONE)


def text_message(sid: str = "SM1") -> InboundSms:
    return InboundSms(account_sid="AC1", message_sid=sid, sender=PHONE, recipient=LINE, body="Hi")


def on_a_line(*, known: bool) -> World:
    world = threaded()
    world.agent()
    world.line()
    if known:
        world.app.sms_receiver.receive(text_message(sid="SM0"))
        world.drain()
    return world


@patterns.named("post a message")
def _post(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.post("Hi", HUSAM)


@patterns.named("post a message in a direct chat")
def _post_in_a_direct_chat(meter: Meter) -> None:
    world = direct()
    with meter(world):
        world.post("Hi", HUSAM)


@patterns.named("post the first message of an hour")
def _post_in_a_new_hour(meter: Meter) -> None:
    world = group()
    world.clock.advance(3600)
    with meter(world):
        world.post("Hi", HUSAM)


@patterns.named("post a message again (same `client_id`)")
def _post_again(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM, client_id="1")
    with meter(world):
        world.post("Hi", HUSAM, client_id="1")


@patterns.named("post the answer to a person on SMS")
def _post_to_a_phone(meter: Meter) -> None:
    world = Texting()
    with meter(world):
        world.post("Hello!", COACH)


@patterns.named("receive an SMS from a known phone")
def _known_phone(meter: Meter) -> None:
    world = on_a_line(known=True)
    with meter(world):
        world.app.sms_receiver.receive(text_message())


@patterns.named("receive a first SMS")
def _first_contact(meter: Meter) -> None:
    world = on_a_line(known=False)
    with meter(world):
        world.app.sms_receiver.receive(text_message())


@patterns.named("receive a message of the app")
def _take_in_from_the_app(meter: Meter) -> None:
    world = direct()
    message = NewMessage(
        tenant=TENANT, chat_id="chat_1", sender=HUSAM.ref, text="Hi", client_id="1"
    )
    with meter(world):
        world.app.app_messages.post(message)


@patterns.named("charge a person's message to the limits")
def _admit(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.rate_limiter.admit(TENANT, HUSAM.id)


@patterns.named("refuse a person's message")
def _refuse(meter: Meter) -> None:
    world = group()
    for _ in range(world.settings.user_messages_per_minute):
        world.app.rate_limiter.admit(TENANT, HUSAM.id)
    with meter(world), pytest.raises(RateLimited):
        world.app.rate_limiter.admit(TENANT, HUSAM.id)


@patterns.named("receive the first SMS over a limit")
def _over_the_limit(meter: Meter) -> None:
    world = on_a_line(known=True)
    _use_up(world)
    with meter(world):
        world.app.sms_receiver.receive(text_message())


@patterns.named("receive another SMS over a limit")
def _detach(meter: Meter) -> None:
    world = on_a_line(known=True)
    _use_up(world)
    world.app.sms_receiver.receive(text_message(sid="SM2"))
    with meter(world):
        world.app.sms_receiver.receive(text_message())


def _use_up(world: World) -> None:
    """Let the person on the line have used all of a minute's messages."""
    [chat] = [key for key in world.table.all_keys() if key.sk.startswith("MEMBER#user#")]
    user_id = chat.sk.removeprefix("MEMBER#user#")
    with suppress(RateLimited):
        for _ in range(world.settings.user_messages_per_minute):
            world.app.rate_limiter.admit(TENANT, user_id)


@patterns.named("ask agents to respond now")
def _respond_now(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)


@patterns.named("receive a service's webhook")
def _service_webhook(meter: Meter) -> None:
    world = group()
    new = NewService(name="jira", agent_ids=("agt_a",))
    source = world.app.webhook_services.create(TENANT, new)
    sent_at = str(int(NOON.timestamp()))
    header = f"t={sent_at},v1={sign(source.secret, sent_at, b'{}')}"
    with meter(world):
        world.app.webhook_services.receive(source.id, b"{}", header)


@patterns.named("list a person's chats")
def _list_chats(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.views.chats(TENANT, HUSAM.id)


@patterns.named("read a chat")
def _read_chat(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.views.chat(TENANT, HUSAM.id, "chat_1")


@patterns.named("list a chat's members")
def _list_members(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.views.members(TENANT, HUSAM.id, "chat_1")


@patterns.named("read a page of messages")
def _read_messages(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    with meter(world):
        world.app.views.messages(TENANT, HUSAM.id, "chat_1")


@patterns.named("delete one's own message")
def _delete_message(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    with meter(world):
        world.app.message_deletion.delete(TENANT, HUSAM.ref, "chat_1", 1)


@patterns.named("set a read receipt")
def _receipt(meter: Meter) -> None:
    world = group()
    world.post("Hi", COACH)
    with meter(world):
        world.app.views.read(TENANT, HUSAM.id, "chat_1", 1)


@patterns.named("open a chat")
def _open_chat(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name=HUSAM.name))
    new = NewChat.model_validate({"kind": "group", "members": [COACH.ref.model_dump()]})
    with meter(world):
        world.app.chat_admin.create(TENANT, HUSAM, new)


@patterns.named("open a chat under a `client_id`")
def _open_chat_once(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name=HUSAM.name))
    new = NewChat.model_validate(
        {"kind": "group", "client_id": "mine", "members": [COACH.ref.model_dump()]}
    )
    with meter(world):
        world.app.chat_admin.create(TENANT, HUSAM, new)


@patterns.named("change a chat")
def _change_chat(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(title="Beta"))


@patterns.named("discard a chat")
def _discard(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)


@patterns.named("add a member")
def _let_in(meter: Meter) -> None:
    world = group()
    world.agent("agt_b", "Analyst")
    with meter(world):
        world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, ANALYST.ref)


@patterns.named("add a person who shares a chat with the caller")
def _let_in_an_acquaintance(meter: Meter) -> None:
    world = group()
    world.chat(HUSAM, AHMAD, chat_id="chat_2")
    world.known(AHMAD)
    with meter(world):
        world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)


@patterns.named("invite a person who shares no chat with the caller")
def _invite_a_stranger(meter: Meter) -> None:
    world = group()
    world.known(AHMAD)
    with meter(world):
        world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)


@patterns.named("ask an invited person by SMS")
def _ask_an_invited_person(meter: Meter) -> None:
    world = group()
    world.known(AHMAD)
    world.chat(AHMAD, COACH, chat_id="chat_2", kind="direct", visibility="private", route=SMS)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
    world.chat(HUSAM, AHMAD, chat_id="chat_3")
    with meter(world):
        world.app.invitation_texts.ask(InvitationJob(tenant=TENANT, user_id=AHMAD.id))


@patterns.named("announce an invitation of a stranger by SMS")
def _announce(meter: Meter) -> None:
    world = group()
    world.line()
    reachable(world)
    text_in(world, "START")
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, person(SARAH).ref)
    with meter(world):
        world.app.invitation_texts.ask(InvitationJob(tenant=TENANT, user_id=SARAH))
    assert "Somebody" in world.messages(contact(world).chat_id)[-1].text


@patterns.named("accept an invitation")
def _accept(meter: Meter) -> None:
    world = group()
    world.known(AHMAD)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
    with meter(world):
        world.app.invitations.answer(TENANT, "chat_1", AHMAD.ref, accept=True)


@patterns.named("list the invitations of a person")
def _list_invitations(meter: Meter) -> None:
    world = group()
    world.known(AHMAD)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
    with meter(world):
        world.app.get(OpenChoices).of(TENANT, AHMAD.id)


@patterns.named("change one's own record")
def _change_own_record(meter: Meter) -> None:
    world = group()
    world.known(HUSAM)
    with meter(world):
        world.app.users.change_own(TENANT, HUSAM, OwnChange(time_zone="Asia/Amman"))


@patterns.named("remove a member")
def _let_go(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)


@patterns.named("read an agent's membership of a chat")
def _look_at_place(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.pins.membership(TENANT, "chat_1", "agt_a")


@patterns.named("list the documents within an agent's reach")
def _list_within_reach(meter: Meter) -> None:
    world = group()
    folders = (
        Folder(tenant=TENANT, chat_id="chat_1"),
        Folder(tenant=TENANT, agent_id=COACH.id),
    )
    with meter(world):
        world.app.documents.shown(DocumentReach(folders=folders), limit=20)


@patterns.named("search the documents within an agent's reach")
def _search_within_reach(meter: Meter) -> None:
    world = group()
    folders = (
        Folder(tenant=TENANT, chat_id="chat_1"),
        Folder(tenant=TENANT, agent_id=COACH.id),
    )
    with meter(world):
        world.app.document_search.search(DocumentReach(folders=folders), "plan", limit=20)


@patterns.named("rename a person")
def _rename_person(meter: Meter) -> None:
    world = group()
    world.known(HUSAM)
    with meter(world):
        world.app.users.change(TENANT, HUSAM.id, UserChange(name="Sam"))


@patterns.named("rename an agent")
def _rename_agent(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.agents.change(TENANT, COACH.id, AgentChange(name="Trainer"))


@patterns.named("ask a person a choice")
def _ask_a_choice(meter: Meter) -> None:
    world = direct()
    with meter(world):
        ask(world)


@patterns.named("answer a choice in the app")
def _answer_a_choice(meter: Meter) -> None:
    world = direct()
    seq = ask(world).message.seq
    with meter(world):
        world.app.get(Answering).answer_in_app(given(seq))


@patterns.named("list a person's open choices")
def _list_open_choices(meter: Meter) -> None:
    world = direct()
    for n in range(MAX_OPEN):
        ask(world, client_id=f"ask-{n}")
    with meter(world):
        assert len(world.app.get(OpenChoices).of(TENANT, HUSAM.id)) == MAX_OPEN
