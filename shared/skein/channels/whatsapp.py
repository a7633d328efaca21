"""WhatsApp by Twilio: longer messages without segments, a window, templates and quick replies.

See https://www.twilio.com/docs/whatsapp/key-concepts and the limits of
https://www.twilio.com/docs/content/twilio-quick-reply.
"""

from collections.abc import Sequence
from datetime import timedelta

from skein.channels.port import ChannelSettings
from skein.channels.sms import PICTURES, STOPPED, TextChannel

ASKED_CHARACTERS = 1_000  # length of an answer that the prompt asks for
MAX_ANSWER = 4_096  # characters; MORE sends the rest
MAX_FILE = 5 * 1024 * 1024  # https://www.twilio.com/docs/whatsapp/guidance-whatsapp-media-messages
WINDOW_CLOSED = 63016  # https://www.twilio.com/docs/api/errors/63016


class WhatsappChannel(TextChannel):
    """WhatsApp, where any text may be sent within 24 hours of a person's last message."""

    name = "whatsapp"
    title = "WhatsApp"
    prefix = "whatsapp:"
    style = "instructions_whatsapp"
    unit = "message"
    media_types = (*PICTURES, "application/pdf")
    media_bytes = MAX_FILE
    states = ("queued", "sent", "delivered", "read")
    window = timedelta(hours=24)
    buttons = 3
    opted_out_errors = frozenset({STOPPED})
    closed_errors = frozenset({WINDOW_CLOSED})
    temporary_errors = frozenset(
        {
            20003,  # the credentials are wrong, for example during a rotation
            20429,  # too many requests
            63018,  # over the rate of the number
        }
    )

    def characters(self, settings: ChannelSettings) -> int:
        return ASKED_CHARACTERS

    def parts(self, text: str) -> tuple[str, ...]:
        """See `Channel`; Twilio takes at most 1,600 characters at once."""
        from skein.channels.segments import split_text  # noqa: PLC0415

        return split_text(text)

    def fitting(self, text: str, ending: str, settings: ChannelSettings) -> int:
        """See `Channel`; an answer has at most 4,096 characters."""
        from skein.channels.text_cuts import cut_position  # noqa: PLC0415

        if len(text) <= MAX_ANSWER:
            return len(text)
        return cut_position(text, MAX_ANSWER - len(ending) - 1)

    def objection(self, question: str) -> str | None:
        """See `Channel`; a question is one message."""
        if len(self.parts(question)) <= 1:
            return None
        return "the question is too long for one message of WhatsApp; shorten it"

    def confirms_stop(self, body: str, opt_out_type: str | None) -> bool:
        """Return whether Twilio confirms a STOP; for WhatsApp, only with Advanced Opt-Out."""
        return bool(opt_out_type)

    def may_answer(self, person: str, line: str, countries: Sequence[str]) -> bool:
        """See `Channel`; by default, a line answers all countries, since messages have no toll."""
        from skein.channels.phone_numbers import may_answer  # noqa: PLC0415

        return may_answer(person, countries)


WHATSAPP = WhatsappChannel()
