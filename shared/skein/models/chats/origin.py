"""The request behind a message that an agent posted in another chat."""

from skein.models.common.base import Identifier, MemberRef, Value
from skein.models.visibility.audience import Audience


class Origin(Value):
    """The request that made an agent post a message in another chat.

    Attributes:
        chat_id: The chat in which the agent was asked.
        chat_title: The title of that chat at the time.
        asked_by: The name of the member who asked, at the time.
        asker: The member who asked.
        text: The request, at most 200 characters.
        audience: The audience of the request, which decides who may see this origin.
    """

    chat_id: Identifier
    chat_title: str
    asked_by: str
    asker: MemberRef
    text: str
    audience: Audience
