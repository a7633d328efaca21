"""The prompt builder, which fits the sections of an activation into a token limit.

Sections are ordered from stable to volatile, so that consecutive prompts share a long prefix,
which the provider's prefix cache serves.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skein.agent.prompt import memories as memory_sections
from skein.agent.prompt import other_chats as elsewhere
from skein.agent.prompt import sections
from skein.agent.prompt import user_profile as people
from skein.agent.prompt.budget import (
    MESSAGE_OVERHEAD_TOKENS,
    HistoryEntry,
    fit,
    left_out,
    total,
)
from skein.agent.prompt.documents import global_documents
from skein.agent.prompt.history import (
    entry_context,
    head_tokens,
    history_entries,
    history_head,
    timeline,
)
from skein.agent.prompt.instructions import Situation, arguments_of, instructions
from skein.agent.prompt.names import Names, names_in, participants, participants_of
from skein.agent.prompt.section import Section, arranged, closing
from skein.agent.prompt.sections import kept
from skein.agent.prompt.skills import skills
from skein.agent.prompt.threads import active_thread, pending_threads
from skein.agent.prompt.trigger import trigger, without_trigger_details
from skein.agent.reading.history import summed_up
from skein.agent.reading.reading import Reading
from skein.agent.reading.trigger import current_seq
from skein.models.chats.chat import Chat, Message
from skein.models.directory.agent import Agent, HistoryFormat, ReplyMode
from skein.models.runs.completion import ToolSpec
from skein.models.runs.run import Run
from skein.models.runs.step import HISTORY, HistoryTurn, PromptRecord, PromptSection
from skein.ports import ModelTokens
from skein.prompts import render
from skein.services.chat_state.history_window import window_of
from skein.settings import Settings

NUDGE = "timeline_nudge"
PAIR = 2  # a person and an agent
REPLY_TO = "reply_to"  # the argument of send_message
BORROW, READ_SKILL = "borrow_context", "read_skill"
MAX_OTHER_MESSAGES = 3  # two system messages and the nudge
# Limits of the sections, as 1/n of the prompt's tokens.
BORROWED_SHARE = 3  # borrowed context takes at most a third
SUMMARY_SHARE = 3  # the summary takes at most a third of the history's limit
CORE_SHARE = 3  # core memories take at most a third
DOCUMENTS_SHARE = 3  # documents take at most a third
LIST_SHARE = 5  # a list takes at most a fifth
HISTORY_SHARE = 4  # the history keeps at least a quarter, if it needs that much
TRIGGER_SHARE = 8  # the trigger keeps at least an eighth
PAYLOAD_SHARE = 4  # a trigger with a webhook's payload takes at most a quarter


@dataclass(frozen=True, slots=True)
class Manner:
    """The reply mode and history format of an agent in a chat."""

    reply_mode: ReplyMode
    history_format: HistoryFormat

    @classmethod
    def of(cls, agent: Agent, chat: Chat | None) -> "Manner":
        """Return an agent's manner, with defaults that depend on the kind of chat.

        The defaults are text and roles in a direct chat, and tools and a timeline in a group.
        Without a chat there are no readers and no history, so the manner is always tools and a
        timeline.
        """
        if chat is None:
            return cls(reply_mode="tools", history_format="timeline")
        direct = chat.kind == "direct"
        return cls(
            reply_mode=agent.reply_mode or ("text" if direct else "tools"),
            history_format=agent.history_format or ("roles" if direct else "timeline"),
        )


def speaks_in_text(reading: Reading) -> bool:
    """Return whether the text of the model's answer is posted in the active chat."""
    return Manner.of(reading.agent, reading.chat).reply_mode == "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBuilder:
    """Builder of prompts from readings."""

    tokens: ModelTokens
    settings: Settings

    def build(self, run: Run, reading: Reading, tools: Sequence[ToolSpec]) -> PromptRecord:
        """Build the prompt of one activation, counted with the tokenizer of the agent's model.

        Args:
            run: The run, with its trigger.
            reading: The reading of the activation.
            tools: The agent's tools. Their size counts against the prompt's limit.
        """
        model = reading.agent.model or self.settings.default_model
        tokens = self.tokens.for_model(reading.config.effective.tokenizer_model or model)
        return PromptBuilder(tokens=tokens, settings=self.settings)._build(run, reading, tools)

    def _build(self, run: Run, reading: Reading, tools: Sequence[ToolSpec]) -> PromptRecord:
        manner = Manner.of(reading.agent, reading.chat)
        roles = manner.history_format == "roles"
        tokens_left = self._tokens_left(reading, tools)
        names, taken = names_in(reading), taken_arguments(tools)
        group = reading.chat is not None and reading.chat.kind == "group"
        numbered = group and manner.reply_mode == "tools" and REPLY_TO in taken
        context = entry_context(run, reading, names, numbered=numbered)
        entries = history_entries(run, reading, context, self.tokens, roles=roles)
        rules = instructions(_situation(reading, manner, tools), self.tokens)
        stable = kept(self._stable(run, reading, rules, names, tokens_left), run, reading)
        volatile = kept(self._volatile(run, reading, entries, manner, tokens_left), run, reading)
        head = history_head(reading, context)
        around = head_tokens(head, reading, context, self.tokens, roles=roles)
        summary = _size_of(stable, "CONVERSATION SUMMARY")
        limit = reading.config.effective.max_context_tokens - summary - around
        least = min(total(entries), tokens_left // HISTORY_SHARE, limit) + around
        parts = arranged([*stable, *volatile], tokens_left - least)
        left = tokens_left - around - sum(part.tokens for part in parts)
        block = window_of(reading.chat, self.settings) // 2 if reading.chat else 1
        shown = fit(entries, max(min(limit, left), 0), self.tokens, block=block)
        history = reading.history
        if history.fuller is not None and left_out(entries, shown) > summed_up(history.before):
            fuller = replace(history, before=history.fuller, fuller=None)
            return self._build(run, replace(reading, history=fuller), tools)
        stable, volatile = parts[: len(stable)], parts[len(stable) :]
        if roles:
            return _marked(self._as_roles(stable, shown, volatile), reading)
        lines = [timeline(head, shown, reading, context, self.tokens)] if head else []
        parts = [*stable, *lines, *volatile]
        record = _record([*parts[:-1], closing(parts[-1], self.tokens)], nudge=render(NUDGE))
        return _marked(record, reading)

    def _tokens_left(self, reading: Reading, tools: Sequence[ToolSpec]) -> int:
        """Return the tokens left for all sections after the answer, the tools and the frames."""
        whole = reading.agent.max_prompt_tokens or self.settings.max_prompt_tokens
        offered = self.tokens.count(json.dumps([tool.model_dump() for tool in tools]))
        frames = MAX_OTHER_MESSAGES * MESSAGE_OVERHEAD_TOKENS + self.tokens.count(render(NUDGE))
        answer = reading.config.effective.reserved_response_tokens
        return max(whole - answer - offered - frames, 0)

    def _stable(
        self, run: Run, reading: Reading, rules: Section, names: Names, tokens_left: int
    ) -> list[Section]:
        """Render the sections that rarely change within a chat; they precede its history."""
        agent, items, workspace = reading.agent, reading.items, reading.workspace
        documents = tokens_left // DOCUMENTS_SHARE
        summary = reading.config.effective.max_context_tokens // SUMMARY_SHARE
        found = [
            sections.identity(agent, self.tokens),
            rules,
            skills(
                workspace.skills,
                min(self.settings.skill_tokens, tokens_left // LIST_SHARE),
                self.tokens,
                may_read=READ_SKILL in agent.enabled_tools,
            ),
            people.user_profile(reading.person, agent, tokens_left // LIST_SHARE, self.tokens),
            memory_sections.core_memories(
                items.memories,
                min(self.settings.core_memory_tokens, tokens_left // CORE_SHARE),
                self.tokens,
            ),
            global_documents(workspace.documents, documents, self.tokens),
            active_thread(workspace.threads, workspace.thread_documents, documents, self.tokens),
            pending_threads(workspace.threads.pending, tokens_left // LIST_SHARE, self.tokens),
            sections.goals(items.goals, tokens_left // LIST_SHARE, self.tokens),
            memory_sections.journal(
                items.memories,
                min(self.settings.journal_tokens, tokens_left // LIST_SHARE),
                self.tokens,
            ),
            self._your_chats(reading, tokens_left) if reading.other_chats.complete else None,
            sections.active_chat(reading.chat, run, self.tokens),
            sections.conversation(reading.chat, self.tokens),
            elsewhere.conversation_summary(reading.history.before, summary, self.tokens),
            self._participants(reading, names, tokens_left),
        ]
        return [part for part in found if part is not None]

    def _participants(self, reading: Reading, names: Names, tokens_left: int) -> Section | None:
        """Render the legend; a direct chat with its two members needs none."""
        chat, messages = reading.chat, reading.history.messages
        if chat is None or (chat.kind == "direct" and len(participants_of(chat, messages)) <= PAIR):
            return None
        share = tokens_left // LIST_SHARE
        return participants(names, chat, messages, share, self.tokens, with_ids=True)

    def _your_chats(self, reading: Reading, tokens_left: int) -> Section | None:
        listed, active, share = reading.other_chats.listed, reading.chat, tokens_left // LIST_SHARE
        return sections.your_chats(listed, active, reading.agent, share, self.tokens)

    def _so_far(self, run: Run, reading: Reading) -> Section | None:
        chat, current = reading.chat, current_seq(run, reading.chat)
        return sections.conversation_so_far(chat, reading.history.messages, current, self.tokens)

    def _volatile(
        self,
        run: Run,
        reading: Reading,
        entries: Sequence[HistoryEntry],
        manner: Manner,
        tokens_left: int,
    ) -> list[Section]:
        agent, chat, count = reading.agent, reading.chat, self.tokens
        home, message = reading.trigger.home, reading.trigger.message
        others, share = reading.other_chats, tokens_left // LIST_SHARE
        summary = reading.config.effective.max_context_tokens // SUMMARY_SHARE
        run = run if reading.trigger.may_be_shown else without_trigger_details(run)
        current = next((one.seq for one in entries if one.current), None)
        follows = manner.history_format == "roles" and message is not None and home is chat
        found = [
            None if reading.prompt_mark else self._so_far(run, reading),
            None if others.complete else self._your_chats(reading, tokens_left),
            elsewhere.last_session(others.last_session, reading.now, summary, count),
            elsewhere.other_conversations(
                others.elsewhere,
                chat,
                reading.destination,
                reading.now,
                share,
                count,
                person=others.person,
                may_borrow=BORROW in agent.enabled_tools,
            ),
            elsewhere.borrowed_context(
                others.borrowed, reading.now, tokens_left // BORROWED_SHARE, count
            ),
            sections.plans(reading.items.plans, reading.now, share, count),
            sections.active_runs(others.live_runs, run, home, message, agent, share, count),
            trigger(
                run,
                home,
                message,
                count,
                priority=sections.TRIGGER_GIVES_WAY,
                least=tokens_left // TRIGGER_SHARE,
                most_of_payload=tokens_left // PAYLOAD_SHARE,
                quote=not (follows and message is not None and message.seq == current),
                asked=_asked(run, reading),
            ),
            sections.now(reading.now, reading.zone, count),
        ]
        return [part for part in found if part is not None]

    def _as_roles(
        self,
        stable: Sequence[Section],
        entries: Sequence[HistoryEntry],
        volatile: Sequence[Section],
    ) -> PromptRecord:
        """Render the history as messages, with the volatile sections before the current message.

        If there is no current message, the volatile sections come last, and the nudge follows.
        """
        turns = tuple(
            HistoryTurn(role="assistant" if one.own else "user", text=one.line) for one in entries
        )
        current = next((index for index, one in enumerate(entries) if one.current), len(turns))
        parts = [
            *stable[:-1],
            closing(stable[-1], self.tokens),
            Section(HISTORY, "", sum(one.tokens for one in entries)),
            *volatile[:-1],
            *(closing(last, self.tokens) for last in volatile[-1:]),
        ]
        record = _record(parts, nudge=render(NUDGE) if current == len(turns) else "")
        return record.model_copy(update={"stable": len(stable), "turns": turns, "current": current})


def _situation(reading: Reading, manner: Manner, tools: Sequence[ToolSpec]) -> Situation:
    """Return what decides which instructions the prompt of a reading needs."""
    threads = reading.workspace.threads
    return Situation(
        reply_mode=manner.reply_mode,
        history_format=manner.history_format,
        group=reading.chat is not None and reading.chat.kind == "group",
        tools=arguments_of(tools),
        threads=threads.active is not None or bool(threads.pending),
        sms_characters=(reading.config.effective.sms_answer_characters if reading.by_sms else None),
    )


def _asked(run: Run, reading: Reading) -> Message | None:
    """Return the question that the run waited for, if the active chat's window holds it."""
    resume, chat = run.resumed, reading.chat
    if resume is None or chat is None or resume.chat_id != chat.id:
        return None
    return next((one for one in reading.history.messages if one.seq == resume.asked_seq), None)


def taken_arguments(tools: Sequence[ToolSpec]) -> frozenset[str]:
    """Return the names of all arguments that tools take.

    An id or a number appears in the prompt only if a tool of the agent takes it.
    """
    schemas = (tool.parameters.get("properties") for tool in tools)
    return frozenset(name for each in schemas if isinstance(each, dict) for name in each)


def _size_of(parts: Sequence[Section], name: str) -> int:
    return sum(part.tokens for part in parts if part.name == name)


def _marked(record: PromptRecord, reading: Reading) -> PromptRecord:
    marks = (*record.marks, reading.prompt_mark) if reading.prompt_mark else record.marks
    return record.model_copy(update={"marks": marks})


def _record(parts: Sequence[Section], *, nudge: str) -> PromptRecord:
    return PromptRecord(
        sections=tuple(PromptSection(name=p.name, tokens=p.tokens, text=p.text) for p in parts),
        total_tokens=sum(part.tokens for part in parts),
        nudge=nudge,
        marks=tuple(prompt_mark for part in parts for prompt_mark in part.marks),
    )
