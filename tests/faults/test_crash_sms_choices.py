"""A question by SMS and its answer, with a death at every call: one SMS, one answer, one run."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import sms_webhook
from skein.models.chats.choice import YES, Destination, Proposal
from skein.models.chats.consent import ConsentData
from skein.models.visibility.audience import Audience
from skein.prompts import render
from skein.services.chat_state.person_choices import read_choices
from skein.services.choices.asking import Asking, NewChoice
from tests.faults.deployment import every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import COACH, TEXT, SmsLine
from tests.support.builders import LINE, TENANT
from tests.support.choices import YES_NO

OTHER_LINE = "+15005550007"
LATE = "Alice is late"
CODE = re.compile(r"Yes: reply ([0-9]{6})")


class Asked(SmsLine):
    """Somebody has texted, was answered, and is then asked by SMS.

    Attributes:
        body: The SMS with which the person answers.
        line: The line that it goes to.
    """

    def __init__(self, **asked: Any) -> None:
        super().__init__()
        self.send("Hello", 1)
        self.live()
        assert self.chat_id is not None
        self.user_id = self.messages(self.chat_id)[0].sender.id
        self.before = len(self.messages(self.chat_id))
        question = NewChoice(
            tenant=TENANT,
            chat_id=self.chat_id,
            agent=COACH.ref,
            client_id="ask",
            addressee=self.user_id,
            question="Shall I book it?",
            options=YES_NO,
            **asked,
        )
        alice = self.messages(self.chat_id)[0].sender
        self.chat(alice, COACH, chat_id="chat_team", title="Team", respond="mention")
        self.app.get(Asking).ask(question)
        self.body, self.line_to = "{}", LINE
        self.fuse.disarm()

    def send(self, body: str, number: int, line: str = LINE) -> None:
        webhook = TEXT.but(MessageSid=f"SM{number:032d}", Body=body, To=line)
        self.webhook(sms_webhook, webhook.signed())

    def play(self) -> None:
        """The question goes out, and the person answers it."""
        self.live()
        codes = {code for body in self.sms.bodies for code in CODE.findall(body)}
        assert len(codes) == 1, "the question shows the same numbers, however often it is sent"
        self.send(self.body.format(codes.pop()), 2, self.line_to)
        self.live()

    @property
    def said(self) -> list[tuple[str, str, str]]:
        messages = self.messages(str(self.chat_id))[self.before :]
        return [(message.sender.kind, message.kind, message.text) for message in messages]

    def check_answered(self) -> None:
        question, answer, reply = self.messages(str(self.chat_id))[self.before :]
        assert question.choice is not None
        assert question.choice.answer is not None
        assert (question.choice.answer.option, question.choice.answer.seq) == (YES, answer.seq)
        assert (answer.text, answer.reply_to) == ("Yes", question.seq)
        assert reply.sender.kind == "agent"
        assert reply.kind == "text"
        choices = read_choices(self.table, TENANT, self.user_id, self.clock.now())
        assert (choices.open, choices.wrong_codes, len(choices.over)) == ((), 0, 2)
        assert len(self.runs(str(self.chat_id))) == 2
        assert len(self.sms.bodies) == 3
        assert self.at_rest

    def check_posted(self) -> None:
        question, answer = self.messages(str(self.chat_id))[self.before :]
        assert question.choice is not None
        assert question.choice.answer is not None
        assert (answer.kind, answer.text) == ("keyword", "Yes")
        [post] = self.messages("chat_team")
        assert (post.text, post.sender.id) == (LATE, self.user_id)
        assert len(self.runs(str(self.chat_id))) == 1
        assert self.at_rest

    def check_refused(self) -> None:
        wrong, notice = render("notice_wrong_code"), ("agent", "notice")
        _question, sent, told = self.said
        assert sent == ("user", "keyword", self.body)
        assert told == (*notice, wrong)
        choices = read_choices(self.table, TENANT, self.user_id, self.clock.now())
        assert (len(choices.open), choices.wrong_codes) == (1, 1)
        assert len(self.runs(str(self.chat_id))) == 1
        assert len(self.sms.bodies) == 3
        assert self.at_rest


def by_number() -> Asked:
    """The person answers on the line of the question."""
    return Asked()


def on_another_line() -> Asked:
    """The person answers on the line of another agent, to whom they never wrote."""
    world = Asked()
    world.agent("agt_b", "Banker")
    world.line("agt_b", OTHER_LINE)
    world.line_to = OTHER_LINE
    return world


def by_wrong_number() -> Asked:
    """The person mistypes the number."""
    world = Asked()
    world.body = "100000"
    return world


def by_yes() -> Asked:
    """The person agrees to words that are posted elsewhere."""
    team = Destination(chat_id="chat_team", title="Team", readers=Audience(open=True))
    words = Proposal(agent_id=COACH.id, text=LATE, destinations=(team,))
    return Asked(purpose="consent", data=ConsentData(proposal=words).attributes())


Story = Callable[[], Asked]
CHECKS: dict[Story, Callable[[Asked], None]] = {
    by_number: Asked.check_answered,
    on_another_line: Asked.check_answered,
    by_wrong_number: Asked.check_refused,
    by_yes: Asked.check_posted,
}


@cache
def sweep(story: Story) -> Sweep[Asked]:
    """Return the sweep of a story; all tests of the story share its recorded calls."""
    return Sweep(story, play=Asked.play, check=CHECKS[story])


@pytest.mark.parametrize("story", CHECKS)
def test_choice_by_sms_death_answers_once(story: Story, share: FaultShare) -> None:
    sweep(story).one_death(share, of=every_death)
