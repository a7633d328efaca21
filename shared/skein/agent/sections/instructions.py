"""INSTRUCTIONS: how the agent speaks and stays silent, in parts that fit the situation."""

from collections.abc import Iterator
from textwrap import indent

from skein.agent.sections.your_chats import askable_elsewhere, listed_elsewhere
from skein.interface.section import Section, SectionInput, prose
from skein.interface.tool import CONTINUE
from skein.models.common.person_names import split_tag
from skein.models.visibility.audience import may_show
from skein.prompts import render
from skein.workspace.sections.threads import Threads

SEND, END = "send_message", "end_run"
SWITCH, CREATE = "switch_thread", "create_thread"


def instructions(given: SectionInput) -> Section:
    """Render the instructions that fit the situation of a prompt.

    In each situation, there is one way to speak and one way to stay silent.
    """
    return prose("INSTRUCTIONS", indent("\n".join(_parts(given)), "  "), given.counter)


def _parts(given: SectionInput) -> Iterator[str]:
    tools, in_text, reading = given.tools, given.manner.reply_mode == "text", given.reading
    readers, group = reading.destination, reading.chat is not None and reading.chat.kind == "group"
    yield from _ways_to_act(given, in_text=in_text)
    if in_text and SEND in tools:
        yield render("instructions_other_chats")
    if any(not may_show(readers, chat.readers) for chat in listed_elsewhere(reading)):
        asks = SEND in tools and askable_elsewhere(reading)
        yield render("instructions_private_asks" if asks else "instructions_private")
    if in_text or END not in tools:
        yield render("instructions_silence_in_text")
    else:
        yield render("instructions_silence_by_tool")
    if group:
        yield render("instructions_group")
    if reading.channel.style is not None:
        characters = str(reading.channel.characters(reading.config.effective))
        yield render(reading.channel.style, {"characters": characters})
        if not group and not reading.knows_zone:
            yield render("instructions_unknown_zone")
    yield from _format(given, group=group)
    yield render("instructions_unchanged")
    if reading.chat is not None and any(split_tag(each.name)[1] for each in reading.chat.roster):
        yield f"- {render('chosen_note')}."
    if reading.has(Threads) or SWITCH in tools or CREATE in tools:
        yield render("instructions_threads")


def _format(given: SectionInput, *, group: bool) -> Iterator[str]:
    """Yield the explanations of the marks that the history uses."""
    if given.roles:
        yield render("instructions_roles_group" if group else "instructions_roles_direct")
    elif given.reading.chat is not None:
        marks = ["instructions_timeline"]
        marks += ["instructions_trigger_mark"] if given.context.trigger_seq is not None else []
        yield " ".join(map(render, marks))


def _ways_to_act(given: SectionInput, *, in_text: bool) -> Iterator[str]:
    """Yield the instructions on how to speak and save with as few model calls as possible."""
    if in_text:
        yield render("instructions_speak_in_text")
        if given.saves:
            yield render("instructions_save_beside_text")
    else:
        yield render(
            "instructions_speak_by_tool" if given.offers(SEND) else "instructions_no_speech"
        )
        if given.takes(CONTINUE):
            saves = given.saves
            yield render("instructions_save_and_end" if saves else "instructions_end_by_tool")
        elif given.saves and given.reading.chat is None:
            yield render("instructions_end_by_saving")
