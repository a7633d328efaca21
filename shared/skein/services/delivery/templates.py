"""Send messages in templates: texts outside the window, and questions with quick replies.

The window is the time after a person's message in which a channel such as WhatsApp accepts free
text. Outside the window, the channel accepts only approved templates. A template is one of the
tenant's `message_templates`. The first template that fits is used.
"""

from collections.abc import Sequence
from typing import NamedTuple

from skein.channels.port import Channel
from skein.channels.segments import clean
from skein.channels.text_cuts import cut_position
from skein.models.chats.choice import QUESTION, Choice
from skein.models.chats.person_choices import OpenChoice
from skein.models.config.templates import VARIABLE, MessageTemplate, in_one_line
from skein.models.delivery.delivery import Delivery, DeliveryPart
from skein.models.delivery.sms import Content
from skein.services.delivery.state import MORE_HINT

MAX_BUTTON_TITLE = 20  # https://www.twilio.com/docs/content/twilio-quick-reply


class TemplatedText(NamedTuple):
    """The part that sends a text in a template.

    Attributes:
        rest_at: The position in the cleaned text where the unsent rest begins; None if the whole
            text is sent.
    """

    part: DeliveryPart
    rest_at: int | None = None


def is_closed(delivery: Delivery, *, window_open: bool) -> bool:
    """Return whether a delivery can only be sent in an approved template.

    This is the case in two situations: nothing was posted yet and the window is closed, or the
    provider has refused the first part because the window is closed.
    """
    if not delivery.parts:
        return not window_open
    first = delivery.parts[0]
    if first.content is not None or any(part.handed_over for part in delivery.parts):
        return False
    untried = first.tries == 0 and first.status == "pending"
    return first.error_code in delivery.channel.closed_errors or (untried and not window_open)


def outside_window(
    text: str, templates: Sequence[MessageTemplate], *, whole: bool, more: bool = False
) -> TemplatedText | None:
    """Return the part that sends a text outside the window; None if no template fits.

    A text that is too long for the template is cut, and the person gets the rest by replying MORE.

    Args:
        text: The text of the message.
        templates: The tenant's templates.
        whole: Whether the text must not be cut, for example because it is a question.
        more: Whether files follow after the text if the person replies MORE, because a template
            cannot contain files.
    """
    said = clean(text)
    for template in templates:
        if not template.approved or template.buttons:
            continue
        if VARIABLE not in template.text:
            if not whole:
                return TemplatedText(_part(template, template.text, {}), rest_at=0)
            continue
        line = in_one_line(said)
        if len(line) <= template.free_characters and not more:
            return TemplatedText(_part(template, template.body(line), {"1": line}))
        free = template.free_characters - len(MORE_HINT) - 1
        if not whole and free > 0:
            end = len(said) if len(line) <= free else cut_position(said, free)
            line = f"{in_one_line(said[:end])} {MORE_HINT}"
            return TemplatedText(_part(template, template.body(line), {"1": line}), rest_at=end)
    return None


def with_buttons(
    choice: Choice,
    listed: OpenChoice,
    channel: Channel,
    templates: Sequence[MessageTemplate],
    *,
    window_open: bool,
) -> TemplatedText | None:
    """Return the part that sends a question with quick replies; None if no template fits.

    The id of a quick reply is the code of its option, so tapping a quick reply works like sending
    the code.
    """
    options = [option for option in choice.options if option.id in listed.codes]
    titles = [option.label for option in options]
    question = in_one_line(channel.shown(choice.question) if choice.purpose == QUESTION else "")
    question = question or choice.question
    fits = 0 < len(options) <= channel.buttons and max(map(len, titles)) <= MAX_BUTTON_TITLE
    for template in templates if fits else ():
        usable = template.buttons == len(options) and (window_open or template.approved)
        if (
            not usable
            or len(question) > template.free_characters
            or question != in_one_line(question)
        ):
            continue
        variables = [question, *titles, *(listed.codes[option.id] for option in options)]
        numbered = {str(number): value for number, value in enumerate(variables, 1)}
        return TemplatedText(_part(template, template.body(question), numbered))
    return None


def by_template(delivery: Delivery, templated: TemplatedText) -> Delivery:
    """Return a delivery whose only part is the text in a template.

    The ids and tries of the first part are kept.
    """
    part = templated.part
    if delivery.parts:
        part = delivery.parts[0].model_copy(
            update={
                "body": part.body,
                "segments": part.segments,
                "content": part.content,
                "file": None,
            }
        )
    return delivery.model_copy(update={"parts": (part,), "rest_at": templated.rest_at})


def _part(template: MessageTemplate, body: str, variables: dict[str, str]) -> DeliveryPart:
    content = Content(sid=template.content_sid, variables=variables)
    return DeliveryPart(body=body, content=content, segments=1)
