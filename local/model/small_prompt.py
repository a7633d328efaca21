"""Prompt of the local model: short, few-shot and plain text.

The local model is too small to follow Skein's prompt: it only continues a text. The server
therefore takes the agent's name, the agent's system prompt and the last messages from a request,
and writes a short conversation in which the model speaks next.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skein.prompts import render

MAX_CHARACTER = 600  # characters of the agent's system prompt
MAX_TURN = 300  # characters of one message
MAX_TURNS = 6
PERSON = "Person"
PROMPT = "local_model"
SOMEBODY = "Assistant"  # the name of an agent without a name
STOP = "\n"

IDENTITY = re.compile(
    r'\AIDENTITY:\n  name: (?P<name>"(?:[^"\\]|\\.)*")(?:\n  id: [^\n]+)?\n\n(?P<character>.*?)'
    r"\n\nINSTRUCTIONS:\n",
    re.DOTALL,
)
TURN = re.compile(r"\[[^\[\]]+ \((?:human|agent)\)[^\[\]]*\] (?P<text>.*)", re.DOTALL)
QUOTED = r'"(?:[^"\\]|\\.)*"'
ENTRY = re.compile(
    r"^  \[msg:\d+ [^\]]+\] (?:(?P<own>You)|[^\"\n]+?)(?: \([^()\"\n]+\))?: "
    rf"(?:\[sent because .+? asked {QUOTED} in {QUOTED}\] )?(?P<text>{QUOTED})(?P<files>[^\n]*)",
    re.MULTILINE,
)
CAPTION = re.compile(
    rf"\s*\[(?P<kind>picture|file) (?P<number>\d+\.\d+)(?P<more>(?:{QUOTED}|[^\"\[\]])*)\]"
)
PLAN = re.compile(
    rf"^TRIGGER:\n  Your plan {QUOTED}[^\n]* was due at [^\n]+\n  instruction: (?P<text>{QUOTED})",
    re.MULTILINE,
)
NO_CHAT = "\nACTIVE CHAT: none"


@dataclass(frozen=True)
class Turn:
    """One message of a conversation, on one line.

    Attributes:
        own: Whether the message is the agent's own.
        pictures: The numbers of the message's pictures, such as 12.1.
        file: Whether the message has other files, or pictures that were not loaded.
    """

    own: bool
    text: str
    pictures: tuple[str, ...] = ()
    file: bool = False

    @classmethod
    def of(cls, text: str, captions: str = "", *, own: bool) -> "Turn":
        """Return the turn of a message. Captions of its files are in the text or in `captions`."""
        found = list(CAPTION.finditer(f"{text} {captions}"))
        loaded = [one["kind"] == "picture" and "not loaded" not in one["more"] for one in found]
        pictures = tuple(one["number"] for one, is_one in zip(found, loaded, strict=True) if is_one)
        return cls(own, CAPTION.sub("", text), pictures, not all(loaded))


@dataclass(frozen=True)
class Conversation:
    """The part of a request that the local model is shown.

    Attributes:
        character: The agent's system prompt, shortened, on one line.
        turns: The last messages, oldest first.
        by_tool: Whether only the tool `send_message` sends a text to people.
        instruction: The instruction of the plan that started the run in a chat; None if no plan
            started it.
    """

    name: str
    character: str
    turns: tuple[Turn, ...]
    by_tool: bool
    instruction: str | None = None

    @property
    def question(self) -> str | None:
        """The message to answer; None if the agent wrote the last message, or there are none."""
        if not self.turns or self.turns[-1].own:
            return None
        return self.turns[-1].text

    @property
    def last(self) -> Turn | None:
        """The last message, or None."""
        return self.turns[-1] if self.turns else None

    @property
    def picture(self) -> str | None:
        """The number of the newest picture, or None."""
        numbers = (number for turn in self.turns for number in turn.pictures)
        return next(reversed(list(numbers)), None)

    @property
    def prompt(self) -> str:
        """The text that the model continues."""
        lines = (f"{self.name if turn.own else PERSON}: {turn.text}" for turn in self.turns)
        return render(
            PROMPT,
            {
                "character": self.character,
                "name": self.name,
                "conversation": "\n".join(lines),
            },
        ).lstrip()


def conversation_of(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Return the conversation in the messages of a chat completion.

    In Skein's prompts, the history has the form of messages or of a timeline. Any other request has
    a system prompt and messages.
    """
    system = "\n\n".join(_text(one) for one in messages if one.get("role") == "system")
    found = IDENTITY.match(system)
    name = json.loads(found["name"]) if found else SOMEBODY
    character = found["character"] if found else system
    plan = PLAN.search(system) if found and NO_CHAT not in system else None
    timeline = [
        Turn.of(json.loads(one["text"]), one["files"], own=bool(one["own"]))
        for one in ENTRY.finditer(system)
    ]
    turns = timeline or list(_turns(messages))
    return Conversation(
        name=_on_one_line(name, MAX_TURN) or SOMEBODY,
        character=_on_one_line(character, MAX_CHARACTER),
        turns=tuple(
            replace(turn, text=line)
            for turn in turns[-MAX_TURNS:]
            if (line := _on_one_line(turn.text, MAX_TURN) or _wordless(turn))
        ),
        by_tool=found is not None and _only_tools_reach_people(system),
        instruction=_on_one_line(json.loads(plan["text"]), MAX_TURN) if plan else None,
    )


def _turns(messages: Iterable[Mapping[str, Any]]) -> Iterable[Turn]:
    for message in messages:
        text = _text(message)
        if message.get("role") == "assistant":
            yield Turn.of(text, own=True)
        elif message.get("role") == "user" and text != render("timeline_nudge"):
            found = TURN.fullmatch(text)
            yield Turn.of(found["text"] if found else text, own=False)


def _wordless(turn: Turn) -> str:
    """Return words that describe a turn without text by its files; empty if it has no files."""
    return "A picture." if turn.pictures else "A file." if turn.file else ""


def _only_tools_reach_people(system: str) -> bool:
    return render("instructions_speak_by_tool") in system


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _on_one_line(text: str, longest: int) -> str:
    """Return a text on one line, shortened between words to at most `longest` characters.

    A `|` at the beginning of further lines is removed.
    """
    lines = (line.removeprefix("|") for line in text.splitlines())
    words = " ".join(" ".join(lines).split())
    return words if len(words) <= longest else words[:longest].rpartition(" ")[0]
