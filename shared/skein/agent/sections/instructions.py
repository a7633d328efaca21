"""INSTRUCTIONS: how to speak and how to stay silent, in parts that fit the situation."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import indent

from skein.agent.prompt.section import Section, SectionInput, prose
from skein.agent.sections.threads import Threads
from skein.agent.sections.your_chats import listed_elsewhere
from skein.models.common.audience import may_show
from skein.models.directory.agent import HistoryFormat, ReplyMode
from skein.ports import TokenCounter
from skein.prompts import render

SEND, END = "send_message", "end_run"
SWITCH, CREATE = "switch_thread", "create_thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What decides which instructions a prompt needs.

    Attributes:
        reply_mode: How the agent answers.
        history_format: How the prompt shows the history.
        group: Whether the active chat is a group.
        kept_in: Whether words of the active chat may not reach another chat that the prompt lists.
        tools: The arguments of each offered tool.
        threads: Whether the prompt shows threads.
        sms_characters: How long an answer by SMS may be; None if the chat is not on SMS.
    """

    reply_mode: ReplyMode
    history_format: HistoryFormat
    group: bool = False
    kept_in: bool = False
    tools: Mapping[str, Collection[str]] = field(default_factory=dict)
    threads: bool = False
    sms_characters: int | None = None


def instructions(given: SectionInput) -> Section:
    """Render the instructions for the situation of a prompt."""
    reading, readers = given.reading, given.reading.destination
    situation = Situation(
        reply_mode=given.manner.reply_mode,
        history_format=given.manner.history_format,
        group=reading.chat is not None and reading.chat.kind == "group",
        kept_in=any(not may_show(readers, chat.readers) for chat in listed_elsewhere(reading)),
        tools=given.tools,
        threads=reading.of(Threads).any,
        sms_characters=(
            reading.config.effective.sms_answer_characters if reading.channel == "sms" else None
        ),
    )
    return instructions_for(situation, given.counter)


def instructions_for(situation: Situation, counter: TokenCounter) -> Section:
    """Render the instructions for a situation.

    Each situation has one way to speak and one way to stay silent.
    """
    text = indent("\n".join(_parts(situation)), "  ")
    return prose("INSTRUCTIONS", text, counter)


def _parts(situation: Situation) -> Iterator[str]:
    tools, in_text = situation.tools, situation.reply_mode == "text"
    if in_text:
        yield render("instructions_speak_in_text")
    else:
        yield render("instructions_speak_by_tool" if SEND in tools else "instructions_no_speech")
    if in_text and SEND in tools:
        yield render("instructions_other_chats")
    if situation.kept_in:
        yield render("instructions_private")
    if in_text or END not in tools:
        yield render("instructions_silence_in_text")
    else:
        yield render("instructions_silence_by_tool")
    if situation.group:
        yield render("instructions_group")
    if situation.sms_characters is not None:
        yield render("instructions_sms", {"characters": str(situation.sms_characters)})
    if situation.history_format == "timeline":
        yield render("instructions_timeline")
    else:
        yield render("instructions_roles_group" if situation.group else "instructions_roles_direct")
    yield render("instructions_quoted")
    if situation.threads or SWITCH in tools or CREATE in tools:
        yield render("instructions_threads")
