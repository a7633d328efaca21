"""Compose the content of a delivery: text parts, a template, or a question with codes."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from skein.models.chats.chat import Message
from skein.models.chats.membership import Membership
from skein.models.chats.person_choices import OpenChoice
from skein.models.config.templates import MessageTemplate
from skein.models.delivery.delivery import Delivery, DeliveryPart
from skein.models.delivery.sms import OutgoingSms
from skein.ports import Table
from skein.services.chat_state.person_choices import open_choice, read_choices
from skein.services.delivery.attachments import files_of, with_files
from skein.services.delivery.cancellations import (
    CHOICE_OVER,
    DELETED,
    WINDOW_OVER,
    Cancellation,
)
from skein.services.delivery.choice_text import choice_text
from skein.services.delivery.media_links import link_base
from skein.services.delivery.state import first_parts, parts_of
from skein.services.delivery.templates import (
    TemplatedText,
    by_template,
    is_closed,
    outside_window,
    with_buttons,
)
from skein.settings import Settings


class DeliveryText(NamedTuple):
    """The content of a delivery.

    Attributes:
        parts: The parts of the message. The first attempt splits the message, and later attempts
            keep the parts.
        rest_at: The position in the cleaned text where the unsent rest begins, which is sent only
            if the person asks for it; None if the whole text is sent.
        has_codes: Whether the parts contain the codes of a choice.
        templated: The approved template to send instead of `parts`; None if `parts` are sent.
        waits: Whether a file of the message is not ready yet.
        refusal: Why nothing may be sent; None if sending is allowed.
    """

    parts: tuple[DeliveryPart, ...] = ()
    rest_at: int | None = None
    has_codes: bool = False
    templated: TemplatedText | None = None
    refusal: Cancellation | None = None
    waits: bool = False

    def applied_to(self, delivery: Delivery) -> Delivery:
        """Return a delivery with this content; parts that the delivery already has are kept."""
        composed = delivery.model_copy(
            update={
                "parts": self.parts if delivery.has_files else delivery.parts or self.parts,
                "rest_at": delivery.rest_at if delivery.parts else self.rest_at,
                "has_files": False,
                "has_codes": delivery.has_codes or self.has_codes,
            }
        )
        return by_template(composed, self.templated) if self.templated is not None else composed


def compose(
    table: Table,
    delivery: Delivery,
    message: Message | None,
    membership: Membership | None,
    *,
    settings: Settings | None,
    templates: Sequence[MessageTemplate],
    now: datetime,
) -> DeliveryText:
    """Return the content to send now for a delivery.

    Args:
        table: The table, from which the person's open choices are read.
        message: The message to deliver; None if it was deleted.
        membership: The recipient's membership; None if the recipient is not a member.
        settings: The settings of the chat, which limit the length of a text; None if the chat was
            deleted.
        templates: The tenant's templates.
    """
    if message is not None and message.kind == "deleted":
        return DeliveryText(refusal=DELETED)
    text, listed = message.as_delivered if message is not None else "", None
    choice = message.choice if message is not None else None
    if message is not None and choice is not None:
        choices = read_choices(table, delivery.tenant, delivery.user_id, now)
        listed = open_choice(choices, delivery.chat_id, delivery.seq)
        if listed is None:
            return DeliveryText(refusal=CHOICE_OVER)
        text = message.introduced(choice_text(choice, listed)) if listed.codes else text
    closed = False
    if delivery.channel.window is not None:
        window_open = membership is None or membership.window_open(delivery.channel, now)
        closed = is_closed(delivery, window_open=window_open)
    chosen = message.template if message is not None else None
    templates = [each for each in templates if each.content_sid == chosen] or templates
    templated = _templated(delivery, message, text, listed, templates, closed=closed)
    parts, rest_at = _text_parts(delivery, text, settings, whole=choice is not None)
    refused = closed and templated is None and bool(parts)
    waits = False
    sends_files = message is not None and bool(message.media)
    sends_files = sends_files and (delivery.has_files or not delivery.parts)
    if message is not None and sends_files and templated is None and not refused:
        files = files_of(table, message)
        waits = any(file is not None and file.state == "pending" for file in files)
        parts = with_files(parts, files, delivery)
    return DeliveryText(
        parts,
        rest_at,
        has_codes=listed is not None and bool(listed.codes),
        templated=templated,
        refusal=WINDOW_OVER if refused else None,
        waits=waits,
    )


def _text_parts(
    delivery: Delivery, text: str, settings: Settings | None, *, whole: bool
) -> tuple[tuple[DeliveryPart, ...], int | None]:
    """Return the parts of a delivery's text, and where the unsent rest of the text begins.

    A delivery that already has parts keeps them. A delivery that sends the rest of a text got its
    parts when the person asked for the rest.

    Args:
        settings: The settings of the chat; None if the chat was deleted.
        whole: Whether the text must not be cut, for example because it is a question.
    """
    if delivery.parts or delivery.continues is not None:
        return delivery.parts, delivery.rest_at
    if settings is None or whole:
        return parts_of(text, delivery.channel), None
    return first_parts(text, delivery.channel, settings)


def _templated(
    delivery: Delivery,
    message: Message | None,
    text: str,
    listed: OpenChoice | None,
    templates: Sequence[MessageTemplate],
    *,
    closed: bool,
) -> TemplatedText | None:
    """Return the part that sends a delivery in a template; None if no template is used."""
    choice = message.choice if message is not None else None
    if choice is not None and listed is not None and (closed or not delivery.parts):
        asked = with_buttons(choice, listed, delivery.channel, templates, window_open=not closed)
        if asked is not None:
            return asked
    if not closed or not text:
        return None
    if delivery.continues is not None:  # the parts contain the text of the rest
        text = "\n".join(part.body for part in delivery.parts)
    more = message is not None and bool(message.media)
    return outside_window(text, templates, whole=choice is not None, more=more)


def sms_of_part(
    delivery: Delivery, index: int, settings: Settings, *, link: str | None = None
) -> OutgoingSms:
    """Build the SMS of one part, with a status callback that identifies delivery and part.

    Args:
        link: The link to the part's file. A look-up of a sent SMS passes no link, because the
            provider finds the SMS by its text.
    """
    part = delivery.parts[index]
    as_link = part.file is not None and part.file.as_link
    names = {
        "tenant": delivery.tenant,
        "chat": delivery.chat_id,
        "delivery": delivery.id,
        "part": index,
    }
    base = f"{settings.public_base_url.rstrip('/')}/webhooks/{delivery.channel.provider}"
    return OutgoingSms(
        channel=delivery.to.channel,
        content=part.content,
        line=delivery.to.line.address,
        phone=delivery.to.person.address,
        body=part.body,
        media_url=None if as_link else link,
        link=(link or link_base(settings)) if as_link else None,
        callback=f"{base}/status?{urlencode(names)}",
    )
