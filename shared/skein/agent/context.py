"""Builds what an agent is shown for one activation: read once, rendered once, counted exactly."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skein.agent import sections
from skein.agent.budget import Entry, fit
from skein.agent.sections import Section
from skein.errors import NotFound
from skein.models.agent import Agent
from skein.models.chat import Chat, Message, chat_partition
from skein.models.completion import ModelMessage
from skein.models.run import PromptRecord, PromptSection, Run
from skein.ports import Clock, Table, TokenCounter
from skein.settings import Settings


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything a model is given for one activation.

    Attributes:
        agent: Who is asked.
        messages: In the form of a chat completion.
        record: The same by section, for whoever asks later why the agent said that.
        shown_seq: The highest message that it holds.
    """

    agent: Agent
    messages: tuple[ModelMessage, ...]
    record: PromptRecord
    shown_seq: int


class ContextBuilder:
    """Reads what a run needs to know and makes its prompt."""

    def __init__(
        self, *, table: Table, clock: Clock, tokens: TokenCounter, settings: Settings
    ) -> None:
        self._table = table
        self._clock = clock
        self._tokens = tokens
        self._settings = settings

    def build(self, run: Run, chat_id: str) -> Prompt:
        """The prompt of `run` in the chat `chat_id`.

        Raises:
            NotFound: The agent or the chat is gone.
        """
        agent, chat = self._read_heads(run, chat_id)
        messages = self._read_history(run, chat)
        agent_sections = (
            sections.identity(agent, self._tokens),
            sections.instructions("text", self._tokens),
            sections.now(self._clock.now(), agent, self._tokens),
        )
        entries = fit(
            self._entries(messages, run),
            self._history_limit(agent, chat, agent_sections),
            self._tokens,
        )
        return Prompt(
            agent=agent,
            messages=as_roles(agent_sections, entries),
            record=_record(agent_sections, entries),
            shown_seq=max((message.seq for message in messages), default=0),
        )

    def _read_heads(self, run: Run, chat_id: str) -> tuple[Agent, Chat]:
        agent_key = Agent.key_of(run.tenant, run.agent_id)
        chat_key = Chat.key_of(run.tenant, chat_id)
        found = self._table.get_many([agent_key, chat_key])
        if agent_key not in found or found[agent_key].get("deleted_at"):
            raise NotFound("the agent is gone")
        if chat_key not in found:
            raise NotFound("the chat is gone")
        return Agent.from_item(found[agent_key]), Chat.from_item(found[chat_key])

    def _read_history(self, run: Run, chat: Chat) -> list[Message]:
        """The window of the newest messages, and the trigger where it has fallen out of it.

        The window's start moves in blocks, so that the prompts of consecutive turns begin alike
        and a provider's prefix cache can serve them.
        """
        settings = self._settings
        direct = chat.kind == "direct"
        window = settings.direct_history_window if direct else settings.history_window
        page = self._table.query(
            chat_partition(chat.tenant, chat.id),
            first="MSG#",
            last="MSG#~",
            limit=window,
            newest_first=True,
        )
        newest = [Message.from_item(item) for item in reversed(page.items)]
        start = window_start(newest[-1].seq, window) if newest else 1
        trigger = run.trigger.seq
        messages = [m for m in newest if m.seq >= start or m.seq == trigger]
        if trigger is not None and all(message.seq != trigger for message in messages):
            item = self._table.get(Message.key_of(chat.tenant, chat.id, trigger))
            messages = [Message.from_item(item), *messages] if item else messages
        return messages

    def _entries(self, messages: Sequence[Message], run: Run) -> list[Entry]:
        """What the prompt shows of the messages; keywords and notices are not for agents."""
        entries = []
        for message in messages:
            if message.kind != "text":
                continue
            own = message.sender.kind == "agent" and message.sender.id == run.agent_id
            text = shown_text(message) if own else f"{speaker(message)} {shown_text(message)}"
            current = message.seq == run.trigger.seq
            entries.append(Entry(message.seq, text, self._tokens.count(text), own, current))
        return entries

    def _history_limit(self, agent: Agent, chat: Chat, agent_sections: Sequence[Section]) -> int:
        settings = self._settings
        whole = min(agent.max_prompt_tokens, settings.max_prompt_tokens)
        left = whole - settings.max_output_tokens - sum(s.tokens for s in agent_sections)
        context = settings.line_context_tokens if chat.line else settings.max_context_tokens
        return max(min(context, left), 0)


def window_start(last_seq: int, window: int) -> int:
    """The first message of a window of at most `window` messages that ends with `last_seq`.

    It moves in blocks of a fifth of the window, and so holds at least four fifths of it.
    """
    block = max(window // 5, 1)
    over = max(last_seq - window, 0)
    return -(-over // block) * block + 1


def speaker(message: Message) -> str:
    """Who said it, in brackets, on one line and without brackets of their own."""
    name = re.sub(r"[\[\]\s]+", " ", message.sender.name).strip()
    kind = "human" if message.sender.kind == "user" else "agent"
    return f"[{name} ({kind})]"


def shown_text(message: Message) -> str:
    """The text, and a word for each thing that came with it."""
    attached = [f"[attached: {media.content_type}]" for media in message.media]
    return " ".join([*([message.text] if message.text else []), *attached])


def as_roles(
    agent_sections: Sequence[Section], entries: Sequence[Entry]
) -> tuple[ModelMessage, ...]:
    """The prompt as a conversation: own messages as `assistant`, all others as `user`.

    What changes from turn to turn stands in a second system message just before the current one,
    so that everything before it can be served from a provider's prefix cache.
    """
    stable = "\n\n".join(s.text for s in agent_sections if not s.volatile)
    changing = "\n\n".join(s.text for s in agent_sections if s.volatile)
    turns = [
        ModelMessage(role="assistant" if entry.own else "user", content=entry.text)
        for entry in entries
    ]
    current = [position for position, entry in enumerate(entries) if entry.current]
    place = current[0] if current else max(len(turns) - 1, 0)
    turns.insert(place, ModelMessage(role="system", content=changing))
    return (ModelMessage(role="system", content=stable), *turns)


def _record(agent_sections: Sequence[Section], entries: Sequence[Entry]) -> PromptRecord:
    spoken = "\n".join(f"{'assistant' if e.own else 'user'}: {e.text}" for e in entries)
    history = PromptSection(
        name="CHAT HISTORY", tokens=sum(entry.cost for entry in entries), text=spoken
    )
    stable = [_shown(s) for s in agent_sections if not s.volatile]
    changing = [_shown(s) for s in agent_sections if s.volatile]
    shown = (*stable, history, *changing)
    return PromptRecord(sections=shown, total_tokens=sum(s.tokens for s in shown))


def _shown(part: Section) -> PromptSection:
    return PromptSection(name=part.name, tokens=part.tokens, text=part.text)
