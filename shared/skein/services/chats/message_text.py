"""What a message may say."""

from skein.errors import Unprocessable
from skein.models.chat import MAX_TEXT


def check_text(text: str, client_id: str, *, has_media: bool) -> None:
    """Let pass only what can be stored and shown.

    Raises:
        Unprocessable: The text is empty, too long or not Unicode.
    """
    if not text.strip() and not has_media:
        raise Unprocessable("a message needs text or media")
    if len(text) > MAX_TEXT:
        raise Unprocessable(f"a message holds at most {MAX_TEXT:,} characters")
    try:
        f"{text}{client_id}".encode()
    except UnicodeEncodeError:
        raise Unprocessable("the text is not valid Unicode") from None
