"""The story of one text, from phone to phone, and what must be true once it is over."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from types import ModuleType
from typing import Any

import sms_webhook
import tick
import upkeep_worker
from skein.adapters.twilio.signature import TwilioSignature
from skein.models.common.address import phone_address
from skein.models.common.storage import Query
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.runs.step import Step
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets
from tests.faults.deployment import Deployment
from tests.faults.sweeps import Sweep
from tests.support.builders import LINE, PHONE, TENANT, bot, person
from tests.support.fakes import ScriptedModel
from tests.support.scripted_twilio import ACCOUNT
from tests.support.webhooks import SETTINGS, Webhook

TEXT = Webhook.recorded("sms_webhook")
# Consolidation has its own tests; here, each story would last 30 minutes longer.
SMS_SETTINGS = SETTINGS.model_copy(update={"consolidate": False})
COACH = bot()


class SmsLine(Deployment):
    """A deployment with an agent on a line, whose model never gives the same answer twice."""

    def __init__(self, settings: Settings = SMS_SETTINGS) -> None:
        verifier = TwilioSignature(MemorySecrets({"twilio": ACCOUNT}), SETTINGS)
        super().__init__(settings, ScriptedModel(), {"verifier": verifier})
        self.model.default = lambda _: f"Answer {len(self.model.requests)}"
        self.agent()
        self.line()
        self.earlier = 0

    def tell(self, webhook: Webhook = TEXT) -> None:
        """Somebody texts, and time passes until nothing is left to be done."""
        self.webhook(sms_webhook, webhook.signed())
        self.live()

    @property
    def chat_id(self) -> str | None:
        """The chat of the one phone that texts here, if there is one yet."""
        item = self.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
        return AddressChat.from_item(item).chat_id if item else None

    def steps(self) -> list[Step]:
        """The answers of the model that were recorded."""
        assert self.chat_id is not None
        page = self.table.query(Query.under(f"{TENANT}#CHAT#{self.chat_id}", "RUN#"))
        return [Step.from_item(item) for item in page.items if "#STEP#" in item["sk"]]

    def check(self, *, lost_answers: int = 0) -> None:
        """One text came in and one answer went out, and everything is in order.

        Args:
            lost_answers: How many answers of the model may have been lost before they were
                recorded.
        """
        chat_id = self.chat_id
        assert chat_id is not None
        item = self.table.get(AddressOwner.key_of(TENANT, phone_address(PHONE)))
        assert item is not None
        user = person(AddressOwner.from_item(item).user_id)
        kinds = [sk for pk, sk in self.table.all_keys() if f"{TENANT}#CHAT#" in pk]
        assert kinds.count("META") == 1, "there are two chats"

        asked, answer = self.messages(chat_id)[self.earlier :]
        assert (asked.sender.ref, asked.text) == (user.ref, "Good morning, coach! ")
        step = self.steps()[-1]
        assert (answer.sender.ref, answer.text) == (COACH.ref, step.text)
        assert self.sms.bodies[self.earlier // 2 :] == [step.text]
        assert len(self.model.requests) <= len(self.steps()) + lost_answers

        runs = self.runs(chat_id)
        assert len(runs) == len(self.steps()) == len(self.deliveries(chat_id)) == answer.seq // 2
        assert (runs[-1].status, runs[-1].usage, runs[-1].steps_taken) == ("done", step.usage, 1)
        assert self.deliveries(chat_id)[-1].status == "sent"
        membership = self.membership(COACH, chat_id)
        assert membership.summary is None  # no other chat can show it
        assert (membership.running_run, membership.queued_run, membership.wait) == (
            None,
            None,
            None,
        )
        mine = self.membership(user, chat_id)
        assert (membership.seen_seq, mine.seen_seq) == (asked.seq, asked.seq)
        chat = self.stored_chat(chat_id)
        assert (chat.last_seq, chat.activity_hour) == (answer.seq, _hour(asked.created_at))
        assert (self.table.get(mine.key) or {}).items() >= mine.relation(
            chat, chat.activity_hour
        ).items()
        assert self.at_rest


def first_sms() -> SmsLine:
    """Nobody has texted here before."""
    return SmsLine()


def known_phone() -> SmsLine:
    """There is a chat already, from an hour before, so that its lists have to be brought up."""
    world = SmsLine()
    world.tell(TEXT.but(MessageSid="SM" + "0" * 32))
    world.clock.advance(3600)
    world.fuse.disarm()
    world.earlier = 2
    return world


def lost_jobs() -> SmsLine:
    """Whatever the tick does not send, or upkeep at its call, gets lost on its way to a queue."""
    world = SmsLine()

    def lose(function: ModuleType, _answer: Any) -> None:
        if function not in {tick, upkeep_worker}:
            world.queues._waiting.clear()

    world.watchers.append(lose)
    return world


Story = Callable[[], SmsLine]
STORIES: tuple[Story, ...] = (first_sms, known_phone, lost_jobs)


@cache
def sweep(story: Story) -> Sweep[SmsLine]:
    """Return the sweep of a story; all tests of the story share its recorded calls."""
    return Sweep(
        story,
        play=lambda world: world.tell(),
        check=lambda world: world.check(lost_answers=world.deaths),
    )


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
