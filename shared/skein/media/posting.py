"""What an upload by an app and a copy by an agent share: a message that takes files with it."""

from datetime import timedelta
from typing import NamedTuple

from skein.services.chats.post_message import ExtraWrites, NewMessage

UNUSED_FOR = timedelta(days=1)  # after which a file that no message has is deleted


class PostWithMedia(NamedTuple):
    """A message with the files that it names, and the writes that put them into it."""

    new: NewMessage
    writes: ExtraWrites
