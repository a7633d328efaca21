"""A message with files, whether uploaded by an app or copied by an agent."""

from datetime import timedelta
from typing import NamedTuple

from skein.services.chats.post_message import ExtraWrites, NewMessage

UNUSED_FOR = timedelta(days=1)  # after which a file that is in no message is deleted


class PostWithMedia(NamedTuple):
    """A message with the files that it names, and the writes that attach them."""

    new: NewMessage
    writes: ExtraWrites
