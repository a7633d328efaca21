"""The documents say what the code does: what stands in one stands in the other, both ways."""

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

import annotated_types
import pytest
from pydantic.fields import FieldInfo

from local.template import ROOT
from skein import errors
from skein.models.api.inspection import PROVENANCES
from skein.models.chats import borrowed, chat, idempotency
from skein.models.common import ownership
from skein.models.common.audience import OPEN
from skein.models.common.base import MemberRef, Stored
from skein.models.common.storage import Key
from skein.models.config import overrides
from skein.models.delivery import delivery
from skein.models.directory import agent, line, name_index, phone, user, webhook_service
from skein.models.live import connection
from skein.models.memory import consolidation, memory, reflection
from skein.models.outbox import due
from skein.models.planning import goal, plan
from skein.models.privacy import audit, erasure, registered_erasure
from skein.models.quotas import limit
from skein.models.quotas.usage import agent_usage_key, user_usage_key
from skein.models.recall import stored
from skein.models.runs import run, step
from skein.models.runs.completion import AnswerFault
from skein.models.runs.trigger import Trigger
from skein.models.workspace import document, skill, thread
from skein.services.config.resolution import effective_settings
from skein.services.delivery.policy import RETRY_WAITS
from skein.services.outbox.tick import BACKGROUND_BACKOFF_MINUTES, BACKOFF_MINUTES
from skein.services.quotas.usage import COUNTS, UsageCounters
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.settings import PREFIX, Settings, variable
from tests.support.template import deployed_template
from tools.reference.alarms import anchor, section_of

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
TEMPLATE = deployed_template()
SOURCES = sorted([*(ROOT / "shared" / "skein").rglob("*.py"), *(ROOT / "functions").glob("*.py")])

LOCAL_VARIABLES = {
    "SKEIN_PORT",
    "SKEIN_LIVE_PORT",
    "SKEIN_HOST",
    "SKEIN_CORS_ORIGINS",
    "SKEIN_DATA_DIR",
    "SKEIN_ENGINE",
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


def named(table: Iterable[Row]) -> set[str]:
    """What stands between backticks in the first column."""
    return {name for row in table for name in re.findall(r"`([^`]+)`", row[0])}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in SOURCES:
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def calls(tree: ast.Module, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = (
                node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            )
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


def default_of(field: FieldInfo) -> str:
    if field.default is None:
        return "unset"
    if isinstance(field.default, tuple):
        return f"`{','.join(field.default)}`" if field.default else "empty"
    return f"`{field.default}`" if field.default != "" else "empty"


def bounds_of(field: FieldInfo) -> str:
    words = {
        annotated_types.Ge: "from {0.ge}",
        annotated_types.Gt: "over {0.gt}",
        annotated_types.Le: "to {0.le}",
        annotated_types.MinLen: "not empty",
    }
    return " ".join(
        words[type(bound)].format(bound) for bound in field.metadata if type(bound) in words
    )


def test_settings_stand_in_their_document_as_they_are() -> None:
    documented = rows(part(page("settings.md"), "## All settings"))
    expected = [
        (f"`{variable(name)}`", default_of(field), bounds_of(field), str(field.description))
        for name, field in Settings.model_fields.items()
    ]
    missing = "\n".join(f"| {' | '.join(row)} |" for row in expected if row not in documented)
    assert documented == expected, (
        "the table of docs/settings.md has other rows, or another order, than the fields of "
        f"skein.settings; these rows are missing:\n{missing}"
    )


OVERRIDES: dict[str, type[overrides.Overrides]] = {
    "### By agent, line and tenant": overrides.ChatOverrides,
    "### By tenant alone": overrides.TenantOverrides,
    "### By stack": overrides.StackOverrides,
}


@pytest.mark.parametrize("heading", OVERRIDES)
def test_page_of_settings_has_all_overrides(heading: str) -> None:
    """A field without a row, or a row without a field, fails here."""
    said = OVERRIDES[heading].model_fields
    closer = overrides.ChatOverrides.model_fields if "alone" in heading else {}
    documented = [(row[0], row[-2], row[-1]) for row in rows(part(page("settings.md"), heading))]
    assert documented == [
        (f"`{name}`", bounds_of(field), str(field.description))
        for name, field in said.items()
        if name not in closer
    ]


def test_page_of_settings_has_the_defaults_of_overrides() -> None:
    """In the app, and on a line: what holds where nobody says anything."""
    documented = rows(part(page("settings.md"), "### By agent, line and tenant"))
    for name, app, on_line, *_ in documented:
        for told, number in ((app, None), (on_line, "+15005550006")):
            direct = chat.Chat(
                tenant="acme",
                id="chat_1",
                kind="direct",
                visibility="private",
                line=number,
                activity_hour=NOON,
                created_at=NOON,
            )
            value = getattr(
                effective_settings(None, None, None, Settings(), chat=direct), name.strip("`")
            )
            assert told == shown(value), name


def shown(value: object) -> str:
    if value is None:
        return "the agent's `model`"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else f"{value}"


def test_other_variables_stand_there_too() -> None:
    given = TEMPLATE.document["Globals"]["Function"]["Environment"]["Variables"]
    others = {name for name in given if not name.startswith(PREFIX)}
    documented = named(rows(part(page("settings.md"), "## Other variables")))
    assert documented == others | LOCAL_VARIABLES


# ---------------------------------------------------------------------- operations


def resources(kind: str) -> set[str]:
    return {name for name, _ in TEMPLATE.resources(kind)}


def alarms() -> set[str]:
    return resources("AWS::CloudWatch::Alarm") | resources("AWS::CloudWatch::CompositeAlarm")


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("## Functions", "AWS::Serverless::Function"),
        ("## Queues", "AWS::SQS::Queue"),
    ],
)
def test_functions_and_queues_stand_in_operations(heading: str, kind: str) -> None:
    assert named(rows(part(page("operations.md"), heading))) & resources(kind) == resources(kind)


def test_each_alarm_is_found_in_its_section_of_the_runbook() -> None:
    runbook = page("alarms.md")
    for name in alarms():
        heading = section_of(name)
        section = part(runbook, f"## {heading[0].upper()}{heading[1:]}")
        ends = tuple(re.findall(r"ends in `(\w+)`", section))
        begins = tuple(re.findall(r"`(\w+)\.\.\.`", section))
        told = {heading, *re.findall(r"`(\w+)`", section)}
        assert name in told or name.endswith(ends) or name.startswith(begins), name


def test_runbook_names_the_thresholds_of_the_template() -> None:
    compared = 0
    for name, alarm in TEMPLATE.resources("AWS::CloudWatch::Alarm"):
        heading = section_of(name)
        section = part(page("alarms.md"), f"## {heading[0].upper()}{heading[1:]}")
        told = re.findall(r"\*\*Means\.\*\* More than ([\d.]+) %", section)
        assert [float(each) for each in told] in ([], [alarm["Threshold"]]), name
        compared += len(told)
    assert compared


@pytest.mark.parametrize("kind", ["Alarm", "CompositeAlarm"])
def test_description_of_each_alarm_links_to_its_section_of_the_runbook(kind: str) -> None:
    for name, alarm in TEMPLATE.resources(f"AWS::CloudWatch::{kind}"):
        link = f"Runbook: docs/alarms.md#{anchor(section_of(name))}"
        assert str(alarm["AlarmDescription"]).endswith(link), name


def test_runbook_names_no_alarm_that_there_is_not() -> None:
    told = set(re.findall(r"`(\w+Alarm)`", page("alarms.md")))
    ends = set(re.findall(r"ends in `(\w+)`", page("alarms.md")))
    headings = set(re.findall(r"^## (\w+Alarm)$", page("alarms.md"), flags=re.MULTILINE))
    assert told - ends | headings <= alarms()


@pytest.mark.parametrize("name", ["alarms.md", "troubleshooting.md", "logs.md"])
def test_queries_of_the_log_name_lines_and_fields_that_there_are(name: str) -> None:
    texts = {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    known = named(rows(part(page("logs.md"), "## Fields"))) | LOG_FIELDS
    for query in re.findall(r"^ *insights '(.+)'", page(name), flags=re.MULTILINE):
        assert set(re.findall(r'message = "([^"]+)"', query)) <= texts, query
        fields = re.findall(r"\| fields ([^|]+)", query)
        told = {field.strip() for each in fields for field in each.split(",")}
        assert {field for field in told if not field.startswith("@")} <= known, query


def test_metrics_stand_in_their_document_with_unit_and_dimensions() -> None:
    counted: dict[str, tuple[str, bool]] = {}
    for _, tree in trees():
        for call in calls(tree, "count"):
            name = constant(call.args[0]) if call.args else None
            if name is not None and re.fullmatch(r"[A-Z][A-Za-z]+", name):
                given = {keyword.arg: keyword.value for keyword in call.keywords}
                found = (constant(given.get("unit")) or "Count", "reason" in given)
                assert counted.setdefault(name, found) == found, name
    documented = [row for row in rows(page("metrics.md")) if row[0].startswith("`")]
    assert sorted(documented) == sorted({row[0]: row for row in documented}.values())
    assert {row[0].strip("`"): (row[1], row[2] == "`reason`") for row in documented} == counted
    assert all(row[3] and row[4] for row in documented)


def test_fields_of_the_log_stand_in_their_document() -> None:
    logged = {
        str(constant(key))
        for _, tree in trees()
        for call in calls(tree, "debug", "info", "warning", "error", "exception")
        for keyword in call.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if key is not None
    }
    assert named(rows(part(page("logs.md"), "## Fields"))) == logged | SPREAD_FIELDS


def test_sections_of_prompts_stand_in_their_document() -> None:
    folder = ROOT / "shared" / "skein" / "agent"
    makers = (
        "Section",
        "around",
        "documents_section",
        "listing",
        "one_line",
        "prose",
        "remembered",
    )
    made = {
        name
        for path, tree in trees()
        if path.is_relative_to(folder)
        for name in first_texts(calls(tree, *makers))
    }
    table = rows(part(page("prompts.md"), "## Sections"))
    documented = {row[0].strip("`") for row in table}
    expected = made | {step.HISTORY}
    assert documented == expected, (
        "the table of docs/prompts.md (Sections) needs a row for each section of a prompt; these "
        f"differ: {sorted(documented ^ expected)}"
    )
    unexplained = sorted(expected - PROVENANCES.keys())
    assert not unexplained, (
        f"say in PROVENANCES of skein/models/api/inspection.py where {unexplained} come from"
    )


def test_retry_waits_of_deliveries_stand_in_operations() -> None:
    waits = " and ".join(str(wait // timedelta(minutes=1)) for wait in RETRY_WAITS)
    told = re.findall(r"SMS again after ([0-9].*?) minutes", page("operations.md"))
    assert told == [waits]
    assert all(wait % timedelta(minutes=1) == timedelta(0) for wait in RETRY_WAITS)


def test_backoff_of_the_tick_stands_in_operations() -> None:
    *first, last = BACKOFF_MINUTES
    assert f"after {', '.join(map(str, first))} and then every {last} minutes" in page(
        "operations.md"
    )
    *first, last = BACKGROUND_BACKOFF_MINUTES
    assert f"background work: {', '.join(map(str, first))}, then every {last} minutes" in page(
        "operations.md"
    )


def test_marks_of_runs_stand_in_the_life_of_a_run() -> None:
    marks = {*get_args(run.PromptMark), *get_args(run.AnswerMark)}
    assert named(rows(part(page("runs.md"), "## Marks"))) == marks


def test_faults_of_answers_stand_in_the_life_of_a_run() -> None:
    heading = "## An answer that cannot be used"
    assert named(rows(part(page("runs.md"), heading))) == set(get_args(AnswerFault))


# ---------------------------------------------------------------------- deployment


def test_parameters_stand_in_the_guide_to_deployment_with_their_defaults() -> None:
    documented = {
        row[0].strip("`"): row[1] for row in rows(part(page("deploy.md"), "## Parameters"))
    }
    defaults = {
        name: parameter.get("Default", "required")
        for name, parameter in TEMPLATE.document["Parameters"].items()
    }
    assert documented == {
        name: default
        if default == "required"
        else ("none" if default in {"", "arn:aws:dynamodb:none"} else f"`{default}`")
        for name, default in defaults.items()
    }


def test_limits_stand_in_their_page_with_their_defaults() -> None:
    settings = Settings()
    defaults = (
        settings.user_messages_per_minute,
        settings.user_tokens_per_day,
        settings.user_chat_changes_per_hour,
        settings.tenant_messages_per_minute,
        settings.tenant_tokens_per_day,
    )
    limits = rows(page("limits.md").split("\n## ")[0])[: len(defaults)]
    assert [row[1] for row in limits] == [f"{each:,}" if each else "none" for each in defaults]
    assert (
        f"`background_tokens_per_day`,\n{settings.background_tokens_per_day:,} by default"
        in page("limits.md")
    )


def test_the_guide_to_deployment_names_no_alarm_that_there_is_not() -> None:
    assert set(re.findall(r"`([A-Za-z]+Alarm)`", page("deploy.md"))) <= alarms()


# ---------------------------------------------------------------------- the API


def test_error_codes_stand_in_the_apis_document() -> None:
    kinds: list[type[errors.Rejected]] = [errors.Rejected, *errors.Rejected.__subclasses__()]
    ours = {(str(kind.status), f"`{kind.code}`") for kind in kinds}
    documented = {row[:2] for row in rows(part(page("api.md"), "## Rules"))}
    assert documented == ours | {
        ("500", "`internal`"),
        ("503", "`unavailable`"),
        ("503", "`storage_full`"),
    }


# ---------------------------------------------------------------------- data

TENANT, CHAT, AGENT = "{tenant}", "{chat}", "{agent}"
PERSON = MemberRef(kind="user", id="{id}")
DAY = run.runs_relation(TENANT, AGENT, date(2026, 2, 18)).replace("2026-02-18", "{day}")


def run_key(home: str, **more: Any) -> Key:
    """The key of a run or step, with braces where an id may hold none."""
    run_id = f"run_ULID_{home}"
    key = step.Step.key_of(TENANT, run_id, **more) if more else run.Run.key_of(TENANT, run_id)
    text = "\n".join(key).replace("chat_X", CHAT).replace("agt_X", AGENT).replace("ULID", "{ulid}")
    return Key(*text.replace("#007", "#{n}").split("\n"))


def memory_key(kind: str, **more: Any) -> Key:
    """The key of an agent's open memory."""
    made = memory.Memory(
        tenant=TENANT,
        agent_id=AGENT,
        audience=OPEN,
        id="{memory}",
        kind=kind,
        text="x",
        made_by="api",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        **more,
    )
    return made.key


def renamed_key() -> Key:
    """The key of what a document of one person's is called where it has moved to."""
    home = document.Folder(tenant=TENANT, agent_id=AGENT, scope="user:{id}")
    key = home.renamed_key("plan.md")
    return key._replace(sk=key.sk.replace(document.Document.id_of("plan.md"), "{document}"))


def document_key(folder: document.Folder) -> Key:
    found = folder.key("plan.md")
    return Key(found.pk, found.sk.replace(document.Document.id_of("plan.md"), "{document}"))


def live_key() -> Key:
    found = run.live_key(
        run.Run(
            tenant=TENANT,
            id="run_ULID_agt_X",
            agent_id="agt_X",
            trigger=Trigger(type="plan"),
            created_at="2026-02-18T12:00:00Z",
        )
    )
    return Key(found.pk.replace("agt_X", AGENT), found.sk.replace("ULID", "{ulid}"))


def audit_key() -> Key:
    found = audit.AuditEntry.key_of(TENANT, datetime(2026, 2, 18, tzinfo=UTC), "{entry}")
    time = "2026-02-18T00:00:00.000Z"
    return Key(found.pk.replace("2026-02-18", "{day}"), found.sk.replace(time, "{time}"))


def blocks_key() -> Key:
    found = stored.RecallBlock.key_of(TENANT, CHAT, AGENT, 7)
    return Key(found.pk, found.sk.replace("000000007", "{number}"))


def numbered(key: Key) -> Key:
    return Key(key.pk, key.sk.replace("000000000007", "{seq}"))


KEYS: dict[str, Key] = {
    "`Chat`": chat.Chat.key_of(TENANT, CHAT),
    "`Membership`": chat.Membership.key_of(TENANT, CHAT, PERSON),
    "closed membership": chat.Membership.left_key_of(TENANT, CHAT, PERSON),
    "`Consolidation`": consolidation.Consolidation.key_of(TENANT, CHAT),
    "`ConsolidationRecord`": consolidation.ConsolidationRecord.key_of(TENANT, CHAT, "{record}"),
    "`ReflectionRecord`": reflection.ReflectionRecord.key_of(TENANT, AGENT, None, "{record}"),
    "`Erasure`": erasure.Erasure.key_of(TENANT, "{erasure}"),
    "`Subject`": erasure.Subject.key_of(TENANT, "{erasure}"),
    "`RegisteredErasure` in the erasure register": (
        registered_erasure.RegisteredErasure.key_of("{shard}", TENANT, "{erasure}")
    ),
    "`ErasedChat`": erasure.ErasedChat.key_of(TENANT, "{erasure}", CHAT),
    "`Message`": numbered(chat.Message.key_of(TENANT, CHAT, 7)),
    "`NameWord`": name_index.NameWord.key_of(TENANT, "{word}", "{id}"),
    "`NameIndex`": name_index.NameIndex.key_of(TENANT),
    "`OpeningRecord`": idempotency.OpeningRecord.key_of(TENANT, "{id}", "{client}"),
    "`IdempotencyRecord`": idempotency.IdempotencyRecord.key_of(TENANT, CHAT, PERSON, "{client}"),
    "`BorrowedContext`": borrowed.BorrowedContext.key_of(TENANT, CHAT, AGENT),
    "`Delivery`": delivery.Delivery.key_of(TENANT, CHAT, "{delivery}"),
    "`RecallBlock`": blocks_key(),
    "`Run`": run_key("chat_X"),
    "`Run` of a plan or a service": run_key("agt_X"),
    "`Step`": run_key("chat_X", n=7),
    "`Agent`": agent.Agent.key_of(TENANT, AGENT),
    "`DirectoryEntry`": agent.DirectoryEntry.key_of(TENANT, AGENT),
    "`Goal`": goal.Goal.key_of(TENANT, AGENT, None, "{goal}"),
    "`Goal` that has ended": goal.Goal.ended_key_of(TENANT, AGENT, None, "{goal}"),
    "`Goal` set in a direct chat": goal.Goal.key_of(TENANT, AGENT, "user:{id}", "{goal}"),
    "`Plan`": plan.Plan.key_of(TENANT, AGENT, None, "{plan}"),
    "`Plan` that is over": plan.Plan.ended_key_of(TENANT, AGENT, None, "{plan}"),
    "memory": memory_key("core"),
    "constitutional memory": memory_key("core", constitutional=True),
    "journal entry": memory_key("journal"),
    "memory that has ended": memory_key("core", superseded_by="mem_2"),
    "document": document_key(document.Folder(tenant=TENANT, agent_id=AGENT)),
    "document of a chat": document_key(document.Folder(tenant=TENANT, chat_id=CHAT)),
    "renamed document": renamed_key(),
    "pinned documents": document.Folder(tenant=TENANT, agent_id=AGENT).pins_key,
    "`ThreadIndex`": thread.ThreadIndex.key_of(TENANT, AGENT, None),
    "thread that has ended": thread.Thread.ended_key_of(TENANT, AGENT, None, "{thread}"),
    "`ThreadRunLink`": thread.ThreadRunLink.key_of(TENANT, AGENT, None, "{thread}", "{run}", 1),
    "revision": memory.revision_key(TENANT, AGENT, None),
    "effect": ownership.effect_key(TENANT, AGENT, None, "{effect}"),
    "live run": live_key(),
    "`LiveTicket`": connection.LiveTicket.key_of("{hash}"),
    "`Connection`": connection.Connection.key_of("{id}"),
    "`PersonConnections`": connection.PersonConnections.key_of(TENANT, "{id}"),
    "`Posting`": stored.Posting.key_of(TENANT, AGENT, None, "{stem}"),
    "permits": ConcurrencyLimit.key_of(TENANT, AGENT),
    "`User`": user.User.key_of(TENANT, "{id}"),
    "`Merge`": user.Merge.key_of(TENANT, "{id}"),
    "`PhoneOwner`": phone.PhoneOwner.key_of(TENANT, "{phone}"),
    "`PhoneChat`": phone.PhoneChat.key_of(TENANT, "{phone}", "{line}"),
    "`Line`": line.Line.key_of("{phone}"),
    "`Allowance`": limit.Allowance.key_of(TENANT, "user:{id}"),
    "`Allowance` of a tenant": limit.Allowance.key_of(TENANT, "all:{shard}"),
    "`TenantSettings`": overrides.TenantSettings.key_of(TENANT),
    "`StackSettings`": overrides.StackSettings.key_of(7)._replace(pk="STACK#{copy}"),
    "`Skill`": skill.Skill.key_of(TENANT, "{skill}"),
    "`SkillCatalog`": skill.SkillCatalog.key_of(TENANT),
    "`WebhookService`": webhook_service.WebhookService.key_of("{source}"),
    "`AuditEntry`": audit_key(),
    "`AgentVersion`": agent.AgentVersion.key_of(TENANT, AGENT, 7)._replace(sk="VERSION#{n}"),
    "usage of an agent": agent_usage_key(TENANT, NOON, "{agent}", 7)._replace(
        pk="{tenant}#USAGE#{day}", sk="AGENT#{agent}#{shard}"
    ),
    "usage of a person": user_usage_key(TENANT, NOON, "{id}")._replace(pk="{tenant}#USAGE#{day}"),
    "usage": UsageCounters.key_of(TENANT, "{day}", 7)._replace(pk="{tenant}#USAGE#{day}#{shard}"),
}
RELATIONS = {
    chat.member_relation(TENANT, PERSON),
    chat.member_relation(TENANT, MemberRef(kind="agent", id="{id}")),
    DAY,
    agent.agents_relation(TENANT),
    user.users_relation(TENANT),
    line.lines_relation(TENANT),
    chat.past_relation(TENANT, "{id}"),
    chat.chats_relation(TENANT, 0).replace("#0", "#{shard}"),
    webhook_service.services_relation(TENANT),
}


def entities(kind: type[Stored] = Stored) -> Iterator[str]:
    """Every kind of thing that is stored under a key of its own."""
    for inner in kind.__subclasses__():
        if "key_of" in vars(inner):
            yield inner.__name__
        yield from entities(inner)


def test_keys_stand_in_the_datas_document() -> None:
    documented = {
        row[0]: Key(row[1].strip("`"), row[2].strip("`"))
        for row in rows(part(page("data.md"), "## Keys"))
    }
    assert documented == KEYS
    assert named((name,) for name in KEYS) == set(entities())


def test_indexes_stand_in_the_datas_document() -> None:
    relations, kinds = part(page("data.md"), "## Indexes").split("`gsi2`, ")
    assert named(rows(relations)) == RELATIONS
    assert named(rows(kinds)) == set(get_args(due.DueKind))
    assert f"in {due.DUE_SHARDS} shards" in kinds


# ---------------------------------------------------------------------- all pages


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
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


def test_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_and_targets_that_pages_name_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z0-9-]+)", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    folders = r"(?:shared|functions|local|tests|docs|prompts|events|tools|requirements)"
    for name in re.findall(rf"`({folders}/[\w./-]+\.\w+)`", text):
        assert (ROOT / name).exists(), f"{path.name} names {name}"
    for name in re.findall(r"`((?:models|services|agent|adapters)/[\w/]+\.py)", text):
        assert (ROOT / "shared" / "skein" / name).exists(), f"{path.name} names {name}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_shell_blocks_of_pages_are_valid_bash(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^( *)```sh\n(.*?)^ *```$", text, flags=re.DOTALL | re.MULTILINE)
    if blocks:
        script = "\n".join(block for _, block in blocks)
        done = subprocess.run(
            ["bash", "-n"], input=script, capture_output=True, text=True, check=False, timeout=30
        )
        assert not done.stderr


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_name_only_variables_that_there_are(path: Path) -> None:
    known = {variable(name) for name in Settings.model_fields} | LOCAL_VARIABLES
    told = set(re.findall(r"\bSKEIN_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    for_tests = {"SKEIN_REQUIRE_BROWSER", "SKEIN_REQUIRE_ENGINE", "SKEIN_WHOLE"}
    assert told <= known | for_tests


# ---------------------------------------------------------------------- decisions


def test_every_library_that_is_deployed_was_decided_on() -> None:
    listed = (ROOT / "requirements" / "runtime.in").read_text(encoding="utf-8")
    names = {line for line in listed.splitlines() if line and not line.startswith("#")}
    assert named(rows(part(page("decisions.md"), "## Running and deploying"))) == names


def test_every_decision_is_dated_and_says_how_to_go_back() -> None:
    entries = re.split(r"^### ", page("decisions.md"), flags=re.MULTILINE)[1:]
    for entry in entries:
        title, _, text = entry.partition("\n")
        assert re.match(r"\d{4}-\d{2}-\d{2} \S", title), title
        told = re.findall(r"^\*\*(.+?)\.\*\*", text, flags=re.MULTILINE)
        assert told == ["Why", "Chosen", "Turned down", "Back"], title
