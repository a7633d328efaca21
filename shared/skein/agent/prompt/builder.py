"""The prompt builder, which fits the sections of an activation into a token limit.

Sections are ordered from stable to volatile, so that consecutive prompts share a long prefix,
which the provider's prefix cache serves.
"""

import json
from collections.abc import Collection, Mapping, Sequence
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
from skein.agent.prompt.instructions import SEND, Situation, arguments_of, instructions
from skein.agent.prompt.names import Names, names_in, participants, participants_of
from skein.agent.prompt.recalled import recalled
from skein.agent.prompt.section import Section, arranged, closing
from skein.agent.prompt.sections import kept
from skein.agent.prompt.skills import skills
from skein.agent.prompt.threads import active_thread, pending_threads
from skein.agent.prompt.timeline import EntryContext
from skein.agent.prompt.trigger import trigger
from skein.agent.reading.history import summed_up
from skein.agent.reading.reading import Reading
from skein.models.chats.chat import Chat
from skein.models.common.audience import may_show
from skein.models.directory.agent import Agent, HistoryFormat, ReplyMode
from skein.models.runs.completion import ToolSpec
from skein.models.runs.provenance import MAX_ENTRIES
from skein.models.runs.run import Run
from skein.models.runs.step import HISTORY, HistoryTurn, PromptRecord, PromptSection
from skein.models.workspace.skill import CORE
from skein.ports import ModelTokens
from skein.prompts import render
from skein.services.chat_state.history_window import window_of
from skein.services.memory.store import CORE_MEMORY_TOKENS
from skein.services.workspace.skill_selection import Selection, shipped
from skein.settings import Settings

JOURNAL_TOKENS = 2_000
SKILL_TOKENS = 4_000  # a skill is never cut

NUDGE = "timeline_nudge"
PAIR = 2  # a person and an agent
ENTER_CHAT, CHAT_ID, USER_ID = "enter_chat", "chat_id", "user_id"
REPLY_TO = "reply_to"  # the argument of send_message
BORROW, READ_SKILL = "borrow_context", "read_skill"
MAX_OTHER_MESSAGES = 3  # two system messages and the nudge
# Limits of the sections, as 1/n of the prompt's tokens.
BORROWED_SHARE = 3  # borrowed context takes at most a third
SUMMARY_SHARE = 3  # the summary takes at most a third of the history's limit
CORE_SHARE = 3  # core memories take at most a third
DOCUMENTS_SHARE = 3  # documents take at most a third
RECALLED_SHARE = 4  # recalled messages take at most a quarter
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
            tools: The agent's tools. Their size counts against the prompt's limit.
        """
        model = reading.agent.model or self.settings.default_model
        tokens = self.tokens.for_model(reading.config.effective.tokenizer_model or model)
        return PromptBuilder(tokens=tokens, settings=self.settings)._build(run, reading, tools)

    def _build(self, run: Run, reading: Reading, tools: Sequence[ToolSpec]) -> PromptRecord:
        manner = Manner.of(reading.agent, reading.chat)
        roles = manner.history_format == "roles"
        tokens_left = self._tokens_left(reading, tools)
        names, arguments = names_in(reading), arguments_of(tools)
        group = reading.chat is not None and reading.chat.kind == "group"
        numbered = group and manner.reply_mode == "tools" and REPLY_TO in arguments.get(SEND, ())
        context = entry_context(run, reading, names, numbered=numbered)
        entries = history_entries(run, reading, context, self.tokens, roles=roles)
        rules = instructions(_situation(reading, manner, tools), self.tokens)
        given = _Given(run, reading, manner, names, context, rules, arguments, tokens_left)
        stable = kept(self._stable(given), run, reading)
        volatile = kept(self._volatile(given, entries), run, reading)
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

    def _stable(self, given: "_Given") -> list[Section]:
        """Render the sections that rarely change within a chat; they precede its history."""
        reading, tokens_left = given.reading, given.tokens_left
        agent, items, workspace = reading.agent, reading.items, reading.workspace
        documents, share = tokens_left // DOCUMENTS_SHARE, tokens_left // LIST_SHARE
        summary = reading.config.effective.max_context_tokens // SUMMARY_SHARE
        found = [
            sections.identity(agent, self.tokens),
            given.rules,
            skills(
                given.skills,
                min(SKILL_TOKENS, share),
                self.tokens,
                may_read=READ_SKILL in agent.enabled_tools,
            ),
            people.user_profile(reading.person, agent, share, self.tokens),
            memory_sections.core_memories(
                items.memories,
                min(CORE_MEMORY_TOKENS, tokens_left // CORE_SHARE),
                self.tokens,
            ),
            global_documents(workspace.documents, documents, self.tokens),
            active_thread(workspace.threads, workspace.thread_documents, documents, self.tokens),
            pending_threads(workspace.threads.pending, share, self.tokens),
            sections.goals(items.goals, share, self.tokens, with_ids=given.takes("goal_id")),
            memory_sections.journal(items.memories, min(JOURNAL_TOKENS, share), self.tokens),
            self._your_chats(given) if reading.other_chats.complete else None,
            sections.active_chat(
                reading.chat,
                reading.trigger.home,
                self.tokens,
                roles=given.manner.history_format == "roles",
                may_enter=given.offers(ENTER_CHAT),
            ),
            sections.conversation(reading.chat, given.context.zone, self.tokens),
            elsewhere.conversation_summary(reading.history.before, summary, self.tokens),
            self._participants(given),
            sections.today(reading.now, reading.zone, self.tokens),
        ]
        return [part for part in found if part is not None]

    def _participants(self, given: "_Given") -> Section | None:
        """Render the legend; a chat of one person and the agent needs none."""
        chat, messages = given.reading.chat, given.reading.history.messages
        if chat is None or (chat.kind == "direct" and len(participants_of(chat, messages)) <= PAIR):
            return None
        share = given.tokens_left // LIST_SHARE
        shows = given.takes(USER_ID)
        return participants(given.names, chat, messages, share, self.tokens, with_ids=shows)

    def _your_chats(self, given: "_Given") -> Section | None:
        """Render the agent's chats, if a tool takes their ids."""
        if not given.takes(CHAT_ID):
            return None
        listed, active = given.reading.other_chats.listed, given.reading.chat
        share = given.tokens_left // LIST_SHARE
        return sections.your_chats(listed, active, given.names, share, self.tokens)

    def _volatile(self, given: "_Given", entries: Sequence[HistoryEntry]) -> list[Section]:
        reading, names, count = given.reading, given.names, self.tokens
        others, tokens_left, now = reading.other_chats, given.tokens_left, reading.now
        share = tokens_left // LIST_SHARE
        summary = reading.config.effective.max_context_tokens // SUMMARY_SHARE
        found = [
            None if others.complete else self._your_chats(given),
            elsewhere.last_session(others.last_session, now, summary, count),
            elsewhere.other_conversations(
                others.elsewhere,
                reading.chat,
                reading.destination,
                now,
                share,
                count,
                person=others.person,
                may_borrow=given.offers(BORROW),
                with_id=given.shows_id,
            ),
            elsewhere.borrowed_context(
                others.borrowed,
                names,
                now,
                tokens_left // BORROWED_SHARE,
                count,
                with_id=given.shows_id,
            ),
            recalled(
                reading.recalled,
                names,
                reading.chat.id if reading.chat is not None else None,
                given.context.zone,
                min(reading.config.effective.recall_tokens, tokens_left // RECALLED_SHARE),
                count,
            ),
            sections.plans(reading.items.plans, now, share, count),
            sections.active_runs(
                others.live_runs, given.run, names, share, count, with_ids=given.takes("run_id")
            ),
            trigger(
                given.run,
                reading,
                names,
                count,
                zone=given.context.zone,
                shown=[entry.seq for entry in entries],
                roles=given.manner.history_format == "roles",
                priority=sections.TRIGGER_GIVES_WAY,
                least=tokens_left // TRIGGER_SHARE,
                most_of_payload=tokens_left // PAYLOAD_SHARE,
            ),
            sections.now(now, reading.zone, count),
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
        kept_in=any(not may_show(reading.destination, chat.readers) for chat in reading.elsewhere),
        tools=arguments_of(tools),
        threads=threads.active is not None or bool(threads.pending),
        sms_characters=(
            reading.config.effective.sms_answer_characters if reading.channel == "sms" else None
        ),
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """Data that the sections of one prompt are made from."""

    run: Run
    reading: Reading
    manner: Manner
    names: Names
    context: EntryContext
    rules: Section
    tools: Mapping[str, Collection[str]]
    tokens_left: int

    def offers(self, tool: str) -> bool:
        """Return whether the model is offered a tool."""
        return tool in self.tools

    def takes(self, argument: str) -> bool:
        """Return whether a tool takes an argument."""
        return any(argument in arguments for arguments in self.tools.values())

    def shows_id(self, title: str, chat_id: str) -> bool:
        """Return whether sections on other chats show a chat's id.

        They do not if no tool takes it, or if YOUR CHATS lists the chat under a title of its own.
        """
        if not self.takes(CHAT_ID):
            return False
        listed = [own.chat for own in self.reading.other_chats.listed]
        return [chat.id for chat in listed if chat.display_title == title] != [chat_id]

    @property
    def skills(self) -> Selection:
        """The skills to show: without the shipped rules on documents if there are none."""
        workspace = self.reading.workspace
        threads = workspace.threads
        shown = workspace.documents or threads.active is not None or threads.pending
        tools = any("document" in name or "thread" in name for name in self.tools)
        chosen = workspace.skills
        if shown or tools:
            return chosen
        rules = shipped()[CORE]
        return chosen._replace(skills=tuple(skill for skill in chosen.skills if skill != rules))


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
        entries=tuple(entry for part in parts for entry in part.entries)[:MAX_ENTRIES],
    )
