"""The words of Skein's own questions: what a person reads is exactly what they agree to.

Invisible characters are removed, and links are written out, so that no client shows less than it
posts. The question names the readers, numbered if their names look alike.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from skein.channels.plain_text import plain_text
from skein.channels.text_cuts import cut_text
from skein.errors import Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.choice import (
    MAX_PROPOSED,
    MAX_QUESTION,
    NO,
    YES,
    Destination,
    Invited,
    Option,
)
from skein.models.chats.names import numbered, numbers_of
from skein.models.common.address import Address
from skein.models.common.base import NamedMember
from skein.models.directory.address_index import caller_name
from skein.services.common.quoting import on_one_line

MAX_NAMED = 10  # readers of a chat; of more, the others are counted
MAX_TITLE = 60  # characters of a chat's title
EVERYBODY = "everybody in your organization"
NOBODY_ELSE = "only you"
YES_NO = (Option(id=YES, label="Yes"), Option(id=NO, label="No"))

# Printable characters of Unicode that show nothing (Default_Ignorable_Code_Point), and a blank.
BLANKS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
SPACES = re.compile(r" +")
BLANK_LINES = re.compile(r"\n{3,}")
# Markdown and HTML that would hide an address or a character. A space shows them as text.
HIDING = re.compile(r"(?<=\])(?=[(\[:])|(?<=<)(?=[A-Za-z/!?])|(?<=&)(?=#?\w+;)")


def words_to_post(text: str) -> str:
    """Return a text as it is shown in the question and posted.

    Raises:
        Unprocessable: The text is too long, or has no visible characters.
    """
    words = HIDING.sub(" ", _visible(plain_text(_visible(text))))
    if not words:
        raise Unprocessable("the text has no visible characters")
    if len(words) > MAX_PROPOSED:
        raise Unprocessable(
            f"the person must be asked first, and a text to agree to may have at most "
            f"{MAX_PROPOSED} characters, not {len(words):,}: shorten it"
        )
    return words


def destination_in(chat: Chat) -> Destination:
    """Return a chat as a destination, with its readers and its title as the question shows it."""
    title = cut_text(on_one_line(chat.display_title).replace('"', "'"), MAX_TITLE)
    return Destination(chat_id=chat.id, title=title, readers=chat.readers)


def question_of(words: str, chats: Sequence[Chat], asked: str) -> str:
    """Return the question whether to post words: `Post in "Team" (Ann and Ben): "I am late"?`.

    Args:
        words: The words, as they are posted.
        chats: The chats.
        asked: The person who is asked, whom the list of readers leaves out.

    Raises:
        Unprocessable: The question is too long, because it names too many chats.
    """
    named = [f'in "{destination_in(chat).title}" ({_readers(chat, asked)})' for chat in chats]
    question = f'Post {_enumerated(named)}: "{words}"?'
    if len(question) > MAX_QUESTION:
        raise Unprocessable("these are too many chats for one question: ask for fewer at a time")
    return question


def text_of_errand(words: str, asker: NamedMember, chat: Chat) -> str:
    """Return the text to a person of whom somebody asks something: `Alice asks: When?`.

    From a group, it names who will read the answer.

    Args:
        words: The words of the question.
        asker: Who asks.
        chat: The chat that is told the answer.
    """
    where = f' for "{destination_in(chat).title}" ({_readers(chat, asker.id)})'
    return f"{_called(asker, chat)} asks{where if chat.kind == 'group' else ''}: {words}"


def question_to_ask(text: str, asked: Sequence[NamedMember]) -> str:
    """Return the question whether to ask people: `Ask Sarah: "Alice asks: When?"?`.

    Args:
        text: The text, as the people get it.
        asked: The people.

    Raises:
        Unprocessable: The question is too long, because it names too many people.
    """
    question = f'Ask {_enumerated([on_one_line(each.name) for each in asked])}: "{text}"'
    if len(question) > MAX_QUESTION:
        raise Unprocessable("these are too many words and people for one question")
    return question


def question_to_call(
    title: str, arguments: Mapping[str, Any], chat: Chat | None, asked: str
) -> str:
    """Return the question whether to call a tool: `Book a table? day: "Tuesday", seats: 4`.

    In a chat with others, the question names who will see the result.

    Args:
        title: The operator's words.
        arguments: All arguments of the call.
        chat: The chat of the question.
        asked: The person who is asked.

    Raises:
        Unprocessable: The question is too long, because of the arguments.
    """
    shown = [f"{name}: {_argument(value)}" for name, value in arguments.items()]
    question = f"{title}? {', '.join(shown)}".strip()
    if chat is not None and chat.kind == "group":
        question += f"\nThe result is shown to you and {_readers(chat, asked)}."
    if len(question) > MAX_QUESTION:
        raise Unprocessable(
            f"a person must agree to the call, and the question may have at most {MAX_QUESTION:,} "
            "characters: shorten the arguments"
        )
    return question


def question_of_service(name: str, text: str) -> str:
    """Return the question of a service: `shop asks: "Smoking or not?"`.

    Args:
        name: The name of the service.
        text: The words of the service, which are shown as a quotation.
    """
    words = cut_text(HIDING.sub(" ", _visible(plain_text(_visible(text)))), MAX_PROPOSED)
    return f'{name} asks: "{words}"'


def _argument(value: Any) -> str:
    return HIDING.sub(" ", _visible(plain_text(_visible(json.dumps(value, ensure_ascii=False)))))


def question_to_share(whom: str, reason: str, until: str | None, minutes: int) -> str:
    """Return the question whether others may be told what a person says to agents alone.

    Args:
        whom: Who may be told, in plain words.
        reason: Why, as both sides can read it.
        until: When it ends; None: never.
        minutes: How long after a talk the person can keep it private.
    """
    span = f"from now on until {until}" if until is not None else "from now on"
    return (
        f"May agents tell {whom}, if asked, what you write to them alone {span}? "
        f'Reason: "{reason}". PRIVATE keeps a talk between us, at the latest {minutes} minutes '
        "after its last message."
    )


def question_to_share_earlier(whom: str, reason: str) -> str:
    """Return the question whether those who may be told a person's words may be told earlier ones.

    Args:
        whom: Who may be told, in plain words.
        reason: Why, as the rule says.
    """
    return (
        f"May agents tell {whom}, if asked, also what you wrote to me here before you knew of "
        f'that? Reason: "{reason}". What you kept private stays private.'
    )


def question_to_join(chat: Chat, invited: Invited) -> str:
    """Return the question to an invited person: `Ann invites you to "Team" (Ann and Ben). Join?`.

    Args:
        chat: The chat to join.
    """
    left = () if chat.has(invited.by.ref) else (invited.by,)
    numbers = numbers_of((*chat.roster, *left), chat.former_names)
    names = [numbered(*numbers[member.ref]) for member in chat.roster]
    what = f'"{destination_in(chat).title}"' if chat.title else "a chat"
    by = numbered(*numbers[invited.by.ref])
    return f"{by} invites you to {what} ({_counted(names)}). Join?"


def question_whose(number: Address, name: str, days: int) -> str:
    """Return the question after a silence: `This number ... Is this still Ann?`.

    Args:
        name: The name of the person who had the number.
        days: The days of silence.
    """
    unnamed = name == caller_name(number)
    asked = "Are you still the same person?" if unnamed else f"Is this still {name}?"
    return f"This number was silent for {days} days. {asked}"


def _visible(text: str) -> str:
    """Return a text without invisible characters, and with plain spaces and line ends."""
    lines = LINE_END.sub("\n", text).split("\n")
    shown = (SPACES.sub(" ", "".join(map(_shown, line))).strip() for line in lines)
    return BLANK_LINES.sub("\n\n", "\n".join(shown)).strip()


def _shown(character: str) -> str:
    if unicodedata.category(character) == "Zs" or character == "\t":
        return " "
    return character if character.isprintable() and not BLANKS.match(character) else ""


def _called(member: NamedMember, chat: Chat) -> str:
    numbers = numbers_of(chat.roster, chat.former_names)
    return numbered(*numbers[member.ref]) if member.ref in numbers else member.name


def _readers(chat: Chat, asked: str) -> str:
    if chat.readers.open:
        return EVERYBODY
    numbers = numbers_of(chat.roster, chat.former_names)
    people = [each.ref for each in chat.roster if each.kind == "user" and each.id != asked]
    names = [numbered(*numbers[person]) for person in people]
    return _counted(names) if names else NOBODY_ELSE


def _counted(names: Sequence[str]) -> str:
    """Join names; of more than ten, the others are counted."""
    if len(names) > MAX_NAMED:
        names = [*names[:MAX_NAMED], f"{len(names) - MAX_NAMED} others"]
    return _enumerated(names)


def _enumerated(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
