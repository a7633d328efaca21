"""A person who is asked by SMS, and who answers with the numbers of the SMS."""

import re
from copy import copy
from functools import cache
from typing import Any

import sms_webhook
from skein.models.chats.chat import Message
from skein.models.chats.choice import Choice
from skein.models.chats.person_choices import PersonChoices
from skein.models.common.address import phone_address
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.runs.run import Run
from skein.services.chat_state.person_choices import read_choices
from skein.services.choices.asking import Asking, NewChoice
from tests.support.builders import LINE, PHONE, TENANT, World, bot
from tests.support.choices import YES_NO
from tests.support.webhooks import Webhook, invoke, signed_world

SMS = Webhook.recorded("sms_webhook")
REPLY = re.compile(r"(?:(?:^|\. |\n)([^.\n]*?): r|R)eply ([0-9]{6})")
WORDS = ""  # the label of the code of an answer in words


class Phone:
    """A person's phone, who has texted a line once.

    Attributes:
        world: The world, whose jobs were all played.
        chat_id: The chat of the phone and the line.
    """

    def __init__(self, world: World | None = None) -> None:
        self.world = world or signed_world()
        self._texts = 0
        self.text("Hi")
        self.chat_id = self.chat_on(LINE)
        item = self.world.table.get(AddressOwner.key_of(TENANT, phone_address(PHONE)))
        assert item is not None
        self.user_id = AddressOwner.from_item(item).user_id

    def chat_on(self, line: str) -> str:
        """The chat of the phone and a line."""
        key = AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(line))
        item = self.world.table.get(key)
        assert item is not None
        return AddressChat.from_item(item).chat_id

    def text(self, body: str, *, sid: int | None = None, **fields: str) -> str:
        """Send an SMS, play all jobs, and return the id of the SMS.

        Args:
            sid: The number of an earlier SMS, which is delivered again; None for a new SMS.
        """
        self._texts += sid is None
        message_sid = f"SM{sid or self._texts:032d}"
        event = SMS.but(MessageSid=message_sid, Body=body, **fields).signed()
        answer = invoke(sms_webhook, self.world, event)
        assert (answer["statusCode"], answer["body"]) == (200, "<Response/>")
        self.world.drain()
        return message_sid

    @property
    def newest(self) -> int:
        """The number of the newest SMS."""
        return self._texts

    def ask(self, *, client_id: str = "ask", deliver: bool = True, **fields: Any) -> dict[str, str]:
        """Ask whether to book; returns the code of each label, as the SMS shows them."""
        given: dict[str, Any] = {
            "tenant": TENANT,
            "chat_id": self.chat_id,
            "agent": bot().ref,
            "client_id": client_id,
            "addressee": self.user_id,
            "question": "Shall I book it?",
            "options": YES_NO,
        }
        self.world.app.get(Asking).ask(NewChoice(**(given | fields)))
        if not deliver:
            return {}
        self.world.drain()
        return dict(REPLY.findall(self.world.sms.bodies[-1]))

    @property
    def choices(self) -> PersonChoices:
        return read_choices(self.world.table, TENANT, self.user_id, self.world.clock.now())

    @property
    def messages(self) -> list[Message]:
        return self.world.messages(self.chat_id)

    @property
    def runs(self) -> list[Run]:
        return self.world.runs(self.chat_id)

    @property
    def asked(self) -> Choice:
        """The newest choice of the chat."""
        return [message.choice for message in self.messages if message.choice is not None][-1]

    def said(self, since: int) -> list[tuple[str, str]]:
        """The kinds and texts of the chat's messages after a number."""
        return [(message.kind, message.text) for message in self.messages[since:]]


def ready_phone() -> Phone:
    """A phone with a world of its own, which is copied, as it takes long to make."""
    phone = copy(_first())
    phone.world = signed_world().continue_from(phone.world)
    return phone


@cache
def _first() -> Phone:
    return Phone()
