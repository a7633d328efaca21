"""Builds what an agent is shown for one activation: rendered once, counted exactly, kept whole.

Sections stand from stable to volatile, so that consecutive prompts begin alike (DESIGN section 6).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from skein.agent import sections
from skein.agent.budget import Entry, counted, fit
from skein.agent.quoting import quoted
from skein.agent.reading import Reading
from skein.agent.sections import Section
from skein.agent.timeline import timeline_entry
from skein.models.agent import Agent, HistoryFormat, ReplyMode
from skein.models.base import MemberRef
from skein.models.chat import Chat, Message
from skein.models.completion import ToolSpec
from skein.models.run import Run
from skein.models.step import HISTORY, HistoryTurn, PromptRecord, PromptSection
from skein.ports import TokenCounter
from skein.prompts import render
from skein.settings import Settings


@dataclass(frozen=True, slots=True)
class Manner:
    """How an agent reads and answers in a chat; what it leaves open follows the chat."""

    reply_mode: ReplyMode
    history_format: HistoryFormat

    @classmethod
    def of(cls, agent: Agent, chat: Chat | None) -> "Manner":
        """In a direct chat roles and text, elsewhere a timeline and tools."""
        direct = chat is not None and chat.kind == "direct"
        return cls(
            reply_mode=agent.reply_mode or ("text" if direct else "tools"),
            history_format=agent.history_format or ("roles" if direct else "timeline"),
        )


class ContextBuilder:
    """Makes prompts from what was read."""

    def __init__(self, *, tokens: TokenCounter, settings: Settings) -> None:
        self._tokens = tokens
        self._settings = settings

    def build(self, run: Run, reading: Reading, tools: Sequence[ToolSpec]) -> PromptRecord:
        """The prompt of one activation.

        Args:
            run: With its trigger.
            reading: What was read for it.
            tools: What the agent may use; their size counts against the prompt's limit.
        """
        manner = Manner.of(reading.agent, reading.chat)
        roles = manner.history_format == "roles" and reading.chat is not None
        stable = self._stable(reading, manner)
        volatile = self._volatile(run, reading, roles=roles)
        offered = self._tokens.count(json.dumps([tool.model_dump() for tool in tools]))
        taken = offered + sum(part.tokens for part in (*stable, *volatile))
        limit = self._history_limit(reading, taken)
        entries = fit(self._entries(run, reading, roles=roles), limit, self._tokens)
        if roles:
            return self._as_roles(stable, entries, volatile)
        return self._as_timeline(reading, stable, entries, volatile)

    def _stable(self, reading: Reading, manner: Manner) -> list[Section]:
        found = [
            sections.identity(reading.agent, self._tokens),
            sections.instructions(manner.reply_mode, self._tokens),
            sections.goals(reading.goals, self._tokens),
        ]
        return [part for part in found if part is not None]

    def _volatile(self, run: Run, reading: Reading, *, roles: bool) -> list[Section]:
        agent, chat, count = reading.agent, reading.chat, self._tokens
        quote = not roles or reading.trigger_message not in reading.messages
        found = [
            sections.active_chat(chat, count),
            sections.your_chats(reading.chats, chat, agent, count),
            sections.plans(reading.plans, reading.now, count),
            sections.active_runs(reading.live_runs, run, agent, count),
            sections.trigger(run, reading.home, reading.trigger_message, count, quote=quote),
            sections.now(reading.now, agent, count),
        ]
        return [part for part in found if part is not None]

    def _entries(self, run: Run, reading: Reading, *, roles: bool) -> list[Entry]:
        """What the prompt shows of the messages; keywords and notices are not for agents."""
        agent = MemberRef(kind="agent", id=run.agent_id)
        home = reading.chat is not None and reading.chat.id == run.chat_id
        current = run.trigger.seq if home else None
        if run.resumed is not None and run.resumed.seq is not None:
            current = run.resumed.seq
        found = []
        for message in reading.messages:
            if message.kind != "text":
                continue
            line = _Line(message, run, reading, roles=roles)
            own = message.sender.ref == agent
            text = shown_text(message) if roles else message.text
            mark = message.seq == current
            found.append(
                counted(message.seq, text, self._tokens, frame=line, own=own, current=mark)
            )
        return found

    def _history_limit(self, reading: Reading, taken: int) -> int:
        settings, chat = self._settings, reading.chat
        whole = min(reading.agent.max_prompt_tokens, settings.max_prompt_tokens)
        on_line = chat is not None and chat.line is not None
        context = settings.line_context_tokens if on_line else settings.max_context_tokens
        return max(min(context, whole - settings.max_output_tokens - taken), 0)

    def _as_timeline(
        self,
        reading: Reading,
        stable: Sequence[Section],
        entries: Sequence[Entry],
        volatile: Sequence[Section],
    ) -> PromptRecord:
        parts = [*stable, *volatile]
        if reading.chat is not None:
            title = f"({quoted(reading.chat.title or 'New Conversation')})"
            lines = "".join(one.line for one in entries).rstrip("\n")
            history = sections.section(HISTORY, lines, _Known(entries, self._tokens), title=title)
            parts.insert(len(stable), history)
        return _record(parts, nudge=render("timeline_nudge"))

    @staticmethod
    def _as_roles(
        stable: Sequence[Section], entries: Sequence[Entry], volatile: Sequence[Section]
    ) -> PromptRecord:
        history = Section(HISTORY, "", sum(one.cost for one in entries))
        current = [position for position, one in enumerate(entries) if one.current]
        turns = tuple(
            HistoryTurn(role="assistant" if one.own else "user", text=one.line) for one in entries
        )
        record = _record([*stable, history, *volatile])
        return record.model_copy(
            update={
                "stable": len(stable),
                "turns": turns,
                "current": current[0] if current else max(len(turns) - 1, 0),
            }
        )


@dataclass(frozen=True, slots=True)
class _Line:
    """Puts what a message says into the words that stand around it."""

    message: Message
    run: Run
    reading: Reading
    roles: bool

    def __call__(self, text: str) -> str:
        agent = MemberRef(kind="agent", id=self.run.agent_id)
        if self.roles:
            own = self.message.sender.ref == agent
            return text if own else f"{speaker(self.message)} {text}"
        chat, member = self.reading.chat, self.reading.member
        home = chat is not None and chat.id == self.run.chat_id
        resumed = self.run.resumed
        here = resumed is not None and chat is not None and resumed.chat_id == chat.id
        line = timeline_entry(
            self.message,
            text,
            agent=agent,
            seen_seq=member.seen_seq if member else 0,
            trigger_seq=self.run.trigger.seq if home else None,
            resumed=resumed if here else None,
            destination=self.reading.destination,
        )
        return f"{line}\n"


@dataclass(frozen=True, slots=True)
class _Known:
    """Counts a history by its entries, each of which has been counted already.

    A token never reaches over the end of a line, so the lines' sizes add up.
    """

    entries: Sequence[Entry]
    tokens: TokenCounter

    def count(self, text: str) -> int:
        """The size of the section with these entries."""
        if not self.entries:
            return self.tokens.count(text)
        *lines, last = self.entries
        head = text[: text.index("\n") + 1]
        size = self.tokens.count(head) + sum(one.tokens for one in lines)
        return size + self.tokens.count(last.line.rstrip("\n"))

    def cut(self, text: str, tokens: int) -> str:
        """See `skein.ports.TokenCounter`."""
        return self.tokens.cut(text, tokens)


def speaker(message: Message) -> str:
    """Who said it, in brackets, on one line and without brackets of their own."""
    name = re.sub(r"[\[\]\s]+", " ", message.sender.name).strip()
    kind = "human" if message.sender.kind == "user" else "agent"
    return f"[{name} ({kind})]"


def shown_text(message: Message) -> str:
    """The text, and a word for each thing that came with it."""
    attached = [f"[attached: {media.content_type}]" for media in message.media]
    return " ".join([*([message.text] if message.text else []), *attached])


def _record(parts: Sequence[Section], *, nudge: str = "") -> PromptRecord:
    return PromptRecord(
        sections=tuple(PromptSection(name=p.name, tokens=p.tokens, text=p.text) for p in parts),
        total_tokens=sum(part.tokens for part in parts),
        nudge=nudge,
    )
