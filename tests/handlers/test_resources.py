"""Each resource that operators create, list, read, change and delete: exactly what it shows.

`tests/matrix/test_crud.py` tests what the routes of `Crud` have in common, and what is special
about one resource is tested in its own module.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from skein.workspace.models.document import Document
from tests.support.api_client import Client, everything
from tests.support.builders import LINE, World, bot, person

AGENT = "/v1/agents/agt_a"
NOON = "2026-02-18T12:00:00.000Z"
BASIC_TOOLS = [
    "send_message",
    "read_messages",
    "recall",
    "save_memory",
    "set_plan",
    "cancel_plan",
    "ask_choice",
    "ask_a_person",
    "end_run",
]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of resource, with one of its kind as it is made, shown and changed.

    Attributes:
        path: The path of the list.
        new: The request that creates one.
        shown: The response of `GET`, apart from a generated id.
        hidden: Fields of the response of `GET` that lists leave out.
        created: Fields that only the response of `POST` has.
        id_field: The field with the id.
        change: A request of `PATCH`; None without this call.
        after: The fields that `change` changes, as shown.
        deleted: What is left of a deleted one, as shown; None if it is not found.
        again: The status of a repeated `POST`.
        wrong: Requests that are refused.
    """

    path: str
    new: dict[str, Any]
    shown: dict[str, Any]
    hidden: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    id_field: str = "id"
    change: dict[str, Any] | None = None
    after: dict[str, Any] = field(default_factory=dict)
    deleted: dict[str, Any] | None = None
    again: int = 201
    wrong: tuple[dict[str, Any], ...] = ()

    def numbered(self, number: int) -> dict[str, Any]:
        """Another request that creates one."""
        name = next(name for name in ("concern", "name") if name in self.new)
        return self.new | {name: f"{self.new[name].strip()} {number}".replace(" ", "-")}


def document(path: str) -> Kind:
    """Documents of an agent or a chat."""
    return Kind(
        path=f"{path}/documents",
        new={"name": " plan.md ", "text": "# Plan\n"},
        shown={
            "id": Document.id_of("plan.md"),
            "name": "plan.md",
            "media_type": "text/markdown",
            "version": 1,
            "global": False,
            "public": False,
            "characters": 7,
            "text": "# Plan\n",
            "source_chat_id": None,
            "source_run_id": None,
            "created_at": NOON,
            "updated_at": NOON,
        },
        hidden=("text",),
        change={"find": "Plan", "replace": "Way", "global": True, "version": 1},
        after={"text": "# Way\n", "characters": 6, "global": True, "version": 2},
        again=409,
        wrong=(
            {},
            {"name": ""},
            {"name": "two\nlines"},
            {"name": "doc_" + "0" * 26},
            {"name": "a", "media_type": "markdown"},
            {"name": "a", "version": 1},
            {"name": "a", "text": None},
        ),
    )


KINDS = {
    "agent": Kind(
        path="/v1/agents",
        new={"name": "  Poet  ", "system_prompt": "Be kind."},
        shown={
            "name": "Poet",
            "system_prompt": "Be kind.",
            "model": None,
            "fallback_models": [],
            "reply_mode": None,
            "history_format": None,
            "enabled_tools": BASIC_TOOLS,
            "outsiders": None,
            "summary_instruction": None,
            "profile_fields": ["goals", "skill_level", "recent_topics", "preferences"],
            "time_zone": "UTC",
            "max_prompt_tokens": None,
            "max_concurrent_runs": None,
            "description": None,
            "listed": False,
            "who_may_add": None,
            "gate": "off",
            "settings": {},
            "created_at": NOON,
            "warnings": [],
        },
        hidden=("warnings",),
        change={"model": "gpt-x", "time_zone": "Asia/Amman", "max_concurrent_runs": 5},
        after={"model": "gpt-x", "time_zone": "Asia/Amman", "max_concurrent_runs": 5},
    ),
    "line": Kind(
        path="/v1/lines",
        new={"phone": "+1 500 555 0006", "agent_id": "agt_a"},
        shown={"phone": LINE, "agent_id": "agt_a", "channels": ["sms"], "settings": {}},
        id_field="phone",
        change={"settings": {"apology": False}, "channels": ["whatsapp", "sms"]},
        after={"settings": {"apology": False}, "channels": ["whatsapp", "sms"]},
        again=409,
    ),
    "service": Kind(
        path="/v1/services",
        new={"name": " jira-webhook ", "agent_ids": ["agt_a"]},
        shown={"name": "jira-webhook", "agent_ids": ["agt_a"], "created_at": NOON},
        created=("secret",),
        change={"name": "Jira"},
        after={"name": "Jira"},
        wrong=(
            {"name": "a"},
            {"name": "", "agent_ids": ["agt_a"]},
            {"name": "a", "agent_ids": []},
            {"name": "a", "agent_ids": "agt_a"},
            {"name": "a", "agent_ids": ["agt_none"]},
            {"name": "a", "agent_ids": [f"agt_{n}" for n in range(21)]},
            {"name": "a", "agent_ids": ["agt_a"], "secret": "mine"},
        ),
    ),
    "document of an agent": document(AGENT),
    "document of a chat": document("/v1/chats/chat_1"),
    "goal": Kind(
        path=f"{AGENT}/goals",
        new={"text": " Finish Q4 "},
        shown={
            "text": "Finish Q4",
            "priority": 2,
            "long_term": False,
            "status": "active",
            "source_chat_id": None,
            "source_run_id": None,
            "created_at": NOON,
            "ended_at": None,
        },
        change={"priority": 1, "text": "Finish Q1", "long_term": True},
        after={"priority": 1, "text": "Finish Q1", "long_term": True},
        wrong=(
            {},
            {"text": " "},
            {"text": "x" * 1_001},
            {"text": "a", "priority": 0},
            {"text": "a", "priority": 6},
            {"text": "a", "status": "completed"},
        ),
    ),
    "plan": Kind(
        path=f"{AGENT}/plans",
        new={"name": "Daily Report", "instruction": "Post the numbers", "cron": "0 9 * * *"},
        shown={
            "name": "Daily Report",
            "instruction": "Post the numbers",
            "run_after": None,
            "scheduled_at": None,
            "cron": "0 9 * * *",
            "time_zone": "Europe/Berlin",
            "next_at": "2026-02-19T08:00:00.000Z",
            "deferred_from": None,
            "status": "active",
            "source_chat_id": None,
            "source_run_id": None,
            "template": None,
            "reason": None,
            "meaning": None,
            "created_at": NOON,
            "ended_at": None,
        },
        deleted={"status": "canceled", "next_at": None, "ended_at": NOON},
        wrong=(
            {"name": "a", "instruction": "b"},
            {"name": "a", "run_after": "1 day"},
            {"name": "a", "instruction": "b", "run_after": "1 day", "cron": "0 9 * * *"},
            {"name": "a", "instruction": "b", "run_after": "a while"},
            {"name": "a", "instruction": "b", "scheduled_at": "2020-01-01T00:00:00Z"},
            {"name": "a", "instruction": "b", "cron": "every day"},
            {"name": "a", "instruction": "b", "run_after": "1 day", "time_zone": "Mars"},
            {"name": "", "instruction": "b", "run_after": "1 day"},
            {"name": "a" * 101, "instruction": "b", "run_after": "1 day"},
            {"name": "a", "instruction": "b" * 4_001, "run_after": "1 day"},
            {"name": "a", "instruction": "b", "run_after": 5},
        ),
    ),
    "memory": Kind(
        path=f"{AGENT}/memories",
        new={"kind": "core", "text": " Ann likes tea "},
        shown={
            "kind": "core",
            "text": "Ann likes tea",
            "created_at": NOON,
            "expires_at": None,
            "source": {"chat_id": None, "from_seq": None, "to_seq": None, "run_id": None},
            "made_by": "api",
            "constitutional": False,
            "confirmed": True,
            "superseded_by": None,
            "promoted_from": None,
            "deleted_at": None,
        },
        deleted={"deleted_at": NOON},
        again=200,
        wrong=(
            {},
            {"kind": "core"},
            {"text": "a"},
            {"kind": "core", "text": " "},
            {"kind": "core", "text": "x" * 10_001},
            {"kind": "diary", "text": "a"},
            {"kind": "journal", "text": "a", "constitutional": True},
            {"kind": "core", "text": "a", "made_by": "reflection"},
        ),
    ),
    "thread": Kind(
        path=f"{AGENT}/threads",
        new={"concern": "The Q4 report", "goal": "Everybody agrees"},
        shown={
            "concern": "The Q4 report",
            "goal": "Everybody agrees",
            "deliverable": None,
            "kind": "exploratory",
            "documents": [],
            "mode": None,
            "skill_tags": [],
            "bound_skills": [],
            "priority": 2,
            "approach": None,
            "progress": None,
            "blocking": None,
            "status": "open",
            "active": False,
            "evidence": None,
            "learned": None,
            "chat_ids": [],
            "source_chat_id": None,
            "started_at": NOON,
            "completed_at": None,
            "archived_at": None,
        },
        change={"progress": "Half", "goal": None, "active": True},
        after={"progress": "Half", "goal": None, "active": True},
        wrong=(
            {},
            {"concern": ""},
            {"concern": "x", "priority": 9},
            {"concern": "x", "documents": ["a\nb"]},
        ),
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
WRONG = [(name, body) for name, kind in KINDS.items() for body in kind.wrong]


@pytest.fixture
def world() -> World:
    world = World()
    world.agent(time_zone="Europe/Berlin")
    world.chat(person(), bot())
    return world


def listed(admin: Client, kind: Kind, **query: Any) -> list[Any]:
    """All resources of a kind, but for the agent that the others belong to."""
    return [item for item in admin.all_pages(kind.path, **query) if item.get("id", "") != "agt_a"]


@each_kind
def test_a_resource_from_its_beginning_to_its_end(admin: Client, kind: Kind) -> None:
    made = admin.post(kind.path, kind.new)
    path = f"{kind.path}/{made.body[kind.id_field]}"
    shown = admin.get(path).body
    assert shown == kind.shown | {kind.id_field: made.body[kind.id_field]}
    only_then = {name: made.body[name] for name in kind.created}
    assert (made.status, made.body) == (201, shown | only_then)
    line = {name: value for name, value in shown.items() if name not in kind.hidden}
    assert listed(admin, kind) == [line]
    if kind.change is not None:
        changed = admin.patch(path, kind.change)
        assert (changed.status, changed.body) == (200, shown | kind.after)
        assert admin.get(path).body == changed.body
    assert admin.delete(path).status == 204
    if kind.deleted is None:
        assert admin.get(path).status == 404
        assert listed(admin, kind) == []
    else:
        assert admin.get(path).body == shown | kind.after | kind.deleted


@each_kind
def test_a_repeated_request_creates_another_resource_or_is_refused(
    admin: Client, kind: Kind
) -> None:
    admin.post(kind.path, kind.new)
    assert admin.post(kind.path, kind.new).status == kind.again


@pytest.mark.parametrize("name", ["agent", "thread"])
def test_empty_patch_changes_nothing(admin: Client, name: str) -> None:
    kind = KINDS[name]
    made = admin.post(kind.path, kind.new)
    path = f"{kind.path}/{made.body[kind.id_field]}"
    shown = admin.get(path).body
    assert admin.patch(path, {}).body == shown
    required = {each: None for each in ("name", "text", "agent_id", "concern") if each in kind.new}
    assert admin.patch(path, required).body == shown
    assert admin.patch(path, {"unknown": 1}).status == 422


@pytest.mark.parametrize("name", ["agent", "thread"])
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_lists_page_through_everything_once(admin: Client, name: str, limit: int) -> None:
    kind = KINDS[name]
    made = [admin.post(kind.path, kind.numbered(n)).body[kind.id_field] for n in range(3)]
    found = [item[kind.id_field] for item in listed(admin, kind, limit=limit)]
    assert sorted(found) == sorted(made)


@pytest.mark.parametrize(("name", "body"), WRONG)
def test_values_that_do_not_fit_are_422_and_store_nothing(
    world: World, admin: Client, name: str, body: dict[str, Any]
) -> None:
    before = everything(world)
    answer = admin.post(KINDS[name].path, body)
    assert (answer.status, answer.code) == (422, "unprocessable")
    assert everything(world) == before


@pytest.mark.parametrize("name", ["agent", "thread"])
@pytest.mark.parametrize("cursor", ["x", "e30", "eyJvZiI6Im93bmVkIiwiYWZ0ZXIiOiJNRVRBIn0", "é"])
def test_forged_cursors_are_400(admin: Client, name: str, cursor: str) -> None:
    answer = admin.get(KINDS[name].path, cursor=cursor)
    assert (answer.status, answer.code) == (400, "invalid")
