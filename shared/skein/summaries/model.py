"""Render the questions for summaries and titles, and parse the light model's answers."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from skein.interface.names import Names, speakers
from skein.models.chats.chat import Chat, Message
from skein.models.chats.summary import MAX_AGENT_SUMMARY, MAX_CHAT_SUMMARY
from skein.models.directory.agent import Agent
from skein.models.runs.completion import ModelMessage, well_formed
from skein.prompts import render
from skein.services.common.model_json import json_object_in
from skein.services.common.quoting import behind_bars

MESSAGE_CHARACTERS = 500
TITLE_CHARACTERS = 80
MANY_AGENTS = 3  # in chats with more agents, questions for agent summaries are kept short
UTC = ZoneInfo("UTC")
IDENTITY_CHARACTERS = 500  # of an agent's name and system prompt in a short question
# Longer, because prompts show messages before the history window only through this summary.
LONG_MESSAGE_CHARACTERS = 2_000

AGENT_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}
    },
    "required": ["lines"],
    "additionalProperties": False,
}
CHAT_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
TITLE_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}


def ask_agent(
    agent: Agent, chat: Chat, previous: str | None, messages: Sequence[Message], *, missing: int = 0
) -> tuple[ModelMessage, ...]:
    """Render the question for an agent's summary of a chat, in which `You` is the agent.

    In a chat with many agents, the question contains only the start of the agent's system prompt,
    because the model is asked once for each agent.

    Args:
        previous: The previous summary, if any.
        messages: The newest messages, oldest first.
        missing: How many messages between the previous summary and `messages` are left out.
    """
    own = (agent.summary_instruction or "").strip()
    many = sum(member.kind == "agent" for member in chat.roster) > MANY_AGENTS
    system = render(
        "agent_summary",
        {
            "identity": agent.identity[:IDENTITY_CHARACTERS] if many else agent.identity,
            "instruction": own or render("agent_summary_instruction"),
            "previous": _before(previous),
        },
    )
    names, zone = Names.of(agent.as_member.ref, chat, messages), ZoneInfo(agent.time_zone)
    variables = _input(chat, messages, names, zone, MESSAGE_CHARACTERS, previous)
    gap = f"({_counted(missing)} not shown before these.)\n" if missing else ""
    asked = render("agent_summary_input", variables | {"gap": gap})
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def ask_chat(
    chat: Chat, previous: str | None, messages: Sequence[Message]
) -> tuple[ModelMessage, ...]:
    system = render("chat_summary", {"previous": _before(previous)})
    names = Names.of(None, chat, messages)
    variables = _input(chat, messages, names, UTC, LONG_MESSAGE_CHARACTERS, previous)
    asked = render("chat_summary_input", variables)
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def ask_title(chat: Chat, messages: Sequence[Message]) -> tuple[ModelMessage, ...]:
    names = Names.of(None, chat, messages)
    lines = "\n".join(
        f"- {names.speaker(message)}: {_text_of(message, MESSAGE_CHARACTERS)}"
        for message in messages
    )
    members = ", ".join(names[member] for member in chat.roster)
    asked = render("chat_title_input", {"members": members, "messages": lines})
    system = ModelMessage(role="system", content=render("chat_title"))
    return system, ModelMessage(role="user", content=asked)


def as_many_as_fit(chat: Chat, messages: Sequence[Message], characters: int) -> Sequence[Message]:
    """Return the first messages that fit into a chat summary's question, but at least one message.

    Args:
        chat: The chat, which has the names of the senders.
        messages: The messages, oldest first.
        characters: The maximum total length of the messages in the question.
    """
    size, names = 0, Names.of(None, chat, messages)
    for count, message in enumerate(messages):
        size += len(_line(message, names, UTC, LONG_MESSAGE_CHARACTERS)) + 1
        if size > characters and count:
            return messages[:count]
    return messages


def _input(
    chat: Chat,
    messages: Sequence[Message],
    names: Names,
    zone: ZoneInfo,
    characters: int,
    previous: str | None,
) -> dict[str, str]:
    lines = [_line(message, names, zone, characters) for message in messages]
    return {
        "title": _one_line(chat.display_title),
        "speakers": speakers(names, chat, messages, named_in=previous or ""),
        "zone": zone.key,
        "messages": "\n".join(lines),
    }


def _counted(missing: int) -> str:
    return "1 message is" if missing == 1 else f"{missing:,} messages are"


def _before(previous: str | None) -> str:
    """Format the previous summary so that its lines cannot imitate the prompt or messages."""
    return behind_bars(previous) if previous else "None yet."


def _line(message: Message, names: Names, zone: ZoneInfo, characters: int) -> str:
    """Format a message as one line with its time; line breaks in its text become spaces."""
    at = message.created_at.astimezone(zone)
    return f"- [{at:%a %Y-%m-%d %H:%M}] {names.speaker(message)}: {_text_of(message, characters)}"


def _text_of(message: Message, characters: int) -> str:
    return _one_line(message.full_text)[:characters]


def note_lines(answer: str) -> str | None:
    """Parse an agent summary: one or two lines, together at most 500 characters.

    White space is reduced to single spaces. Two plain lines instead of JSON are also accepted. A
    single plain line is not, because it can be a refusal. Lines that are too long are cut.

    Returns:
        The summary; None if the answer is not a summary and must not be stored.
    """
    found = json_object_in(answer, {"lines"})
    plain = [] if "{" in answer else answer.splitlines()  # a brace: truncated JSON
    given = found.get("lines") if found is not None else plain
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        return None
    lines = [line for line in map(_one_line, given) if _says_something(line)]
    if len(lines) not in ({1, 2} if found is not None else {2}):
        return None
    first, *further = lines
    if not further:
        return first[:MAX_AGENT_SUMMARY].rstrip()
    second, free = further[0], MAX_AGENT_SUMMARY - 1
    if len(first) + len(second) > free:
        first = first[: max(free // 2, free - len(second))].rstrip()
        second = second[: free - len(first)].rstrip()
    return f"{first}\n{second}"


def paragraph(answer: str) -> str | None:
    """Parse a chat summary, cut to 4,000 characters; None if the answer has no summary."""
    found = json_object_in(answer, {"summary"})
    text = found.get("summary") if found is not None else None
    if not isinstance(text, str) or not _says_something(text):
        return None
    return well_formed(text).strip()[:MAX_CHAT_SUMMARY].rstrip()


def short_title(answer: str) -> str | None:
    """Parse a title: one line of at most 80 characters, without quotation marks around it.

    Returns:
        The title; None if the answer has no title.
    """
    found = json_object_in(answer, {"title"})
    text = found.get("title") if found is not None else None
    if not isinstance(text, str) or not _says_something(text):
        return None
    title = _one_line(text).strip("\"'\u201c\u201d\u201e\u00ab\u00bb .")
    return title[:TITLE_CHARACTERS].rstrip() or None


def _one_line(text: str) -> str:
    return " ".join(well_formed(text).split())


def _says_something(text: str) -> bool:
    """Return whether a text has a letter or digit.

    Small models sometimes only repeat the dots of an example.
    """
    return any(character.isalnum() for character in text)
