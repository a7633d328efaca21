"""The docs agree with the code: names, limits, metrics and error codes, in both directions."""

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

from local.template import ROOT
from skein import errors
from skein.models.common.prompt_sections import SECTIONS
from skein.models.common.retry import Retry
from skein.models.runs import run, step
from skein.models.runs.completion import AnswerFault
from skein.services.delivery.policy import RETRY as DELIVERY_RETRY
from skein.services.outbox.background_scanner import DUE_JOBS
from skein.services.outbox.tick import BACKGROUND_KINDS, RETRY
from skein.services.quotas.usage import COUNTS
from skein.settings import PREFIX, Settings, variable
from tests.support.background import DUE_TASKS
from tests.support.each import check_each
from tests.support.template import deployed_template, ops_template
from tests.support.trees import trees
from tools.reference.alarms import alarms_of, described

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
MEASURED = sorted((ROOT / "bench").glob("*.md"))
CURRENT = [path for path in PAGES if path.name != "CHANGELOG.md"]
TEMPLATE = deployed_template()
CODE = sorted(
    path
    for folder in ("shared/skein", "functions", "local", "tools", "bench")
    for path in (ROOT / folder).rglob("*.py")
    if "docs/" in path.read_text(encoding="utf-8")
)
SOURCES = sorted([*(ROOT / "shared" / "skein").rglob("*.py"), *(ROOT / "functions").glob("*.py")])

LOCAL_VARIABLES = {
    "SKEIN_PORT",
    "SKEIN_LIVE_PORT",
    "SKEIN_HOST",
    "SKEIN_CORS_ORIGINS",
    "SKEIN_CACHE_DIR",
    "SKEIN_DATA_DIR",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
}
# Fields of each line of the log, and of the access log.
LOG_FIELDS = {
    "correlation_id",
    "exception",
    "function_name",
    "function_request_id",
    "level",
    "location",
    "message",
    "service",
    "timestamp",
}
# Logged by way of `**counts` and other dictionaries.
SPREAD_FIELDS = {*COUNTS, "line", "message_id", "sid", "user_id"}

NOON = datetime(2026, 2, 18, 12, tzinfo=UTC)

TEST_NAME = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")

Row = tuple[str, ...]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def part(text: str, heading: str) -> str:
    """What stands under a heading, its smaller headings included."""
    level = len(heading) - len(heading.lstrip("#"))
    _, found, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert found, f"there is no heading {heading!r}"
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[Row]:
    """The rows of a part's tables, without their heads."""
    cells = [
        tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
        for line in text.splitlines()
        if line.startswith("|")
    ]
    heads = {position - 1 for position, row in enumerate(cells) if set(row[0]) == {"-"}}
    return [
        row
        for position, row in enumerate(cells)
        if position not in {*heads, *(h + 1 for h in heads)}
    ]


def by_name(paths: Iterable[Path]) -> dict[str, Path]:
    return {str(path.relative_to(ROOT)): path for path in paths}


def named(table: Iterable[Row]) -> set[str]:
    """What stands between backticks in the first column."""
    return {name for row in table for name in re.findall(r"`([^`]+)`", row[0])}


def calls(tree: ast.Module, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            if name in names:
                yield node


def constant(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def first_texts(found: Iterable[ast.Call]) -> set[str]:
    texts = (constant(call.args[0]) if call.args else None for call in found)
    return {text for text in texts if text is not None}


# ---------------------------------------------------------------------- settings


def test_settings_page_lists_all_other_environment_variables() -> None:
    given = TEMPLATE.document["Globals"]["Function"]["Environment"]["Variables"]
    others = {name for name in given if not name.startswith(PREFIX)}
    documented = named(rows(part(page("settings.md"), "## Other variables")))
    assert documented == others | LOCAL_VARIABLES


# ---------------------------------------------------------------------- operations


def alarms() -> set[str]:
    return {name for name, _ in alarms_of(TEMPLATE, ops_template())}


def test_each_alarm_leads_to_a_section_of_the_runbook_and_each_section_has_an_alarm() -> None:
    runbook = page("alarms.md").partition("\n## Metrics\n")[0]
    headings = re.findall(r"^## (.+)$", runbook, flags=re.MULTILINE)
    sections = {heading.lower().replace(" ", "-") for heading in headings} - {"first-look"}
    found = [
        (name, alarm, *described(alarm)) for name, alarm in alarms_of(TEMPLATE, ops_template())
    ]
    assert {section for *_, section in found} == sections
    for name, alarm, text, _ in found:
        told = re.findall(r"More than ([\d.]+) %", text)
        assert [float(each) for each in told] in ([], [alarm.get("Threshold")]), name


def test_queries_of_the_log_name_lines_and_fields_that_there_are() -> None:
    pages = page("alarms.md") + page("reasons.md")
    lines = re.findall(r'message = "([^"]+)"', pages)
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    texts = {line for line in lines if f'"{line}"' in code}
    known = logged_fields() | SPREAD_FIELDS | LOG_FIELDS
    for query in re.findall(r"^ *insights '(.+)'", pages, flags=re.MULTILINE):
        assert set(re.findall(r'message = "([^"]+)"', query)) <= texts, query
        fields = re.findall(r"\| fields ([^|]+)", query)
        told = {field.strip() for each in fields for field in each.split(",")}
        assert {field for field in told if not field.startswith("@")} <= known, query


def test_metrics_are_documented_with_unit_and_dimensions() -> None:
    counted: dict[str, tuple[str, bool]] = {}
    for _, tree in trees(SOURCES, r"\bcount\("):
        for call in calls(tree, "count"):
            name = constant(call.args[0]) if call.args else None
            if name is not None and re.fullmatch(r"[A-Z][A-Za-z]+", name):
                given = {keyword.arg: keyword.value for keyword in call.keywords}
                found = (constant(given.get("unit")) or "Count", "reason" in given)
                assert counted.setdefault(name, found) == found, name
    counted |= {due.task.failures: ("Count", False) for due in DUE_TASKS}
    documented = [
        row for row in rows(part(page("alarms.md"), "## Metrics")) if row[0].startswith("`")
    ]
    assert len(documented) == len({row[0] for row in documented})
    assert {row[0].strip("`"): (row[1], row[2] == "`reason`") for row in documented} == counted
    assert all(row[3] for row in documented)


def logged_fields() -> set[str]:
    """The fields that the code passes to the log by name."""
    return {
        str(constant(key))
        for _, tree in trees(SOURCES, r"\bextra=")
        for call in calls(tree, "debug", "info", "warning", "error", "exception")
        for keyword in call.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if key is not None
    }


def test_each_section_of_a_prompt_has_a_provenance() -> None:
    folder = ROOT / "shared" / "skein"
    makers = (
        "Section",
        "around",
        "documents_section",
        "listing",
        "one_line",
        "prose",
        "_remembered",
    )
    made = {
        name
        for path, tree in trees(SOURCES, rf"\b(?:{'|'.join(makers)})\(")
        if path.is_relative_to(folder)
        for name in first_texts(calls(tree, *makers))
    }
    assert made | {step.HISTORY} == SECTIONS.keys(), (
        "say in SECTIONS of skein/models/common/prompt_sections.py where each section comes from"
    )


def test_delivery_retry_waits_are_documented() -> None:
    waits = " and ".join(str(wait // timedelta(minutes=1)) for wait in DELIVERY_RETRY.waits)
    told = re.findall(r"SMS again after ([0-9].*?) minutes", page("operations.md"))
    assert told == [waits]
    assert all(wait % timedelta(minutes=1) == timedelta(0) for wait in DELIVERY_RETRY.waits)


def in_minutes(retry: Retry) -> list[int]:
    return [wait // timedelta(minutes=1) for wait in retry.waits]


def test_tick_backoff_is_documented() -> None:
    *first, last = in_minutes(RETRY)
    assert f"after {', '.join(map(str, first))} and then every {last} minutes" in page(
        "operations.md"
    )
    [kind] = BACKGROUND_KINDS
    *first, last = in_minutes(DUE_JOBS[kind].retry)
    assert f"background work: {', '.join(map(str, first))}, then every {last} minutes" in page(
        "operations.md"
    )


def test_run_marks_are_documented() -> None:
    marks = {*get_args(run.PromptMark), *get_args(run.AnswerMark), *get_args(run.CallMark)}
    assert named(rows(part(page("runs.md"), "## Marks"))) == marks


def test_answer_faults_are_documented() -> None:
    heading = "## An answer that cannot be used"
    assert named(rows(part(page("runs.md"), heading))) == set(get_args(AnswerFault))


# ---------------------------------------------------------------------- deployment


def test_limits_are_documented_with_their_defaults() -> None:
    settings = Settings()
    defaults = (
        settings.user_messages_per_minute,
        settings.user_tokens_per_day,
        settings.user_chat_changes_per_hour,
        settings.user_reads_per_minute,
        settings.tenant_messages_per_minute,
        settings.tenant_tokens_per_day,
    )
    limits = rows(part(page("limits.md"), "## Messages and tokens"))[: len(defaults)]
    assert [row[1] for row in limits] == [f"{each:,}" if each else "none" for each in defaults]
    background = f"`background_tokens_per_day`, {settings.background_tokens_per_day:,} by default"
    assert background in " ".join(page("limits.md").split())


def test_pages_name_only_alarms_that_there_are() -> None:
    check_each(by_name(PAGES), _check_alarms)


def _check_alarms(path: Path) -> None:
    assert set(re.findall(r"`([A-Za-z]+Alarm)`", path.read_text(encoding="utf-8"))) <= alarms()


# ---------------------------------------------------------------------- the API


def test_error_codes_are_documented() -> None:
    kinds: list[type[errors.Rejected]] = [errors.Rejected, *errors.Rejected.__subclasses__()]
    ours = {(str(kind.status), f"`{kind.code}`") for kind in kinds}
    documented = {row[:2] for row in rows(part(page("api.md"), "## Rules"))}
    assert documented == ours | {
        ("500", "`internal`"),
        ("503", "`unavailable`"),
        ("503", "`storage_full`"),
    }


# ---------------------------------------------------------------------- all pages


def test_links_have_existing_targets() -> None:
    check_each(by_name(PAGES), _check_links)


def _check_links(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        found = (path.parent / name).resolve() if name else path
        assert found.exists(), f"{path.name} links to {target}"
        if anchor:
            assert anchor in anchors(found), f"{path.name} links to {target}"


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_readme() -> None:
    """Each page is linked from the README, or from a page that is."""
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        path = ahead.pop()
        reached.add(path)
        for target in re.findall(r"\]\(([^)\s:#]+\.md)", path.read_text(encoding="utf-8")):
            found = (path.parent / target).resolve()
            if found.is_relative_to(DOCS) and found not in reached:
                ahead.append(found)
    assert set(DOCS.rglob("*.md")) <= reached


def test_files_and_targets_that_pages_name_are_there() -> None:
    check_each(by_name([*PAGES, *MEASURED]), _check_files_and_targets)


def _check_files_and_targets(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z0-9-]+)", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    folders = (
        r"(?:shared|functions|local|tests|docs|prompts|events|tools|requirements|bench|deployment)"
    )
    for name in re.findall(rf"`({folders}/[\w./-]+\.\w+)`", text):
        assert (ROOT / name).exists(), f"{path.name} names {name}"
    for name in re.findall(r"`((?:models|services|agent|adapters)/[\w/]+\.py)", text):
        assert (ROOT / "shared" / "skein" / name).exists(), f"{path.name} names {name}"


def test_tests_that_pages_name_are_there() -> None:
    check_each(by_name(PAGES), _check_tests)


def _check_tests(path: Path) -> None:
    for name, function in TEST_NAME.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file(), f"{path.name} names {name}"
        found = (ROOT / name).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in found, f"{path.name} names {function}"


def test_each_threat_names_its_defense_and_a_test() -> None:
    threats = rows(part(page("threat-model.md"), "## Attackers"))
    assert len(threats) >= 10
    for who, attack, stopped_by, shown_by in threats:
        assert who, threats
        assert attack, who
        assert stopped_by, who
        assert TEST_NAME.search(shown_by), who


def test_shell_blocks_of_pages_are_valid_bash() -> None:
    check_each(by_name(PAGES), _check_shell_blocks)


def _check_shell_blocks(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^( *)```sh\n(.*?)^ *```$", text, flags=re.DOTALL | re.MULTILINE)
    if blocks:
        script = "\n".join(block for _, block in blocks)
        done = subprocess.run(
            ["bash", "-n"], input=script, capture_output=True, text=True, check=False, timeout=30
        )
        assert not done.stderr


def test_pages_name_only_variables_that_there_are() -> None:
    check_each(by_name(PAGES), _check_variables)


def _check_variables(path: Path) -> None:
    known = {variable(name) for name in Settings.model_fields} | LOCAL_VARIABLES
    told = set(re.findall(r"\bSKEIN_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    of_clients = {"SKEIN_URL", "SKEIN_TOKEN"}
    for_tests = {"SKEIN_REQUIRE_BROWSER", "SKEIN_REQUIRE_ENGINE", "SKEIN_WHOLE"}
    assert told <= known | of_clients | for_tests


def test_pages_name_only_functions_that_there_are() -> None:
    check_each(by_name([*CURRENT, ROOT / "bench" / "results.md"]), _check_functions)


def _check_functions(path: Path) -> None:
    template = deployed_template()
    names = {function.logical_id for function in template.functions}
    ends = {re.findall(r"[A-Z][a-z]+", name)[-1] for name in names}
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[A-Z][a-z]+){2,})`", text))
    like = {name for name in named if re.findall(r"[A-Z][a-z]+", name)[-1] in ends}
    assert like <= names | {*template.document["Resources"], *template.document["Parameters"]}


def test_bench_has_measured_each_function_and_names_its_commit() -> None:
    text = (ROOT / "bench" / "results.md").read_text(encoding="utf-8")
    modules = {each.handler.removesuffix(".handler") for each in deployed_template().functions}
    assert set(re.findall(r"^\| `(\w+)` \| \d", text, re.MULTILINE)) == modules
    assert re.search(r"^\d{4}-\d\d-\d\d, commit [0-9a-f]{10}, ", text, re.MULTILINE)


def test_pages_and_headings_that_the_code_names_are_there() -> None:
    check_each(by_name(CODE), _check_pages_and_headings)


def _check_pages_and_headings(path: Path) -> None:
    text = re.sub(r"\s+(# )?", " ", path.read_text(encoding="utf-8"))
    for name, heading in re.findall(r"\b(docs/[\w/-]+\.md)(?:, \"([^\"]+)\")?", text):
        assert (ROOT / name).is_file(), name
        assert not heading or f"\n# {heading}\n" in re.sub(
            r"\n#+ ", "\n# ", (ROOT / name).read_text(encoding="utf-8")
        ), f"{name} has no heading {heading!r}"


# ---------------------------------------------------------------------- glossary


def glossary() -> list[str]:
    return re.findall(r"^\| (?!Term \|)([^|]+?) \| ", page("glossary.md"), flags=re.MULTILINE)


def test_glossary_is_alphabetical_with_one_term_an_entry() -> None:
    terms = glossary()
    assert len(terms) > 100
    assert terms == sorted(set(terms), key=str.lower)
    assert not [term for term in terms if re.search(r"[,/();]| and | or ", term)]


def test_each_term_of_the_glossary_is_used_by_another_page() -> None:
    others = [path for path in PAGES if path.name not in {"glossary.md", "CHANGELOG.md"}]
    text = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in others).lower()
    # A pattern that begins with plain characters is found ten times as fast.
    unused = [
        term
        for term, said in ((term, re.escape(term.lower())) for term in glossary())
        if not re.search(rf"{said}(?<!\w{said})(?:s|es)?\b", text)
    ]
    assert unused == [], "no page of the docs uses these terms"


# ---------------------------------------------------------------------- decisions


def test_decisions_are_dated() -> None:
    titles = re.findall(r"^### (.+)$", page("decisions.md"), flags=re.MULTILINE)
    assert titles
    for title in titles:
        assert re.match(r"\d{4}-\d{2}-\d{2} \S", title), title
