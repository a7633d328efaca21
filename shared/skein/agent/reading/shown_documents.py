"""A document as a reading holds it for the prompt."""

from typing import NamedTuple

from skein.models.document import Document


class OnShow(NamedTuple):
    """A document in a prompt.

    Attributes:
        document: None where there is none of this name any more.
        of_chat: The active chat owns it.
    """

    name: str
    document: Document | None
    of_chat: bool = False
