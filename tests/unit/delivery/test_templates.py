"""WhatsApp's window, templates and quick replies, from the sender's side."""

from typing import Any

import pytest

from skein.channels.whatsapp import MAX_ANSWER, WINDOW_CLOSED
from skein.errors import SmsRejected, Unprocessable
from skein.models.chats.choice import Option
from skein.models.common.reason import Reason
from skein.models.config.overrides import TenantOverridesChange
from skein.models.config.templates import MAX_BODY, MessageTemplate
from skein.models.delivery.delivery import Delivery
from skein.models.delivery.sms import InboundSms, OutgoingSms
from skein.models.visibility.ownership import Owner
from skein.services.choices.asking import Asking, NewChoice
from skein.services.config.tenant_settings import TenantSettingsService
from skein.services.delivery.state import MORE_HINT
from tests.fakes.sms import Fault
from tests.support.builders import LINE, PHONE, TENANT, World, bot
from tests.support.fakes import ScriptedModel
from tests.support.media import posted, stored

HX = "HX" + "0" * 31
NOTE = MessageTemplate(content_sid=HX + "1", text="A note from Coach: {{1}} Bye!", approved=True)
BARE = MessageTemplate(content_sid=HX + "2", text="Coach has a message for you.", approved=True)
TWO = MessageTemplate(content_sid=HX + "3", text="{{1}}", buttons=2)
DAY = 24 * 3600


class Whatsapp(World):
    """A person who writes to a line by WhatsApp and by SMS."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.line(channels=("sms", "whatsapp"))

    def templates(self, *templates: MessageTemplate) -> None:
        change = TenantOverridesChange(message_templates=templates)
        TenantSettingsService(table=self.table, clock=self.clock).change(TENANT, change)

    def receive(self, body: str, channel: str = "whatsapp", **more: Any) -> str:
        sms = InboundSms(
            channel=channel,
            account_sid="AC1",
            message_sid=f"SM{self.ids.ulid()}",
            sender=PHONE,
            recipient=LINE,
            body=body,
            **more,
        )
        posted = self.app.sms_receiver.receive(sms)
        assert posted is not None
        self.drain()
        return posted.message.chat_id

    def say_later(self, chat_id: str, text: str, seconds: int = DAY) -> Delivery:
        """Let time pass, and let the agent say something."""
        self.clock.advance(seconds)
        self.post(text, bot(), chat_id=chat_id)
        self.drain()
        return self.deliveries(chat_id)[-1]

    def ask(self, chat_id: str, *labels: str) -> None:
        user = self.deliveries(chat_id)[0].user_id
        self.app.get(Asking).ask(
            NewChoice(
                tenant=TENANT,
                chat_id=chat_id,
                agent=bot().ref,
                client_id="ask",
                addressee=user,
                question="Shall we run\non Sunday?",
                options=tuple(Option(id=f"o{n}", label=each) for n, each in enumerate(labels)),
            )
        )
        self.drain()

    @property
    def sent(self) -> list[OutgoingSms]:
        return [sms for sms, _ in self.sms.taken]


@pytest.fixture
def world() -> Whatsapp:
    return Whatsapp(model=ScriptedModel.saying(default=lambda _: "Hello!"))


def test_the_answer_goes_where_the_person_wrote_last(world: Whatsapp) -> None:
    chats = {world.receive("Hi", channel) for channel in ("sms", "whatsapp", "sms")}
    assert len(chats) == 1
    assert [sms.channel for sms in world.sent] == ["sms", "whatsapp", "sms"]


def test_inside_the_window_any_text_is_sent(world: Whatsapp) -> None:
    world.templates(NOTE)
    chat = world.receive("Hi")
    delivery = world.say_later(chat, "How was the run?", DAY - 60)
    assert (world.sent[-1].body, world.sent[-1].content) == ("How was the run?", None)
    assert delivery.status == "sent"


def test_each_file_is_a_message_of_its_own_and_documents_have_no_text(world: Whatsapp) -> None:
    chat = world.receive("Hi")
    pdf = stored(world, "med_0", chat_id=chat, content_type="application/pdf")
    pictures = [stored(world, f"med_{n}", chat_id=chat) for n in (1, 2)]
    posted(world, "Look!", pdf, *pictures, chat_id=chat)
    world.drain()
    sent = [(sms.body, sms.media_url is not None) for sms in world.sent[1:]]
    assert sent == [("Look!", True), ("", True), ("", True)]


def test_outside_the_window_a_reply_of_more_gets_the_files(world: Whatsapp) -> None:
    world.templates(NOTE)
    chat = world.receive("Hi")
    world.clock.advance(DAY)
    posted(world, "Look!", stored(world, chat_id=chat), chat_id=chat)
    world.drain()
    [content] = [sms.content for sms in world.sent if sms.content is not None]
    assert content.variables == {"1": f"Look! {MORE_HINT}"}
    world.receive("MORE")
    assert [sms.media_url is not None for sms in world.sent[1:]] == [False, True]


def test_outside_the_window_a_text_is_sent_by_the_first_approved_template(world: Whatsapp) -> None:
    world.templates(TWO, NOTE.model_copy(update={"approved": False}), NOTE, BARE)
    chat = world.receive("Hi")
    world.say_later(chat, "How was\n\nthe run?")
    content = world.sent[-1].content
    assert content is not None
    assert (content.sid, content.variables) == (NOTE.content_sid, {"1": "How was the run?"})
    assert world.sent[-1].body == "A note from Coach: How was the run? Bye!"


def test_plan_names_the_template_of_its_answer(world: Whatsapp) -> None:
    other = NOTE.model_copy(update={"content_sid": HX + "4", "text": "Your plan: {{1}} Bye!"})
    world.templates(NOTE, TWO, other)
    chat_id = world.receive("Hi")
    owner = Owner(tenant=TENANT, agent_id="agt_a", source_chat_id=chat_id, by_operator=True)
    for unfit in (TWO.content_sid, HX + "9"):
        with pytest.raises(Unprocessable):
            world.app.plans.set(owner, "Run", "Ask.", run_after="1 day", template=unfit)
    world.app.plans.set(owner, "Run", "Ask.", run_after="1 day", template=other.content_sid)

    world.clock.advance(DAY)
    world.tick()
    world.drain()

    content = world.sent[-1].content
    assert content is not None
    assert content.sid == other.content_sid


def test_outside_the_window_without_a_template_nothing_is_sent(world: Whatsapp) -> None:
    world.templates(TWO)
    chat = world.receive("Hi")
    delivery = world.say_later(chat, "How was the run?")
    assert (delivery.status, delivery.reason) == ("canceled", Reason.WINDOW_CLOSED)
    assert len(world.sent) == 1


def test_sms_is_sent_outside_the_whatsapp_window(world: Whatsapp) -> None:
    chat = world.receive("Hi", "sms")
    assert world.say_later(chat, "How was the run?").status == "sent"


@pytest.mark.parametrize("template", [NOTE, BARE])
def test_more_gets_the_rest_of_a_text_that_a_template_cannot_hold(
    world: Whatsapp, template: MessageTemplate
) -> None:
    world.templates(template)
    text = " ".join(f"Sentence {n} of the plan ends here." for n in range(60))
    chat = world.receive("Hi")
    world.say_later(chat, text)
    first = world.sent[-1]
    assert len(first.body) <= MAX_BODY
    assert (MORE_HINT in first.body) == (template is NOTE)
    world.receive("MORE")
    rest = [sms for sms in world.sent if sms not in (world.sent[0], first)]
    assert all(sms.content is None for sms in rest)
    said = first.body.removeprefix("A note from Coach: ").partition(f" {MORE_HINT}")[0]
    words = ([said] if template is NOTE else []) + [sms.body for sms in rest]
    assert " ".join(words).split() == text.split()


def test_after_error_63016_the_text_is_sent_by_a_template(world: Whatsapp) -> None:
    world.templates(NOTE)
    chat = world.receive("Hi")
    world.sms.plan(Fault(SmsRejected("closed", code=WINDOW_CLOSED)))
    delivery = world.say_later(chat, "How was the run?", 60)
    assert (delivery.status, delivery.reason) == ("sending", Reason.WINDOW_CLOSED)
    world.clock.advance(120)
    world.tick()
    world.drain()
    assert world.sent[-1].content is not None
    assert world.deliveries(chat)[-1].status == "sent"


def test_after_error_63016_without_a_template_the_delivery_ends(world: Whatsapp) -> None:
    chat = world.receive("Hi")
    world.sms.plan(Fault(SmsRejected("closed", code=WINDOW_CLOSED)))
    world.say_later(chat, "How was the run?", 60)
    world.clock.advance(120)
    world.tick()
    world.drain()
    delivery = world.deliveries(chat)[-1]
    assert (delivery.status, delivery.reason) == ("canceled", Reason.WINDOW_CLOSED)


def test_a_choice_has_quick_replies_whose_taps_answer_it(world: Whatsapp) -> None:
    world.templates(TWO)
    chat = world.receive("Hi")
    world.ask(chat, "Yes", "No, thanks")
    content = world.sent[-1].content
    assert content is not None
    yes, no = content.variables.pop("4"), content.variables.pop("5")
    assert content.variables == {"1": "Shall we run on Sunday?", "2": "Yes", "3": "No, thanks"}
    assert yes not in world.sent[-1].body
    assert all(yes not in text for text in world.deliveries(chat)[-1].texts)
    world.receive("No, thanks", button=no)
    answered = [each for each in world.messages(chat) if each.answers is not None]
    assert [each.text for each in answered] == ["No, thanks"]
    world.receive("Yes", button=yes)
    assert len([each for each in world.messages(chat) if each.answers is not None]) == 1


@pytest.mark.parametrize("labels", [("Yes", "No", "Later"), ("Yes", "No, not before the summer")])
def test_a_choice_without_a_fitting_template_has_codes(
    world: Whatsapp, labels: tuple[str, ...]
) -> None:
    world.templates(TWO)
    chat = world.receive("Hi")
    world.ask(chat, *labels)
    assert world.sent[-1].content is None
    assert "Yes: reply " in world.sent[-1].body


def test_a_long_answer_is_cut_by_characters(world: Whatsapp) -> None:
    world.model.default = lambda _: "A word. " * 1_000
    chat = world.receive("Hi")
    bodies = [sms.body for sms in world.sent]
    assert max(map(len, bodies)) <= 1_600
    assert len(bodies) == 3
    assert sum(map(len, bodies)) <= MAX_ANSWER
    assert bodies[-1].endswith(MORE_HINT)
    assert {part.segments for part in world.deliveries(chat)[-1].parts} == {1}


def test_the_message_of_a_plan_goes_out_by_a_template(world: Whatsapp) -> None:
    world.templates(NOTE)
    chat = world.receive("Hi")
    owner = Owner(tenant=TENANT, agent_id="agt_a", source_chat_id=chat, by_operator=True)
    world.app.plans.set(owner, "Check", "Ask how it goes", run_after="2 days")
    world.clock.advance(2 * DAY + 60)
    world.tick()
    world.drain()
    assert [sms.body for sms in world.sent] == ["Hello!", "A note from Coach: Hello! Bye!"]
