"""A section of a prompt: its input, its text, its exact size, and how it is shortened."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from skein.interface.budget import Frame, shortened
from skein.interface.names import Names
from skein.interface.reading import Reading
from skein.interface.sources import SourceNames
from skein.interface.timeline import EntryContext
from skein.interface.told import Telling, Told
from skein.models.chats.chat import Chat
from skein.models.directory.agent import Agent, HistoryFormat, ReplyMode
from skein.models.runs.completion import ToolSpec
from skein.models.runs.provenance import EntryProvenance
from skein.models.runs.run import PromptMark, Run
from skein.models.visibility.provenance import Span
from skein.ports import TokenCounter

SEPARATOR = "\n\n"
LIST_SHARE = 5  # a list takes at most a fifth of the prompt's tokens
SUMMARY_SHARE = 3  # a summary takes at most a third of the history's limit


@dataclass(frozen=True, slots=True)
class Manner:
    """How an agent replies in a chat, and in which format its prompts show the history."""

    reply_mode: ReplyMode
    history_format: HistoryFormat

    @classmethod
    def of(cls, agent: Agent, chat: Chat | None) -> "Manner":
        """Return an agent's manner: as its settings say, or else the default for the kind of chat.

        By default, the agent of a direct chat replies with the text of its answer, and its prompts
        show the history as messages with roles. In a group, the agent replies with tools, and its
        prompts show a timeline. The manner of a group is also used if there is no chat.
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
class SectionInput:
    """The data and the limits from which the sections of one prompt are made.

    Attributes:
        run: The run, with its trigger.
        reading: The data that was read for the prompt.
        manner: How the agent replies, and in which format the prompt shows the history.
        names: The names of members in the prompt.
        context: How the entries of the history are rendered.
        tools: The arguments of each offered tool.
        saves: Whether an offered tool saves something.
        told: What the history, the plans and earlier sections already say, so that a section need
            not repeat it. None if some of these may be cut, so that no section may rely on them.
        tokens_left: The tokens for all sections together.
        counter: The tokenizer of the agent's model.
        shown: The messages of the history by `seq`, oldest first.
    """

    run: Run
    reading: Reading
    manner: Manner
    names: Names
    context: EntryContext
    tools: Mapping[str, Collection[str]]
    tokens_left: int
    counter: TokenCounter
    shown: Sequence[int] = ()
    saves: bool = False
    told: Told | None = None

    def tells(self, spans: Sequence[Span], text: str) -> bool:
        """Return whether the prompt already says everything in `text`.

        Args:
            spans: The messages from which the text was made.
        """
        return self.told is not None and self.told.repeats(spans, text)

    @property
    def roles(self) -> bool:
        """Whether the history is a list of messages with roles."""
        return self.manner.history_format == "roles"

    @property
    def sources(self) -> SourceNames:
        """How the prompt names the sources of items."""
        chat = self.reading.chat
        return SourceNames(self.names.__getitem__, chat.id if chat is not None else None)

    @property
    def list_limit(self) -> int:
        """The token limit of a section that lists items."""
        return self.tokens_left // LIST_SHARE

    @property
    def summary_limit(self) -> int:
        return self.reading.config.effective.max_context_tokens // SUMMARY_SHARE

    def offers(self, tool: str) -> bool:
        return tool in self.tools

    def takes(self, argument: str) -> bool:
        return any(argument in arguments for arguments in self.tools.values())


def arguments_of(tools: Sequence[ToolSpec]) -> dict[str, tuple[str, ...]]:
    """Return the arguments of tools, by the tool's name."""
    return {
        tool.name: tuple(cast("Mapping[str, object]", tool.parameters.get("properties", {})))
        for tool in tools
    }


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a prompt, with a title.

    Attributes:
        name: The name in capitals, as in the text.
        text: The whole section, including its name.
        tokens: The exact size, including the blank line after the section.
        shorter: A function that renders the section again in at most the given number of tokens. If
            that is impossible, it takes as few tokens as possible.
        marks: Marks on the run that tell operators how the section was built.
        entries: For operators: where each entry of the section comes from.
        told: What the section says, so that later sections do not repeat it.
    """

    name: str
    text: str
    tokens: int
    shorter: Callable[[int], "Section"] | None = field(default=None, compare=False)
    marks: tuple[PromptMark, ...] = ()
    entries: tuple[EntryProvenance, ...] = ()
    told: tuple[Telling, ...] = field(default=(), compare=False)

    def within(self, tokens: int) -> "Section":
        """Return the section in at most `tokens` tokens, or in as few as possible."""
        if self.tokens <= tokens or self.shorter is None:
            return self
        return self.shorter(tokens)


def prose(name: str, body: str, counter: TokenCounter) -> Section:
    """Create a section that is never shortened."""
    text = f"{name}:\n{body}"
    return Section(name, text, counter.count(text + SEPARATOR))


def one_line(name: str, fact: str, counter: TokenCounter) -> Section:
    """Create a section of one line that is never shortened."""
    text = f"{name}: {fact}"
    return Section(name, text, counter.count(text + SEPARATOR))


def around(
    name: str,
    text: str,
    frame: Frame,
    counter: TokenCounter,
    *,
    least: int = 0,
    gap: str = " ",
) -> Section:
    """Create a section around one long text, which is cut if there is no room.

    Args:
        name: The name of the section.
        text: The text that may be cut.
        frame: Renders the whole section around the text.
        counter: The tokenizer.
        least: The minimum number of tokens that the section keeps when it is shortened.
        gap: What separates the mark of a cut from the text.
    """

    def ended(shown: str) -> str:
        return frame(shown) + SEPARATOR

    def shorter(tokens: int) -> Section:
        shown = shortened(text, ended, max(tokens, least), counter, gap=gap)
        return Section(name, frame(shown), counter.count(ended(shown)), shorter)

    return Section(name, frame(text), counter.count(ended(text)), shorter)


def listing(name: str, lines: Sequence[str], limit: int, counter: TokenCounter) -> Section:
    """Create a section with as many lines as fit.

    If lines are left out, the last line says how many. Each line is counted separately, so that the
    counts of unchanged lines can be cached. The sum is exact: no token spans the end of a line,
    because the next line begins with spaces.

    Args:
        name: The name of the section.
        lines: The lines without line breaks, most important first.
        limit: The token limit.
        counter: The tokenizer.
    """

    def shorter(tokens: int) -> Section:
        return listing(name, lines, tokens, counter)

    shown: list[str] = [f"{name}:"]
    size = counter.count(f"{name}:\n")
    reserve = counter.count(_more(len(lines)) + SEPARATOR)
    for position, line in enumerate(lines):
        last = position == len(lines) - 1
        needed = counter.count(line + (SEPARATOR if last else "\n"))
        if size + needed + (0 if last else reserve) > limit:
            more = _more(len(lines) - position)
            shown.append(more)
            size += counter.count(more + SEPARATOR)
            break
        shown.append(line)
        size += needed
    return Section(name, "\n".join(shown), size, shorter)


def _more(missing: int) -> str:
    return f"  - and {missing} more"


def closing(section: Section, counter: TokenCounter) -> Section:
    """Return the section without the blank line after it, for the end of a message."""
    last = section.text.rsplit("\n", 1)[-1]
    surplus = counter.count(last + SEPARATOR) - counter.count(last)
    return replace(section, tokens=section.tokens - surplus)
