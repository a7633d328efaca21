"""Prompt builder: fits the sections of an activation into a token limit.

`order` lists the sections in their order. The history gets the tokens that the other sections
leave. If it needs more, it gets at least a quarter of the total.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from skein.agent.sections.order import IN_CHAT, NEEDS, STABLE, VOLATILE
from skein.agent.sections.participants import names_in
from skein.agent.sections.tellings import tellings_of
from skein.interface.budget import (
    MESSAGE_OVERHEAD_TOKENS,
    HistoryEntry,
    fit,
    left_out,
    total,
)
from skein.interface.history import (
    History,
    entry_context,
    head_tokens,
    history_entries,
    history_head,
    summed_up,
    timeline,
)
from skein.interface.media import (
    NO_MEDIA,
    READ_ON,
    MessageMedia,
    ShownMedia,
    pictures,
    shown_media,
)
from skein.interface.reading import Reading, current_seq
from skein.interface.section import (
    Manner,
    Section,
    SectionInput,
    arguments_of,
    closing,
)
from skein.interface.told import Told
from skein.models.common.prompt_sections import SECTIONS
from skein.models.runs.completion import ImageRef, ToolSpec
from skein.models.runs.provenance import MAX_ENTRIES
from skein.models.runs.run import Run
from skein.models.runs.step import HISTORY, HistoryTurn, PromptRecord, PromptSection
from skein.prompts import render
from skein.services.chat_state.history_window import window_of
from skein.services.common.token_cache import RememberedTokens
from skein.settings import Settings

NUDGE = "timeline_nudge"
SEND, REPLY_TO = "send_message", "reply_to"
MAX_OTHER_MESSAGES = 3  # two system messages and the nudge
HISTORY_SHARE = 4  # if the history needs them, it gets at least a quarter of the tokens
PLAIN = frozenset({"IDENTITY", "INSTRUCTIONS"})  # the sections of a prompt without context


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBuilder:
    """Service that builds prompts from the data that was read for them."""

    tokens: RememberedTokens
    settings: Settings

    def build(self, run: Run, reading: Reading, tools: Sequence[ToolSpec]) -> PromptRecord:
        """Build the prompt of one activation, counted with the tokenizer of the agent's model.

        Args:
            run: The run, with its trigger.
            tools: The agent's tools. Their size counts against the prompt's limit.
        """
        model = reading.agent.model or self.settings.default_model
        tokens = self.tokens.for_model(reading.config.effective.tokenizer_model or model)
        builder = PromptBuilder(tokens=tokens, settings=self.settings)
        return builder._build(run, reading, tools, model)

    def _build(
        self, run: Run, reading: Reading, tools: Sequence[ToolSpec], model: str
    ) -> PromptRecord:
        manner = Manner.of(reading.agent, reading.chat)
        roles = manner.history_format == "roles"
        tokens_left = self._tokens_left(reading, tools)
        names, arguments = names_in(reading), arguments_of(tools)
        group = reading.chat is not None and reading.chat.kind == "group"
        numbered = group and manner.reply_mode == "tools" and REPLY_TO in arguments.get(SEND, ())
        media = NO_MEDIA
        if reading.has(MessageMedia):
            media = shown_media(
                reading,
                model,
                self.tokens,
                tokens_left=tokens_left,
                reads_on=READ_ON in arguments,
                after=current_seq(run, reading.chat) if roles else None,
            )
        context = entry_context(run, reading, names, numbered=numbered, media=media.captions)
        entries = history_entries(run, reading, context, self.tokens, roles=roles)
        given = SectionInput(
            run=run,
            reading=reading,
            manner=manner,
            names=names,
            context=context,
            tools=arguments,
            tokens_left=tokens_left,
            counter=self.tokens,
            shown=[entry.seq for entry in entries],
            saves=any(tool.saves for tool in tools),
        )
        given = replace(given, told=Told(partial(tellings_of, given)))
        return self._fitted(given, entries, media, tools, model)

    def _fitted(
        self,
        given: SectionInput,
        entries: Sequence[HistoryEntry],
        media: ShownMedia,
        tools: Sequence[ToolSpec],
        model: str,
    ) -> PromptRecord:
        """Render the sections, and as much of the history as fits."""
        reading, context, roles = given.reading, given.context, given.roles
        shown_images = self._pictures(media.images, reading, model)
        tokens_left = given.tokens_left - sum(part.tokens for part in shown_images)
        stable = _rendered(STABLE, given)
        volatile = _rendered(VOLATILE, given)
        head = history_head(reading, context)
        around = head_tokens(head, reading, context, self.tokens, roles=roles)
        summary = _size_of(stable, "CONVERSATION SUMMARY")
        limit = reading.config.effective.max_context_tokens - summary - around
        least = min(total(entries), tokens_left // HISTORY_SHARE, limit) + around
        parts = _arranged([*stable, *volatile], tokens_left - least)
        left = tokens_left - around - sum(part.tokens for part in parts)
        block = window_of(reading.chat, self.settings) // 2 if reading.chat else 1
        shown = fit(entries, max(min(limit, left), 0), self.tokens, block=block)
        whole = [*shown] == entries and parts == [*stable, *volatile]
        if not whole and given.told is not None and given.told.relied_on:
            return self._fitted(replace(given, told=None), entries, media, tools, model)
        history = reading.of(History)
        if history.fuller is not None and left_out(entries, shown) > summed_up(history.before):
            fuller = replace(history, before=history.fuller, fuller=None)
            return self._build(given.run, reading.having(fuller), tools, model)
        stable, volatile = parts[: len(stable)], parts[len(stable) :]
        if roles:
            record = self._as_roles(stable, shown, volatile)
        else:
            lines = [timeline(head, shown, reading, context, self.tokens)] if head else []
            record = self._as_timeline([*stable, *lines, *volatile])
            record = record.model_copy(update={"stable": len(stable)})
        images = media.within(entry.seq for entry in shown) if media.images else ()
        pictured = _with_pictures(record, images, self._pictures(images, reading, model))
        return _marked(pictured, reading)

    def _as_timeline(self, parts: Sequence[Section]) -> PromptRecord:
        """Render all sections as one message, and add the fixed request to answer (`NUDGE`)."""
        return _record([*parts[:-1], closing(parts[-1], self.tokens)], nudge=render(NUDGE))

    def _pictures(self, images: Sequence[ImageRef], reading: Reading, model: str) -> list[Section]:
        """Return a section with the pictures for the model; empty if there are none."""
        if not images:
            return []
        detail = reading.config.effective.image_detail
        size = sum(image.tokens(model, detail) for image in images)
        return [pictures(images, size, self.tokens)]

    def _tokens_left(self, reading: Reading, tools: Sequence[ToolSpec]) -> int:
        whole = reading.agent.max_prompt_tokens or self.settings.max_prompt_tokens
        offered = self.tokens.count(f"[{', '.join(tool.text for tool in tools)}]")
        frames = MAX_OTHER_MESSAGES * MESSAGE_OVERHEAD_TOKENS + self.tokens.count(render(NUDGE))
        answer = reading.config.effective.reserved_response_tokens
        return max(whole - answer - offered - frames, 0)

    def _as_roles(
        self,
        stable: Sequence[Section],
        entries: Sequence[HistoryEntry],
        volatile: Sequence[Section],
    ) -> PromptRecord:
        """Render the history as messages, with the volatile sections before the current message.

        If there is no current message, the volatile sections and the request to answer (`NUDGE`)
        come last.
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


def _rendered(
    sections: Sequence[Callable[[SectionInput], Section | None]], given: SectionInput
) -> list[Section]:
    """Render the sections that the prompt needs, in their order.

    A prompt without context has only IDENTITY and INSTRUCTIONS. A degraded context also has TODAY
    and NOW, and TRIGGER if there is no current message. TRIGGER is also included if the person's
    phone number is unproven: it tells the model so.
    """
    reading, read = given.reading, {type(each) for each in given.reading.items}
    rendered: list[Section] = []
    for section in sections:
        needed, attribute = NEEDS.get(section), IN_CHAT.get(section)
        if needed is not None and needed not in read:
            continue
        if attribute is not None and getattr(reading.chat, attribute, None) is None:
            continue
        part = section(given)
        if part is not None:
            rendered.append(part)
            if given.told is not None and part.told:
                given.told.add(part.told)
    if reading.prompt_mark is None:
        return rendered
    names = set(PLAIN)
    if reading.prompt_mark == "context_unavailable":
        names |= {"TODAY", "NOW"}
        if current_seq(given.run, reading.chat) is None:
            names.add("TRIGGER")
    if reading.prompt_mark == "number_unproven":
        names.add("TRIGGER")
    return [part for part in rendered if part.name in names]


def _arranged(sections: Sequence[Section], tokens_left: int) -> list[Section]:
    """Shorten sections until all of them fit into `tokens_left` tokens; keep their order.

    `SectionNote.gives_way` determines which sections are shortened first. Each section is shortened
    as much as needed, or as much as it can be.
    """
    ranks = {name: note.gives_way for name, note in SECTIONS.items() if note.gives_way is not None}
    size = sum(section.tokens for section in sections)
    kept = list(sections)
    shortened = (index for index, part in enumerate(kept) if part.name in ranks)
    for position in sorted(shortened, key=lambda index: ranks[kept[index].name]):
        if size <= tokens_left:
            break
        whole = kept[position]
        kept[position] = whole.within(max(whole.tokens - (size - tokens_left), 0))
        size += kept[position].tokens - whole.tokens
    return kept


def _size_of(parts: Sequence[Section], name: str) -> int:
    return sum(part.tokens for part in parts if part.name == name)


def _marked(record: PromptRecord, reading: Reading) -> PromptRecord:
    marks = (*record.marks, reading.prompt_mark) if reading.prompt_mark else record.marks
    return record.model_copy(update={"marks": marks})


def _with_pictures(
    record: PromptRecord, images: tuple[ImageRef, ...], parts: Sequence[Section]
) -> PromptRecord:
    """Return the record with the pictures and their section; unchanged without pictures."""
    if not images:
        return record
    added = _record(parts, nudge="")
    sections = (*record.sections, *added.sections)
    total_tokens = record.total_tokens + added.total_tokens
    return record.model_copy(
        update={"sections": sections, "total_tokens": total_tokens, "images": images}
    )


def _record(parts: Sequence[Section], *, nudge: str) -> PromptRecord:
    return PromptRecord(
        sections=tuple(PromptSection(name=p.name, tokens=p.tokens, text=p.text) for p in parts),
        total_tokens=sum(part.tokens for part in parts),
        nudge=nudge,
        marks=tuple(prompt_mark for part in parts for prompt_mark in part.marks),
        entries=tuple(entry for part in parts for entry in part.entries)[:MAX_ENTRIES],
    )
