"""The console's files fit together: each page has its words, its test and its row in the docs."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from local.template import ROOT
from local.timing.due_events import KINDS
from skein.models.chats.consent import PostFailure, PostStatus
from skein.models.chats.desk import DeskReason
from skein.models.config.overrides import OverridableSettings
from skein.models.directory.agent import ToolName
from skein.models.runs.run import AnswerMark, PromptMark, RunStatus
from skein.models.runs.trigger import TriggerType
from skein.outreach.api import PersonState
from skein.outreach.models.outreach import OutreachStatus
from skein.sharing.explained_api import ItemKind
from skein.trials.models.expectation import Expectation
from tests.support.each import check_each

CONSOLE = ROOT / "console"
MODULES = sorted(CONSOLE.rglob("*.js"))
BY_NAME = {str(path.relative_to(CONSOLE)): path for path in MODULES}
PAGES = sorted((CONSOLE / "pages").glob("*.js"))
WORDS = (CONSOLE / "words.js", *sorted((CONSOLE / "words").glob("*.js")))
# Each of these could turn content into markup, code or a style.
FORBIDDEN = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval|new Function"
    r"|createContextualFragment|setHTMLUnsafe|srcdoc|cookie)\b|\.style\b"
)
ENTRY = re.compile(r"^(?P<indent> *)(?P<name>\w+):(?P<rest>.*)$")
GROUP = re.compile(r"^export const (?P<name>\w+) = \{$")


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code(path: Path) -> str:
    """Return a module without imports and without comments that fill a line."""
    return re.sub(r"^( *(//|\*|/\*)|import ).*$", "", text(path), flags=re.MULTILINE)


@cache
def words() -> frozenset[str]:
    """The path of each text of the console, such as `pages.home.name`."""
    return frozenset(_words())


def _words() -> Iterator[str]:
    parents: list[str] = []
    group: list[str] = []  # of the lines that follow
    for line in "\n".join(map(text, WORDS)).splitlines():
        if opened := GROUP.match(line):
            group = [] if opened["name"] == "words" else ["pages", opened["name"]]
        found = ENTRY.match(line)
        if found is None:
            continue
        parents = [*group, *parents[len(group) :][: len(found["indent"]) // 2 - 1]]
        rest = found["rest"].strip()
        if rest == "{":
            parents.append(found["name"])
        elif rest.startswith("{"):
            for name in re.findall(r"(\w+):", rest):
                yield ".".join((*parents, found["name"], name))
        else:
            yield ".".join((*parents, found["name"]))


def aliases(source: str) -> dict[str, str]:
    """Return the names by which a module reaches words, and the prefix of each."""
    given = re.findall(r"const (\w+) = words\.([\w.]+);", source)
    return {"words": "", **{name: f"{prefix}." for name, prefix in given}}


def used(path: Path) -> set[str]:
    """Return the paths of the words that a module names."""
    source = code(path)
    return {
        prefix + found
        for name, prefix in aliases(source).items()
        for found in re.findall(rf"\b{name}\.([a-zA-Z]\w*(?:\.[a-zA-Z]\w*)*)", source)
    }


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_console_page_is_registered_with_its_words(path: Path) -> None:
    name = path.stem
    needs = "local|chat|support|privacy|owner"
    assert re.search(rf'export default {{ name: "{name}", needs: "({needs})"', text(path))
    listed = text(CONSOLE / "pages.js")
    assert f'import {name} from "./pages/{name}.js";' in listed, "import it in console/pages.js"
    order = re.search(r"export const menu = \[(.*?)\];", listed, re.DOTALL)
    assert order is not None
    assert name in re.findall(r"\w+", order[1]), "list it in the menu of console/pages.js"
    assert f"pages.{name}.name" in words(), "add its words to console/words/"
    assert (ROOT / "tests" / "console" / f"test_page_{name}.py").is_file(), "write its test"
    docs = text(ROOT / "docs" / "console.md")
    assert f"| `{name}` | `#/{name}`" in docs, "add its row to docs/console.md"


def test_documented_pages_exist() -> None:
    documented = re.findall(r"^\| `(\w+)` \| `#/", text(ROOT / "docs" / "console.md"), re.MULTILINE)
    assert sorted(documented) == [path.stem for path in PAGES]


def test_index_preloads_each_module_once() -> None:
    index = text(CONSOLE / "index.html")
    preloaded = re.findall(r'<link rel="modulepreload" href="([^"]+)">', index)
    modules = [path.relative_to(CONSOLE).as_posix() for path in MODULES]
    assert sorted(preloaded) == [name for name in sorted(modules) if name != "app.js"]


def test_index_has_no_inline_code_or_style() -> None:
    index = text(CONSOLE / "index.html")
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]* src=)|https?:", index)


def test_module_never_parses_content_as_markup() -> None:
    check_each(BY_NAME, _check_no_markup)


def _check_no_markup(path: Path) -> None:
    assert not FORBIDDEN.findall(code(path))
    if path.name != "dom.js":
        assert "createElement" not in code(path), "use `el` of console/dom.js"


def test_module_imports_files_of_the_console_only() -> None:
    check_each(BY_NAME, _check_imports)


def _check_imports(path: Path) -> None:
    for target in re.findall(r'from "([^"]+)"', text(path)):
        assert (path.parent / target).resolve().is_relative_to(CONSOLE)
        assert (path.parent / target).is_file()


def test_words_that_a_module_uses_exist() -> None:
    check_each(BY_NAME, _check_words)


def _check_words(path: Path) -> None:
    known = words()
    groups = {name.rpartition(".")[0] for name in known}
    groups |= {group.rpartition(".")[0] for group in groups}
    missing = {
        name
        for name in used(path)
        # A method of a text, or a text that a variable names, follows a known name.
        if not any(name == each or name.startswith(f"{each}.") for each in known | groups)
    }
    assert not missing


def chosen(path: Path) -> Iterator[re.Pattern[str]]:
    """Yield a pattern for words that a module names by a variable: `said.kinds[kind]`."""
    source = code(path)
    for name, prefix in aliases(source).items():
        for group, rest in re.findall(
            rf"\b{name}((?:\.\w+)+)\[[^\]]+\](?:\?)?((?:\.\w+)*)", source
        ):
            yield re.compile(re.escape(f"{prefix}{group[1:]}.") + r"\w+" + re.escape(rest))


def test_each_word_is_used() -> None:
    named = set().union(*map(used, MODULES))
    patterns = [pattern for path in MODULES for pattern in chosen(path)]
    unused = {
        name
        for name in words()
        if not any(each == name or each.startswith(f"{name}.") for each in named)
        and not any(pattern.fullmatch(name) for pattern in patterns)
    }
    assert not unused


@pytest.mark.parametrize(
    ("group", "values"),
    [
        ("runStatuses", get_args(RunStatus)),
        ("triggers", get_args(TriggerType)),
        ("marks", (*get_args(PromptMark), *get_args(AnswerMark))),
        ("pages.time.kinds", KINDS),
        ("pages.sharing.explanation.kinds", get_args(ItemKind)),
        ("inbox.posts", get_args(PostStatus)),
        ("inbox.failures", get_args(PostFailure)),
        ("pages.desk.reasons", get_args(DeskReason)),
        ("pages.errands.statuses", get_args(OutreachStatus)),
        ("pages.errands.personStates", get_args(PersonState)),
        ("pages.cases.kinds", tuple(Expectation.model_fields)),
    ],
)
def test_words_name_each_value_of_the_code(group: str, values: Sequence[str]) -> None:
    prefix = f"{group}."
    named = [name.removeprefix(prefix) for name in words() if name.startswith(prefix)]
    assert sorted(named) == sorted(values)


def test_each_setting_and_each_tool_has_its_place() -> None:
    groups = text(CONSOLE / "setting_groups.js")
    assert sorted(re.findall(r'"(\w+)"', groups)) == sorted(OverridableSettings.model_fields)
    described, _, grouped = text(CONSOLE / "tool_words.js").partition("toolGroups")
    assert sorted(re.findall(r"^  (\w+):", described, re.MULTILINE)) == sorted(get_args(ToolName))
    assert sorted(re.findall(r'"(\w+)"', grouped)) == sorted(get_args(ToolName))
