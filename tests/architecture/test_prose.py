"""Docstrings, comments, messages and pages avoid phrases that make a sentence hard to read."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("shared/skein", "functions", "local", "tools", "bench")
PHRASES = re.compile(
    r"\b(whoever|anew|for good(?! \w)|goes on|puts? off|be it|such as it is|astray|that which)\b",
    re.IGNORECASE,
)


NUMBERED = re.compile(r"\bDESIGN\b|\b[A-Z]{4,} section \d[\d.]*|\binvariants? \d+")
PAGE = re.compile(r"\b(?P<page>(?:docs/)[\w/-]+\.md)(?:, \"(?P<heading>[^\"]+)\")?")


def _modules() -> list[Path]:
    """Return the modules to check: all except the tools, whose docstrings are prompts."""
    modules = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return [path for path in modules if "agent/tools" not in path.as_posix()]


def _texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield each comment and each string with a space, with its line number."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, " ".join(node.value.split())
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _findings(source: str) -> list[str]:
    return [
        f"line {line}: {found[0]!r}"
        for line, text in _texts(source)
        if (found := PHRASES.search(text)) is not None
    ]


def _missing(text: str) -> Iterator[str]:
    """Yield the references of a text to what this repository does not have."""
    yield from (found[0] for found in NUMBERED.finditer(text))
    for found in PAGE.finditer(text):
        page = ROOT / found["page"]
        if not page.is_file():
            yield found["page"]
        elif found["heading"] is not None:
            headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
            if found["heading"] not in headings:
                yield found[0]


def _pages() -> list[Path]:
    """Return the pages to check."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_prose_of_pages_has_no_banned_phrase() -> None:
    found = {
        f"{page.name}: {match[0]!r}"
        for page in _pages()
        for match in PHRASES.finditer(" ".join(page.read_text(encoding="utf-8").split()))
    }
    assert found == set()


def test_prose_of_modules_has_no_banned_phrase() -> None:
    found = {
        f"{path.relative_to(ROOT)}, {finding}"
        for path in _modules()
        for finding in _findings(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_references_of_modules_name_pages_that_exist() -> None:
    modules = [path for folder in (*FOLDERS, "tests") for path in (ROOT / folder).rglob("*.py")]
    found = {
        f"{path.relative_to(ROOT)}, line {line}: {missing}: say the rule, or name a page of docs/"
        for path in modules
        if path != Path(__file__)
        for line, text in _texts(path.read_text(encoding="utf-8"))
        for missing in _missing(text)
    }
    assert found == set()


@pytest.mark.parametrize(
    "text",
    [
        "as said (DESIGN section 5)",
        "see DESIGN 5.8",
        "by invariant 6",
        "see docs/no_such_page.md",
        'see docs/runs.md, "No such heading"',
    ],
)
def test_reference_to_missing_page_is_found(text: str) -> None:
    assert len(list(_missing(text))) == 1


def test_reference_to_page_and_heading_is_no_finding() -> None:
    assert list(_missing('docs/runs.md, "A wait"; docs/data.md')) == []


@pytest.mark.parametrize(
    "source",
    ['"""Whoever asks gets it."""', "x = 1  # kept for good", 'raise ValueError("it goes\\n on")'],
)
def test_prose_with_banned_phrase_is_found(source: str) -> None:
    assert len(_findings(source)) == 1


def test_prose_skips_names_and_short_strings() -> None:
    assert _findings('anew = "anew"\n') == []
