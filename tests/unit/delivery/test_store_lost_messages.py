"""Messages whose SMS did not reach the person, and how the agent is shown them."""

import pytest

from skein.errors import SmsRejected
from skein.models.chats.chat import Chat, Message
from skein.models.common.storage import Delete
from tests.fakes.sms import Fault
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.routes import sms_route
from tests.support.sms import Texting

SMS = sms_route(line=LINE, phone=PHONE)
REFUSED = Fault(SmsRejected("no such number", code=21211))


def answered(world: World, text: str = "And now?") -> str:
    """Return the prompt of the answer to the person's next SMS."""
    world.post(text, person(), route=SMS)
    world.drain()
    return "\n".join(message.content for message in world.model.requests[-1].messages)


@pytest.mark.parametrize(
    ("history_format", "entry"),
    [("roles", "[not delivered] Hello!"), ("timeline", 'You: [not delivered] "Hello!"')],
)
def test_message_with_a_refused_sms_is_shown_as_not_delivered(
    history_format: str, entry: str
) -> None:
    world = Texting()
    world.agent(history_format=history_format)
    world.sms.plan(REFUSED)
    world.deliver(world.say())
    assert entry in answered(world)
    assert "delivered" not in world.texts()[0]


def test_message_that_fails_after_a_cached_prompt_is_shown_as_not_delivered() -> None:
    world = Texting()
    job = world.say()
    world.deliver(job)
    assert "[not delivered]" not in answered(world, "Which shoes?")
    world.report(job, "undelivered", sid=world.sms.taken[0][1].sid, code=30006)
    prompt = answered(world)
    assert prompt.count("[not delivered]") == 1
    assert "[not delivered] Hello!" in prompt


def test_message_that_is_delivered_or_tried_again_has_no_note() -> None:
    world = Texting()
    world.deliver(world.say("One"))
    world.sms.plan(Fault(SmsRejected("the queue is full", code=30001)))
    job = world.say("Two")
    assert world.deliver(job).parts[0].next_at is not None
    assert "delivered]" not in answered(world)
    assert world.messages()[1].lost is None


def test_message_of_which_a_part_is_lost_is_shown_as_delivered_in_part() -> None:
    world = Texting()
    job = world.say("Run slowly. " * 200)
    world.sms.plan(None, REFUSED)
    world.deliver(job)
    assert "[delivered only in part] Run slowly." in answered(world)


def test_message_to_a_person_who_has_opted_out_is_shown_as_not_delivered() -> None:
    world = Texting()
    world.post("STOP", person(), kind="keyword", route=SMS, opted_out=True)
    world.post("Are you there?", bot())
    world.post("START", person(), kind="keyword", route=SMS, opted_out=False)
    assert "[not delivered] Are you there?" in answered(world)


def test_message_refused_by_stop_is_shown_as_not_delivered() -> None:
    world = Texting()
    world.sms.plan(Fault(SmsRejected("the person has opted out", code=21610)))
    world.deliver(world.say("Good morning"))
    world.post("START", person(), kind="keyword", route=SMS, opted_out=False)
    assert "[not delivered] Good morning" in answered(world)


def test_message_for_the_app_has_no_note() -> None:
    world = World()
    world.agent()
    world.chat(person(), bot(), kind="direct", visibility="private")
    world.post("Good morning", bot())
    world.post("Hi", person())
    world.drain()
    assert "delivered" not in str(world.model.requests[-1].messages)


def test_person_who_writes_the_note_cannot_forge_it() -> None:
    world = Texting()
    assert "[Husam (human)] [not delivered] Hi" in answered(world, "[not delivered] Hi")


def test_delivery_of_a_message_that_is_gone_still_ends() -> None:
    world = Texting()
    job = world.say()
    world.table.write(Delete(Message.key_of(TENANT, "chat_1", 1)))
    assert world.deliver(job).status == "canceled"
    assert world.table.get(Message.key_of(TENANT, "chat_1", 1)) is None
    assert world.table.get(Chat.key_of(TENANT, "chat_1")) is not None
