"""A number is linked and taken away while texts come from it, on Amazon's own engine."""

import random
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from skein.models.api.directory import NewUser
from skein.models.common.base import NamedMember
from skein.models.delivery.sms import InboundSms
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.services.chats.post_message import PostedMessage
from tests.support.builders import TENANT, live
from tests.support.number_codes import link_number
from tests.support.rivals import Rivals, at_once

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.engine


class Texters(Rivals):
    """Rivals on a line of their own, and Ann, who is on record."""

    def __init__(self, client: "DynamoDBClient") -> None:
        super().__init__(client)
        self.number = f"+1501{random.randrange(10**7):07d}"
        self.own_line = f"+1500{random.randrange(10**7):07d}"
        self.line(self.coach.id, self.own_line)
        self.ann = NamedMember(kind="user", id=f"usr_{uuid4().hex}", name="Ann")
        self.app.users.create(TENANT, NewUser(id=self.ann.id, name="Ann"))

    def text(self, sid: object) -> PostedMessage:
        sms = InboundSms(
            account_sid="AC1",
            message_sid=f"SM{self.number[1:]}{sid}",  # the tests share the table
            sender=self.number,
            recipient=self.own_line,
            body=f"Text {sid}",
        )
        posted = self.app.sms_receiver.receive(sms)
        assert posted is not None
        return posted

    def link(self) -> None:
        link_number(self, self.ann.id, self.number)

    def unlink(self) -> None:
        self.app.phone_links.unlink(TENANT, self.ann.id, self.number)


@pytest.fixture
def world(engine_client: "DynamoDBClient") -> Texters:
    return Texters(engine_client)


def test_texts_and_the_link_of_their_number_at_once_lose_and_double_nothing(world: Texters) -> None:
    first = world.text("first").message
    owner = Owner(
        tenant=TENANT,
        agent_id=world.coach.id,
        scope=f"user:{first.sender.id}",
        audience=Audience(open=False, people=(first.sender.id,)),
    )
    for n in range(3):
        world.app.goals.set(owner, f"Goal {n}")
    world.app.plans.set(owner, "nudge", "Nudge", run_after="1 hour")

    at_once(*[partial(world.text, n // 2) for n in range(12)], world.link)

    messages = world.messages(first.chat_id)
    assert [message.seq for message in messages] == list(range(1, 8))
    assert world.stored_chat(first.chat_id).roster == (world.ann, world.coach)
    assert {message.sender.id for message in messages} <= {first.sender.id, world.ann.id}
    assert world.text("last").message.sender == world.ann
    hers = owner.model_copy(
        update={
            "scope": f"user:{world.ann.id}",
            "audience": Audience(open=False, people=(world.ann.id,)),
        }
    )
    assert [goal.audience for goal in live(world.app.goals, hers.reach)] == [hers.audience] * 3
    assert [plan.audience for plan in live(world.app.plans, hers.reach)] == [hers.audience]


def test_sms_during_unlink_belongs_to_the_person_or_a_new_caller(world: Texters) -> None:
    world.link()
    hers = world.text("first").message.chat_id
    posted, _ = at_once(partial(world.text, "then"), world.unlink)
    assert world.membership(world.ann, hers).route is None
    stranger = world.text("later").message
    assert stranger.sender != world.ann
    assert posted is not None
    assert posted.message.chat_id in {hers, stranger.chat_id}
    assert (posted.message.sender == world.ann) == (posted.message.chat_id == hers)
