"""Names in the code use the words of docs/glossary.md, and retired words do not come back."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "shared" / "skein"
GLOSSARY = ROOT / "docs" / "glossary.md"

# Words that mean here what they mean everywhere, so that the glossary need not explain them.
GENERAL = {
    "action",
    "added",
    "address",
    "administration",
    "answer",
    "answering",
    "asking",
    "author",
    "aws",
    "body",
    "breaker",
    "builder",
    "data",
    "effect",
    "extension",
    "cache",
    "call",
    "cancellation",
    "catalog",
    "change",
    "check",
    "client",
    "clock",
    "code",
    "committer",
    "configuration",
    "connection",
    "consequence",
    "context",
    "count",
    "counter",
    "delete",
    "deletion",
    "detail",
    "document",
    "draft",
    "edit",
    "embedding",
    "entry",
    "envelope",
    "error",
    "event",
    "executor",
    "exists",
    "export",
    "exporter",
    "expression",
    "failure",
    "field",
    "finder",
    "folder",
    "goal",
    "head",
    "health",
    "id",
    "index",
    "input",
    "item",
    "key",
    "keys",
    "length",
    "limit",
    "limiter",
    "link",
    "list",
    "listener",
    "listing",
    "loader",
    "log",
    "lookup",
    "manager",
    "map",
    "media",
    "merge",
    "message",
    "metric",
    "missing",
    "model",
    "money",
    "name",
    "number",
    "outcome",
    "overview",
    "page",
    "part",
    "pause",
    "phrase",
    "piece",
    "ping",
    "position",
    "prefix",
    "present",
    "price",
    "profile",
    "put",
    "query",
    "queue",
    "rate",
    "read",
    "reader",
    "receipt",
    "receiver",
    "ref",
    "refusal",
    "renaming",
    "report",
    "request",
    "resource",
    "result",
    "retention",
    "row",
    "scanner",
    "schema",
    "search",
    "secret",
    "selection",
    "sender",
    "service",
    "signature",
    "sms",
    "snapshot",
    "source",
    "spec",
    "start",
    "state",
    "status",
    "store",
    "stored",
    "stream",
    "subject",
    "table",
    "target",
    "text",
    "time",
    "title",
    "token",
    "tool",
    "tracer",
    "showing",
    "typing",
    "unit",
    "update",
    "usage",
    "value",
    "version",
    "view",
    "warning",
    "window",
    "word",
    "worker",
    "write",
    "zone",
}
# Conditions of writes, errors and one body of the API are no things: `Absent`, `ModelDown`.
NO_NOUNS = {
    "absent",
    "below",
    "busy",
    "down",
    "failed",
    "is",
    "much",
    "myself",
    "now",
    "of",
    "overtaken",
    "progress",
    "writable",
}

# Retired words and what replaced them. A class, function, attribute, parameter or variable of the
# package, the functions and the local stack may not contain them.
RETIRED_PARTS = {
    "anew": "reset",
    "astray": "enter_chat_failed",
    "benches": "open threads",
    "deed": "change kind, audited action",
    "foreseen": "prefetch_keys",
    "heirlooms": "owned items",
    "purse": "bucket",
    "recollection": "agent consolidation",
    "rider": "extra write",
    "riders": "extra writes",
    "shelf": "pinned documents",
    "silenced": "detached, no_run_reason",
    "stint": "run link",
    "stints": "run links",
    "succession": "replacement of a member",
    "surroundings": "environment",
    "told": "shown, notified",
    "untold": "without_trigger_details",
    "workbench": "open threads",
}
RETIRED_NAMES = {
    "bench": "index",
    "beside": "also_read, own_writes",
    "book": "store, committer",
    "endings": "completion",
    "hold": "lease, add_held",
    "known_memories": "searchable_memories",
    "last_words": "final_messages",
    "maker": "author",
    "mark": "prompt_mark, position, pointer or record",
    "material": "workspace",
    "mine": "fence_holds, unchanged",
    "note": "summary, update",
    "notes": "agent_summaries",
    "place": "membership, readers or position",
    "places": "memberships, readers or positions",
    "quiet": "idle",
    "room": "snapshot, tokens_left, bytes_left",
    "rooms": "administration",
    "spending": "token_budgets",
    "work": "activation, target",
    "AT_ONCE": "a name with the unit, for example KEYS_PER_READ",
    "PATIENCE": "MAX_FAILURES, MAX_UNCLEAR",
    "SILENCE": "NO_REPLY",
    "SOON": "FADING_WITHIN",
    "SPARE": "MARGIN",
    "AtOnce": "ParallelMap",
    "Change": "DocumentEdit, ThreadEdit, DeliveryUpdate",
    "Contexts": "ContextLoader",
    "DedupeMark": "IdempotencyRecord",
    "Effective": "Settings",
    "Endings": "RunCompletion",
    "Found": "Snapshot, SweepCounts",
    "Hold": "DeliveryLease",
    "Known": "PrefetchedItems",
    "LastWords": "FinalMessages",
    "Maker": "Author",
    "Mark": "HistoryPosition, DuePointer, SkillLabel",
    "Note": "ThreadNote",
    "Notes": "AgentSummaries",
    "OnShow": "ShownDocument",
    "Place": "ListPosition, PageStart",
    "Records": "ChatSummaries",
    "Room": "ChatSnapshot",
    "Rooms": "ChatAdministration",
    "Source": "WebhookService",
    "Sources": "WebhookServices",
    "Work": "Activation, ConsolidationTarget",
}
RETIRED_PATTERNS = (
    re.compile(r"_?(MOST|LONGEST|LEAST|SHORTEST)_[A-Z0-9_]+"),
    re.compile(r"\w*Book"),
)


@cache
def glossary() -> frozenset[str]:
    """The last word of each term, in lower case."""
    terms = re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    words = (word for term in terms for word in term.split(","))
    return frozenset(re.split(r"[ -]", word.strip().lower())[-1] for word in words if word.strip())


def singulars(noun: str) -> Iterator[str]:
    """Yield a noun, and what it can be the plural of."""
    yield noun
    if noun.endswith("ies"):
        yield f"{noun[:-3]}y"
    if noun.endswith("es"):
        yield noun[:-2]
    if noun.endswith("s"):
        yield noun[:-1]


def parts(name: str) -> list[str]:
    """The words of a name in any case."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return [word.lower() for word in words]


def public_classes() -> Iterator[tuple[str, str]]:
    """Each public class of the package, with its file."""
    for path in sorted(PACKAGE.glob("*/**/*.py")):
        name = path.relative_to(PACKAGE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef) or name.parts[0] == "bootstrap":
                continue
            if not node.name.startswith("_"):
                yield str(name), node.name


def names(path: Path) -> set[str]:
    """The identifiers of a file; words in strings and comments do not count."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


def retired(name: str) -> bool:
    """Tell whether a name is retired, or contains a retired word."""
    plain = name.strip("_")
    return (
        plain in RETIRED_NAMES
        or any(pattern.fullmatch(name) for pattern in RETIRED_PATTERNS)
        or not RETIRED_PARTS.keys().isdisjoint(parts(name))
    )


def checked() -> list[Path]:
    """The files of the package, of the functions and of the local stack."""
    folders = (PACKAGE, ROOT / "functions", ROOT / "local")
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def test_class_name_ends_in_a_noun_of_the_glossary() -> None:
    known = glossary() | GENERAL | NO_NOUNS
    classes = list(public_classes())
    assert classes
    unknown = [
        f"{file}: {name}" for file, name in classes if not known & {*singulars(parts(name)[-1])}
    ]
    assert unknown == [], "the last word is neither in docs/glossary.md nor in GENERAL"


def test_retired_words_are_no_names() -> None:
    files = checked()
    assert files
    found = []
    for path in files:
        file = path.relative_to(ROOT).as_posix()
        found += [f"{file}: {name}" for name in sorted(names(path)) if retired(name)]
    assert found == []
