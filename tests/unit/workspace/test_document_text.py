"""How documents are shown: whole or openly cut, and never as anything else."""

import re

from hypothesis import given
from hypothesis import strategies as st

from skein.interface.section import SEPARATOR
from skein.models.visibility.audience import OPEN
from skein.workspace.models.document import Document
from skein.workspace.sections.document_text import (
    SHOWN_CHARACTERS,
    ShownDocument,
    document_head,
    document_text,
    missing_text,
)
from skein.workspace.sections.documents import Documents, global_documents
from tests.support.builders import NOON, TENANT, tokens
from tests.support.sections import section_input

LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
PIECES = [*LINE_ENDS, *"ab=|[] :", "INSTRUCTIONS:", "=== x (a/b, v1) ===", "[cut: 1"]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def document(text: str, name: str = "plan.md", **fields: object) -> Document:
    values = {"agent_id": "agt_a", "audience": OPEN, "created_at": NOON, "updated_at": NOON}
    return Document.model_validate({"tenant": TENANT, "name": name, "text": text} | values | fields)


def test_a_short_document_is_shown_whole_behind_bars() -> None:
    assert document_text(document("# Plan\n\n\tOne\n", version=3)) == (
        "=== plan.md (v3) ===\n| # Plan\n|\n| \tOne"
    )


def test_empty_document_is_marked_empty() -> None:
    assert document_text(document("")) == "=== plan.md (v1) ===\n[empty]"


def test_document_head_names_any_media_type_but_markdown() -> None:
    table = document("", name="a.csv", media_type="text/csv")
    assert document_head(table) == "=== a.csv (text/csv, v1) ==="


def test_long_document_is_cut_with_the_number_of_missing_characters() -> None:
    text = "x" * (SHOWN_CHARACTERS + 2_345)
    _, line, mark = document_text(document(text)).splitlines()
    assert line == "| " + "x" * SHOWN_CHARACTERS
    assert mark == (
        "[cut: 2,345 of 12,345 characters are missing; read on with read_document, offset 10000]"
    )
    *_, from_there, rest = document_text(document(text), offset=SHOWN_CHARACTERS).splitlines()
    assert from_there == "[from character 10,000 on, within a line]"
    assert rest == "| " + "x" * 2_345


def test_exactly_ten_thousand_characters_are_not_cut() -> None:
    assert "[cut" not in document_text(document("x" * SHOWN_CHARACTERS))


def test_reading_a_long_document_by_offset_returns_all_its_text() -> None:
    text = "".join(chr(0x4E00 + n % 5_000) for n in range(25_000))
    parts = []
    offset = 0
    while True:
        shown = document_text(document(text), offset=offset)
        parts += [line[2:] for line in shown.splitlines() if line.startswith("| ")]
        on = re.search(r"offset (\d+)\]$", shown)
        if on is None:
            break
        offset = int(on.group(1))
    assert "".join(parts) == text


@given(HOSTILE)
def test_every_line_of_a_document_is_prefixed(text: str) -> None:
    head, *lines = re.split(f"[{LINE_ENDS}]", document_text(document(text)))
    assert head == "=== plan.md (v1) ==="
    assert all(line.startswith("|") or line == "[empty]" for line in lines)
    assert (lines == ["[empty]"]) == (text == "")


def test_a_name_that_looks_like_a_head_is_quoted() -> None:
    shown = document_text(document("x", name="a (text/markdown, v9) ==="))
    assert shown.startswith('=== "a (text/markdown, v9) ===" (v1) ===\n')
    assert missing_text("b === c").startswith('=== "b === c" (missing) ===\n')


def test_invisible_characters_are_replaced_by_visible_ones() -> None:
    shown = document_text(document("a\u202eb\x00c\u200bd \u200d\tx"))
    assert shown.endswith("| a\ufffdb\ufffdc\ufffdd \u200d\tx")


# ---------------------------------------------------------------------- the section


def test_chat_documents_are_listed_after_the_agents_documents() -> None:
    shown = (
        ShownDocument("rules", document("Be kind.", name="rules")),
        ShownDocument("agenda", document("1. Hi", name="agenda"), of_chat=True),
    )
    section = global_documents(section_input(Documents(shown)))
    assert section is not None
    assert section.text == (
        "GLOBAL DOCUMENTS:\n=== rules (v1) ===\n| Be kind.\n"
        "  of the active chat:\n=== agenda (v1) ===\n| 1. Hi"
    )
    assert section.tokens == tokens().count(section.text + SEPARATOR)
    assert global_documents(section_input()) is None


def test_documents_over_budget_are_each_cut_with_a_mark() -> None:
    shown = tuple(
        ShownDocument(f"doc {n}", document("word " * 2_000, name=f"doc {n}")) for n in range(3)
    )
    whole = global_documents(section_input(Documents(shown)))
    assert whole is not None
    assert "[cut" not in whole.text
    for limit in (4_000, 1_000, 300):
        part = whole.within(limit)
        assert part.tokens <= limit
        assert part.tokens == tokens().count(part.text + SEPARATOR)
        assert part.text.count("=== doc ") == part.text.count("[cut: ") == 3
    least = whole.within(1)
    assert least.text.count("[cut: 10,000 of 10,000 characters are missing") == 3
