"""Write Skein's own questions, so that people agree to exactly the text that they read.

A question is one line. Text that Skein did not write is shown in quotation marks or as JSON. The
last sentence, written by Skein, says what happens after a Yes. Markdown is not converted. Readers
are listed by name, with numbers if their names look alike.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from skein.channels.text_cuts import cut_text
from skein.errors import Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.choice import (
    MAX_PROPOSED,
    MAX_QUESTION,
    NO,
    SEE,
    YES,
    Destination,
    Invited,
    Option,
)
from skein.models.chats.names import numbered, numbers_of, plain_name
from skein.models.common.address import Address
from skein.models.common.base import NamedMember
from skein.models.common.characters import on_one_line
from skein.models.directory.address_index import caller_name
from skein.services.common.quoting import exact_json, in_quotes, minute_of, quotable, without_links

MAX_NAMED = 10  # names in a list of readers; further readers are counted
MAX_TITLE = 60  # characters of a chat's title
EVERYBODY = "everybody in your organization"
NOBODY_ELSE = "only you"
YES_NO = (Option(id=YES, label="Yes"), Option(id=NO, label="No"))
SEE_WHO = (Option(id=SEE, label="See who"),)


def words_to_post(text: str) -> str:
    """Return a text on one line, as the question shows it and as it will be posted.

    Raises:
        Unprocessable: The text is too long, or has no visible characters.
    """
    words = quotable(text)
    if not words:
        raise Unprocessable("the text has no visible characters")
    if len(words) > MAX_PROPOSED:
        raise Unprocessable(
            f"the person must be asked first, and a text to agree to may have at most "
            f"{MAX_PROPOSED} characters, not {len(words):,}: shorten it"
        )
    return words


def destination_in(chat: Chat) -> Destination:
    """Return a chat as a destination, with its readers and the title that the question shows."""
    title = cut_text(quotable(chat.display_title), MAX_TITLE)
    return Destination(chat_id=chat.id, title=title, readers=chat.readers)


def question_of(words: str, chats: Sequence[Chat], asked: str) -> str:
    """Return the question to agree to a post: `Post in "Team" (Ann and Ben): "I am late"? ...`.

    Args:
        words: The text, exactly as it will be posted.
        chats: The chats to post in.
        asked: The person who is asked. The question does not list this person as a reader.

    Raises:
        Unprocessable: The question is too long, because it names too many chats.
    """
    named = [f'in "{destination_in(chat).title}" ({readers_of(chat, asked)})' for chat in chats]
    question = f"Post {enumerated(named)}: {in_quotes(words)}? Yes posts this in your name."
    if len(question) > MAX_QUESTION:
        raise Unprocessable("too many chats for one question: ask for fewer at a time")
    return question


def question_to_call(
    title: str,
    arguments: Mapping[str, Any],
    service: str,
    chat: Chat | None,
    asked: str,
    *,
    done_at: Sequence[datetime] = (),
) -> str:
    """Return the question to agree to a tool call: `Book a table? {"seats": 4} Yes sends ...`.

    If the chat has other people, the question names them, because they will see the result.

    Args:
        title: The beginning of the question, written by the operator.
        arguments: All arguments of the call.
        service: The name of the service.
        chat: The chat of the question.
        asked: The person who is asked.
        done_at: The times of earlier, equal calls that a yes would repeat.

    Raises:
        Unprocessable: The question is too long, or an argument contains a number that JSON cannot
            express.
    """
    try:
        call = call_shown(title, arguments)
    except ValueError:
        raise Unprocessable(
            "a number in the arguments can't be displayed: use another value"
        ) from None
    question = f"{call} Yes sends exactly this to {service}"
    if done_at:
        times = enumerated([minute_of(each) for each in done_at])
        question += f" again, after it was done at {times}"
    if chat is not None and chat.kind == "group":
        question += f", and shows the result to you and {readers_of(chat, asked)}"
    if len(question) >= MAX_QUESTION:
        raise Unprocessable(
            f"a person must agree to the call, and the question may have at most {MAX_QUESTION:,} "
            "characters: shorten the arguments"
        )
    return f"{question}."


def call_shown(title: str, arguments: Mapping[str, Any]) -> str:
    """Return the beginning of the question to call a tool: `Book a table? {"seats": 4}`.

    Raises:
        ValueError: An argument contains a number that JSON cannot express.
    """
    return f"{on_one_line(title).rstrip('?!. ')}? {exact_json(arguments)}"


def question_of_service(name: str, text: str) -> str:
    """Return the question of a service: `shop asks: "Smoking or not?" shop gets your answer.`.

    Args:
        text: The text of the service, which is shown as a quotation.

    Raises:
        Unprocessable: The service's question is too long.
    """
    if len(text) > MAX_PROPOSED:
        raise Unprocessable(f"the question would have more than {MAX_PROPOSED} characters")
    return f"{name} asks: {in_quotes(text)} {name} gets your answer."


def question_to_join(chat: Chat, invited: Invited) -> str:
    """Return the question to an invited person: `Ann invites you to "Team" (Ann and Ben). Join?`.

    Links are removed, because the names and the title may be written by strangers.

    Args:
        chat: The chat to join.
        invited: The invitation.
    """
    left = () if chat.has(invited.by.ref) else (invited.by,)
    numbers = numbers_of((*chat.roster, *left), chat.former_names)
    names = [numbered(*numbers[member.ref]) for member in chat.roster]
    what = f'"{destination_in(chat).title}"' if chat.title else "a chat"
    by = numbered(*numbers[invited.by.ref])
    return without_links(f"{by} invites you to {what} ({_counted(names)}). Join? Yes adds you.")


def announcement(chat: Chat, team: str | None) -> str:
    """Return the text that announces a stranger's invitation, without text by the stranger.

    Args:
        chat: The chat to join.
        team: The name of the tenant's team, if it has one.
    """
    somebody = f"Somebody at {quotable(team)}" if team else "Somebody"
    what = "group" if chat.kind == "group" else "chat"
    return f"{somebody} with whom you share no chat invites you to a {what}."


def question_whose(number: Address, name: str, days: int) -> str:
    """Return the question to the person on a number that was silent for a long time.

    For example: `This number was silent for 90 days. Is this still Ann? Answer yes to keep it.`

    Args:
        name: The name of the person who had the number.
        days: The days of silence.
    """
    unnamed = name == caller_name(number)
    asked = "Are you still the same person?" if unnamed else f"Is this still {quotable(name)}?"
    return f"This number was silent for {days} days. {asked} Answer yes to keep it."


def called_in(member: NamedMember, chat: Chat) -> str:
    """Return a member's name, with a number if another name in the chat looks like it."""
    numbers = numbers_of(chat.roster, chat.former_names)
    return numbered(*numbers[member.ref]) if member.ref in numbers else plain_name(member)


def readers_of(chat: Chat, asked: str) -> str:
    """Return the readers of a chat other than the person who is asked: `Ann, Ben and 3 others`."""
    if chat.readers.open:
        return EVERYBODY
    numbers = numbers_of(chat.roster, chat.former_names)
    people = [each.ref for each in chat.roster if each.kind == "user" and each.id != asked]
    names = [numbered(*numbers[person]) for person in people]
    return _counted(names) if names else NOBODY_ELSE


def _counted(names: Sequence[str]) -> str:
    if len(names) > MAX_NAMED:
        names = [*names[:MAX_NAMED], f"{len(names) - MAX_NAMED} others"]
    return enumerated(names)


def enumerated(parts: Sequence[str]) -> str:
    """Join texts: `A, B and C`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
