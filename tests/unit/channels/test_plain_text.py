"""Markdown as plain text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.channels.plain_text import plain_text

words = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
phrases = st.lists(words, min_size=1, max_size=4).map(" ".join)
numbers = st.integers(0, 999).map(str)
lookalikes = st.one_of(
    phrases,
    st.lists(numbers, min_size=2, max_size=5).map("*".join),
    st.lists(numbers, min_size=2, max_size=5).map("**".join),
    st.lists(numbers | words, min_size=2, max_size=5).map(" * ".join),
    st.lists(numbers | words, min_size=2, max_size=5).map("_".join),
    numbers.map(lambda number: f"#{number}"),
    words.map(lambda word: f"#{word}"),
    st.tuples(words, numbers).map(lambda pair: f"{pair[0]}[{pair[1]}](x)"),
    st.tuples(words, words).map(lambda pair: f"https://{pair[0]}.example/_{pair[1]}_/a_b"),
    st.sampled_from(
        ["2 < 3", "a > b", "5*", "AT&amp;T", "<b>", "f(*a, **b)", "*21*030#", "(2)*3*(4)"]
    ),
)


def has_no_marks(text: str) -> bool:
    """Tell whether a text is free of a pair of marks that Markdown itself reads as one span."""
    return re.search(r"(?:\*\*b\)|\*21\*030#).* 5\*", text) is None


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a span of Markdown and its plain text."""
    said = draw(phrases)
    kind = draw(st.sampled_from(["*{}*", "**{}**", "_{}_", "__{}__", "***{}***", "`{}`"]))
    return kind.format(said), said


@st.composite
def blocks(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a block of Markdown with a marked span, and its plain text."""
    (span, plain), said = draw(marked()), draw(phrases)
    return draw(
        st.sampled_from(
            [
                (f"## {said} {span}", f"{said} {plain}"),
                (f"{said} {span} {said}", f"{said} {plain} {said}"),
                (f"* {said}\n* {span}", f"- {said}\n- {plain}"),
                (f"- {said}\n  - {span}", f"- {said}\n  - {plain}"),
                (f"3. {said}\n4. {span}", f"3. {said}\n4. {plain}"),
                (f"```python\n{span}\n```\n{span}", f"{span}\n{plain}"),
                (f"[{span}](https://x.example/a_b_c)", f"{plain} (https://x.example/a_b_c)"),
            ]
        )
    )


@given(st.lists(lookalikes, min_size=1, max_size=6).map(" ".join).filter(has_no_marks))
def test_plain_text_of_text_that_only_looks_like_markdown_is_unchanged(text: str) -> None:
    assert plain_text(text) == text


@given(st.lists(lookalikes, min_size=1, max_size=4).map(" ".join).filter(has_no_marks), marked())
def test_plain_text_beside_markdown_is_unchanged(text: str, span: tuple[str, str]) -> None:
    assert plain_text(f"{span[0]} {text}") == f"{span[1]} {text}"


@given(st.lists(blocks(), min_size=1, max_size=4))
def test_plain_text_of_markdown_has_its_words_without_marks(parts: list[tuple[str, str]]) -> None:
    markdown = "\n\nThen:\n\n".join(part[0] for part in parts)
    assert plain_text(markdown) == "\n\nThen:\n\n".join(part[1] for part in parts)


@given(st.text(st.sampled_from("ab1 \n\t#*_-+.>()!|\\&;:=\u4e2d"), max_size=60))
def test_plain_text_of_any_text_keeps_letters_and_digits(text: str) -> None:
    assert re.findall(r"\w", plain_text(text).replace("_", "")) == re.findall(
        r"\w", text.replace("_", "")
    )


@given(st.text(max_size=120))
def test_plain_text_of_any_text_is_some_text(text: str) -> None:
    assert bool(plain_text(text).strip()) == bool(text.strip())


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("[Map](https://m.example 'A map')", "Map (https://m.example)"),
        (
            "<https://m.example> and [m@x.example](mailto:m@x.example)",
            "https://m.example and m@x.example",
        ),
        ("![Knee](https://m.example/k.png)", "Knee (https://m.example/k.png)"),
        ("Options:\n* one\n\n  more\n* two", "Options:\n- one\n\n  more\n- two"),
        ("One\n\n---\n\nTwo", "One\n\nTwo"),
        ("| a | b |\n|---|:-:|\n| **1** | 2 |", "| a | b |\n| 1 | 2 |"),
        ("**S**trengths and **W**eaknesses", "Strengths and Weaknesses"),
        ("\u8fd9\u662f**\u6ce8\u610f\uff1a**\u8bf7", "\u8fd9\u662f\u6ce8\u610f\uff1a\u8bf7"),
        ("``` two words\ncode\n```", "two words\ncode"),
        ("**a**\r\nb", "a\nb"),
    ],
)
def test_plain_text_of_a_construct_reads_well(markdown: str, plain: str) -> None:
    assert plain_text(markdown) == plain


@pytest.mark.parametrize("text", ["2 * 3\n\n\n\nis 6", "- one  \n-  two", "  a_b  ", "a\\\nb"])
def test_plain_text_without_formats_keeps_its_spaces_and_lines(text: str) -> None:
    assert plain_text(text) == text


@pytest.mark.parametrize("text", ["---", "***", "```", "**", "", " "])
def test_plain_text_of_marks_alone_is_unchanged(text: str) -> None:
    assert plain_text(text) == text


@pytest.mark.check
@pytest.mark.parametrize("text", ["[", "![", "*a ", "_a*", "[a](", "- ", "`", "\\", "a\n* b\n"])
def test_plain_text_of_a_long_hostile_text_ends(text: str) -> None:
    assert plain_text(text * (20_000 // len(text)))
