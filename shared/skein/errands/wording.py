"""The words of the texts to people who are asked, and of the question that orders them."""

from collections.abc import Sequence

from skein.errors import Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.choice import MAX_QUESTION
from skein.models.chats.names import plain_name
from skein.models.common.base import NamedMember
from skein.services.choices.wording import called_in, destination_in, enumerated, readers_of
from skein.services.common.quoting import in_quotes


def text_of_errand(words: str, asker: NamedMember, chat: Chat) -> str:
    """Return the text to a person of whom somebody asks something: `Alice asks: "When?"`.

    From a group, it names who will read the answer.

    Args:
        words: The words of the question.
        asker: Who asks.
        chat: The chat that is told the answer.
    """
    where = f' for "{destination_in(chat).title}" ({readers_of(chat, asker.id)})'
    who = called_in(asker, chat)
    return f"{who} asks{where if chat.kind == 'group' else ''}: {in_quotes(words)}"


def question_to_ask(text: str, asked: Sequence[NamedMember]) -> str:
    """Return the question whether to ask people: `Ask Sarah? Alice asks: "When?" Yes sends ...`.

    Args:
        text: The text, as the people get it.
        asked: The people.

    Raises:
        Unprocessable: The question is too long, because it names too many people.
    """
    names = enumerated([plain_name(each) for each in asked])
    question = f"Ask {names}? {text} Yes sends exactly this."
    if len(question) > MAX_QUESTION:
        raise Unprocessable("these are too many words and people for one question")
    return question
