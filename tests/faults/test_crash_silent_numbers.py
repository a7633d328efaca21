"""A number after many silent days, with a death at every call: one question, and one answer."""

import re
from collections.abc import Callable
from functools import cache

import pytest

import sms_webhook
from skein.models.common.address import phone_address
from skein.models.directory.address_index import AddressOwner
from skein.services.chat_state.person_choices import read_choices
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import SMS_SETTINGS, TEXT, SmsLine
from tests.support.builders import PHONE, TENANT

DAY = 86_400
CODES = re.compile(r"(Yes|No): reply ([0-9]{6})")


class Silent(SmsLine):
    """Somebody has texted and was answered, and then nothing came for 34 days.

    Attributes:
        label: The answer to the question whose number this is.
    """

    label = "Yes"

    def __init__(self) -> None:
        super().__init__(SMS_SETTINGS.model_copy(update={"ask_after_silent_days": 30}))
        self.send("Hello", 1)
        self.live()
        self.first_chat = str(self.chat_id)
        self.former = self.owner.user_id
        self.clock.advance(34 * DAY)
        self.live()
        self.fuse.disarm()

    def send(self, body: str, number: int) -> None:
        webhook = TEXT.but(MessageSid=f"SM{number:032d}", Body=body)
        self.webhook(sms_webhook, webhook.signed())

    @property
    def owner(self) -> AddressOwner:
        item = self.table.get(AddressOwner.key_of(TENANT, phone_address(PHONE)))
        assert item is not None
        return AddressOwner.from_item(item)

    def play(self) -> None:
        """An SMS is asked about, answered, and followed by another."""
        self.send("Who are you?", 2)
        self.live()
        if not self.codes:  # the function died before the question, so the next SMS asks
            self.send("Hello?", 3)
            self.live()
        self.send(self.codes[self.label], 4)
        self.send("And now?", 5)
        self.live()

    @property
    def codes(self) -> dict[str, str]:
        return dict(code for body in self.sms.bodies for code in CODES.findall(body))

    def check(self, *, lost_answers: int = 0) -> None:
        told = self.messages(self.first_chat)
        assert len([each for each in told if each.kind == "choice"]) == 1
        assert [each.text for each in told if each.kind == "keyword"] == [self.label]
        assert read_choices(self.table, TENANT, self.former, self.clock.now()).open == ()
        assert self.owner.unproven is None
        assert not self.owner.reassigned
        assert (self.owner.user_id == self.former) == (self.label == "Yes")
        [newest] = [each for each in self.messages(str(self.chat_id)) if each.text == "And now?"]
        assert newest.sender.id == self.owner.user_id
        assert (self.chat_id == self.first_chat) == (self.label == "Yes")
        assert self.at_rest


class Lost(Silent):
    """The number is another person's now, who says so."""

    label = "No"


@cache
def sweep(story: Callable[[], Silent]) -> Sweep[Silent]:
    """Return the sweep of a story; all tests of the story share its recorded calls."""
    return Sweep(story, play=Silent.play, check=lambda world: world.check())


@pytest.mark.parametrize("story", [Silent, Lost])
def test_question_whose_number_this_is_death_asks_and_answers_once(
    story: Callable[[], Silent], share: FaultShare
) -> None:
    sweep(story).one_death(share)
