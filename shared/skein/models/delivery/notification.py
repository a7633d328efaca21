"""Notifications to phones, as they are passed to a push provider."""

from typing import Literal, NamedTuple

Platform = Literal["apns", "fcm"]


class Notification(NamedTuple):
    """A notification about a chat, without any text of the chat.

    Attributes:
        text: What the phone shows, such as "Coach answered".
        chat_id: The chat that the app opens.
        collapse_key: Notifications with the same key replace each other on the phone.
    """

    text: str
    chat_id: str
    collapse_key: str
