"""Convert Markdown to plain text, because a phone shows an SMS as it was written.

The text is parsed as CommonMark without HTML, entities, block quotes, indented code, underlined
headings and link references, because ordinary text too often looks like one of these.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.tree import SyntaxTreeNode

# Only a text with one of these can be Markdown that a phone would show.
MARKS = re.compile(r"[*_`#\[<\\|]|~~~|(?:-[ \t]*){3}")
LINK = re.compile(r"[a-z][a-z0-9+.-]+:|www\.", re.IGNORECASE)
TABLE_RULE = re.compile(r"[ \t]*+\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?[ \t]*")
NOT_PARSED = (
    *("blockquote", "code", "html_block", "lheading", "reference"),
    *("entity", "html_inline"),
)
BREAKS = frozenset({"softbreak", "hardbreak"})
FORMATS = frozenset({"code_inline", "em", "fence", "heading", "hr", "image", "link", "strong"})
BLANK_LINE, NEXT_LINE = "\n\n", "\n"


def plain_text(text: str) -> str:
    """Return a text without Markdown, in a form that reads well in an SMS.

    Marks of emphasis, headings and code are removed, and so are rulers and backslashes before
    punctuation. List items keep their numbers or begin with `-`. A link becomes `text (address)`.

    Text that only looks like Markdown stays: `2*3*4`, `snake_case`, `#1`, `[x](y)`. A text without
    any Markdown is returned unchanged, and so is a text that consists of marks only.
    """
    if MARKS.search(text) is None:
        return text
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415 - few texts need the parser

    root = SyntaxTreeNode(_parser().parse(text))
    if not any(_is_format(node) for node in root.walk()):
        return text
    return _blocks(root.children, text.splitlines()) or text


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - few texts need the parser

    parser = MarkdownIt("commonmark").disable(NOT_PARSED)
    parser.inline.ruler.at("emphasis", _emphasis)
    for name, function in (
        ("validateLink", lambda url: LINK.match(url) is not None),
        ("normalizeLink", str),  # keep the address as it was written
        ("normalizeLinkText", str),
    ):
        setattr(parser, name, function)
    return parser


def _emphasis(state: "StateInline", silent: bool) -> bool:  # noqa: FBT001 - called by the parser
    """Read a run of `*` or `_`, which opens or closes emphasis, or is ordinary text.

    CommonMark finds emphasis in `2*3*4` and `(2*3)*4*(5)`. Here, a single `*` is ordinary text
    between two letters or digits, after a closing bracket, and before an opening bracket. `**` may
    occur inside a word, but not next to a digit. In scripts without spaces between words, any run
    may occur inside a word. A `_` inside an address is ordinary text.
    """
    from markdown_it.rules_inline.state_inline import Delimiter  # noqa: PLC0415 - as above

    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    run = state.scanDelims(state.pos, marker == "*")
    end = state.pos + run.length
    before, after = state.src[state.pos - 1 : state.pos], state.src[end : end + 1]
    opens, closes = run.can_open, run.can_close
    if marker == "_" and _within_address(state.src, state.pos, end):
        opens = closes = False
    elif marker == "*" and before.isalnum() and after.isalnum():
        word = run.length > 1 and before.isalpha() and after.isalpha()
        joined = word or _is(before, "Lo") or _is(after, "Lo")
        opens, closes = opens and joined, closes and joined
    elif marker == "*" and run.length == 1:
        opens = opens and not (before.isalnum() or _is(before, "Pe"))
        closes = closes and not (after.isalnum() or _is(after, "Ps"))
    elif marker == "*":
        opens = opens or (_is(before, "Lo") and not after.isspace())
        closes = closes or (_is(after, "Lo") and not before.isspace())
    for _ in range(run.length):
        state.push("text", "", 0).content = marker
        state.delimiters.append(
            Delimiter(
                marker=ord(marker),
                length=run.length,
                token=len(state.tokens) - 1,
                end=-1,
                open=opens,
                close=closes,
            )
        )
    state.pos = end
    return True


def _within_address(source: str, start: int, end: int) -> bool:
    """Return whether the characters from `start` to `end` are in the middle of a web address."""
    if end == len(source) or source[end].isspace():
        return False
    begin = max(source.rfind(space, 0, start) for space in " \t\n")
    return "://" in source[begin + 1 : start]


def _is(character: str, category: str) -> bool:
    """Return whether a character has a Unicode category; False at the end of the text."""
    return bool(character) and unicodedata.category(character) == category


def _is_format(node: "SyntaxTreeNode") -> bool:
    """Return whether a node of the text contains marks that are removed."""
    if node.type == "bullet_list":
        return node.markup == "*"
    if node.type == "text":
        return TABLE_RULE.fullmatch(node.content) is not None
    return node.type in FORMATS


def _blocks(nodes: Iterable["SyntaxTreeNode"], lines: Sequence[str]) -> str:
    """Render blocks one after another, with a blank line where the source has one.

    Args:
        nodes: The blocks.
        lines: The lines of the source.
    """
    text, gap = "", ""
    for node in nodes:
        first = node.map[0] if node.map else 0
        if first and not lines[first - 1].strip():
            gap = BLANK_LINE
        block = _block(node, lines)
        if node.type == "hr":
            gap = BLANK_LINE
        elif block:
            text += (gap if text else "") + block
            gap = NEXT_LINE
    return text


def _block(node: "SyntaxTreeNode", lines: Sequence[str]) -> str:
    if node.type == "fence":
        words = node.info.strip()
        heading = f"{words}\n" if len(words.split()) > 1 else ""  # one word names the language
        return (heading + node.content).rstrip("\n")
    if node.type == "inline":
        shown = _inline(node.children).split("\n")
        return "\n".join(line for line in shown if TABLE_RULE.fullmatch(line) is None)
    if node.type == "list_item":
        prefix = f"{node.info}{node.markup}" if node.info else node.markup.replace("*", "-")
        indented = _blocks(node.children, lines).replace("\n", f"\n{' ' * (len(prefix) + 1)}")
        return re.sub(r"(?m)^ +$", "", f"{prefix} {indented}".rstrip())
    return _blocks(node.children, lines)


def _inline(nodes: Iterable["SyntaxTreeNode"]) -> str:
    return "".join(map(_words, nodes))


def _words(node: "SyntaxTreeNode") -> str:
    if node.type in BREAKS:
        return "\n"
    if node.type not in {"link", "image"}:
        return node.content if not node.children else _inline(node.children)
    text = _inline(node.children or [])
    address = str(node.attrs.get("href") or node.attrs.get("src") or "")
    bare = re.sub(r"^(?:mailto|tel|sms):", "", address)
    return bare if text.strip() in {"", address, bare} else f"{text} ({bare})"
