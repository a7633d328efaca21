"""Every route of the API, read from the code, and a request that fits each.

The routes, their parameters and their bodies are the code's; what to put into them stands in the
tables here. Whatever a table lacks is asked for by name, so that no route is passed over.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import admin_api
import mobile_api
from routes.audited import Requires
from tests.matrix.tenant_data import NEW_LINE, Ids, Neighbours
from tests.support.api_client import Answer, Client
from tests.support.number_codes import CODE
from tests.support.own_tools import SING

WHERE = "tests/matrix/calls.py"

# Parameters of paths that are something else than the id of the same name in `TenantData.own`.
PATHS: dict[str, dict[str, str]] = {
    "/v1/agents/{agent_id}/versions/{version}/restore": {"version": "=1"},
    "/v1/agents/{agent_id}/threads/{thread_id}/export": {"thread_id": "done_thread_id"},
    "/v1/chats/{chat_id}/desk": {"chat_id": "desk_chat_id"},
    "/v1/chats/{chat_id}/desk/drafts": {"chat_id": "desk_chat_id"},
    "/v1/chats/{chat_id}/desk/messages": {"chat_id": "desk_chat_id"},
    "/v1/chats/{chat_id}/members/{kind}/{member_id}": {"kind": "=user"},
    "/v1/chats/{chat_id}/messages/{seq}": {"seq": "=1"},
    "/v1/chats/{chat_id}/messages/{seq}/reasons": {"seq": "=1"},
    "/v1/m/{token}": {"token": "=unknown"},
    "/v1/pauses/{kind}": {"kind": "=background"},
    "/v1/chats/{chat_id}/sharing/keep": {"chat_id": "direct_chat_id"},
    "/v1/chats/{chat_id}/sharing/withdraw": {"chat_id": "direct_chat_id"},
    "/v1/sharing/why/{kind}/{item_id}": {"kind": "=memory", "item_id": "memory_id"},
    "/v1/skills/{name}": {"name": "skill_name"},
    "/v1/sources/{source_id}/versions/{version}/restore": {"version": "=1"},
    "/v1/sources/{source_id}/versions/{version}/text": {"version": "=1"},
    "/v1/tools/{name}": {"name": "tool_name"},
    "/v1/tools/{name}/try": {"name": "tool_name"},
    "/v1/tools/{name}/secret": {"name": "tool_name"},
    "/v1/tools/{name}/offered": {"name": "server_name"},
    "/v1/tools/{name}/versions": {"name": "tool_name"},
    "/v1/tools/{name}/versions/{version}/restore": {"name": "tool_name", "version": "=1"},
    "/v1/users/{user_id}/phones/{phone}": {"phone": "own_phone"},
    "/v1/users/{user_id}/phones/{phone}/code": {"phone": "own_phone"},
    "/v1/me/phones/{phone}": {"phone": "own_phone"},
    "/v1/me/phones/{phone}/code": {"phone": "own_phone"},
    **{
        f"/v1/{whose}/phones/{{phone}}/consents{rest}": {"phone": "own_phone", "channel": "=sms"}
        for whose in ("me", "users/{user_id}")
        for rest in ("", "/{channel}")
    },
}

# Parameters of queries: values that fit, with `=` before what is no id of something.
QUERIES: dict[str, str] = {
    "after": "=0",
    "agent_id": "agent_id",
    "before": "=999",
    "by": "=agent",
    "case_id": "case_id",
    "chat_id": "chat_id",
    "cursor": "",  # has a test of its own
    "day": "=2026-02-18",
    "event_id": "event_id",
    "from_seq": "=1",
    "from": "=2026-02-18",
    "in_chat_id": "chat_id",
    "kind": "=core",
    "limit": "=10",
    "line": "phone",
    "named_texts": "=replace",
    "override_reason": "=The prompt has a mistake",
    "overwrite": "=true",
    "phone": "own_phone",
    "q": "word",
    "reader_id": "user_id",
    "reason": "=A complaint of a member",
    "rests_on": "=one_person",
    "state": "=live",
    "status": "=active",
    "to_seq": "=1",
    "tokens": "=1000",
    "trial_id": "trial_id",
    "to": "=2026-02-18",
    "user_id": "user_id",
}

# Bodies, by their models; `{name}` is an id of `TenantData.own`.
BODIES: dict[str, dict[str, Any]] = {
    "AgentChange": {"system_prompt": "Be brief."},
    "AgentFile": {
        "agent": {"name": "Another"},
        "plans": [{"name": "New", "instruction": "Look", "cron": "0 17 * * SUN"}],
        "goals": [{"text": "Something new"}],
        "memories": [{"text": "Something new"}],
        "documents": [{"name": "new.md", "text": "Something new"}],
        "skills": [{"name": "new", "text": "Something new"}],
        "tools": [
            {
                "name": "new_tool",
                "description": "Something new",
                "http": {"url": "https://shop.example/"},
            }
        ],
    },
    "CannedAnswerChange": {"text": "Something else"},
    "CaseChange": {"required": False},
    "ChatChange": {"title": "Changed"},
    "DocumentChange": {"append": "More"},
    "DocumentText": {"text": "All of it"},
    "DraftRequest": {"kind": "answer"},
    "EndpointChange": {"enabled": False},
    "GivenCode": {"code": CODE},
    "GoalChange": {"priority": 1},
    "InvitationAnswer": {"accept": True},
    "LineChange": {"agent_id": "{agent_id}"},
    "MemoryChange": {"confirmed": True},
    "MemoryReplacement": {"text": "Something else"},
    "NewAgent": {"name": "Another"},
    "NewCannedAnswer": {"name": "new", "text": "Something new"},
    "NewCase": {
        "name": "New",
        "script": {"people": [{"name": "Ann"}], "turns": [{"from": "Ann", "text": "Hello"}]},
        "expect": [{"says": ["hello"]}],
    },
    "NewChat": {
        "client_id": "new",
        "kind": "group",
        "members": [{"kind": "agent", "id": "{agent_id}"}, {"kind": "user", "id": "{member_id}"}],
    },
    "NewChatMessage": {"text": "Hello there", "client_id": "new", "reply_to": 1},
    "NewDevice": {"token": "ab" * 32, "platform": "apns"},
    "NewDocument": {"name": "new.md", "text": "Something new"},
    "NewEndpoint": {"url": "https://shop.example/events", "types": ["run.ended"]},
    "NewGoal": {"text": "Something new"},
    "NewHolder": {"holder": "me"},
    "NewKey": {"name": "Another", "roles": ["support"]},
    "NewLine": {"phone": NEW_LINE, "agent_id": "{agent_id}"},
    "NewMedia": {
        "chat_id": "{chat_id}",
        "type": "image/png",
        "bytes": 10,
        "sha256": "0" * 64,
    },
    "NewMemory": {"kind": "core", "text": "Something new"},
    "NewOutreach": {
        "people": ["{user_id}"],
        "agent_id": "{agent_id}",
        "text": "Hello",
        "asked_by": "Ann",
        "not_before": "2026-03-18T12:00:00Z",
    },
    "OwnSharingChange": {"receives": False},
    "NewPlan": {"name": "New", "instruction": "Look", "run_after": "2 hours"},
    "NewService": {"name": "New", "agent_ids": ["{agent_id}"]},
    "NewTextConsent": {"proof": "A form"},
    "NewSharingRule": {
        "name": "New",
        "reason": "They live together",
        "from": {"role": "daughter"},
        "to": {"role": "father"},
    },
    "NewSource": {"name": "New", "text": "Something new"},
    "NewSourceUpload": {"type": "text/plain", "bytes": 10, "sha256": "0" * 64},
    "NewTrial": {"candidate": {"changes": {"system_prompt": "Something else"}}},
    "NewTool": {
        "name": "new_tool",
        "description": "Something new",
        "http": {"url": "https://shop.example/"},
    },
    "NewTeamMessage": {"text": "It comes today", "client_id": "new"},
    "NewToken": {"expires_in_seconds": 60},
    "NewThread": {"concern": "Something new"},
    "NewSkill": {"name": "new", "text": "Something new"},
    "NewVisit": {"consent": 1},
    "NewWidget": {
        "agent_id": "{agent_id}",
        "origins": ["https://shop.example"],
        "public": {"name": "New"},
    },
    "NewUser": {"id": "usr_new", "name": "New", "phones": ["+15005559100"]},
    "OutreachChange": {"status": "paused"},
    "OwnChange": {"time_zone": "Europe/Berlin"},
    "Pinning": {"pinned_thread_id": "{thread_id}"},
    "ReadReceipt": {"seq": 1},
    "ReplayEdit": {"system_prompt": "Be brief."},
    "RoleChange": {"role": "owner"},
    "Return": {"briefing": "All is well"},
    "RespondNow": {"agent_id": "{agent_id}"},
    "ServerToolApproval": {"tool": SING.name, "digest": SING.digest},
    "ServiceChange": {"agent_ids": ["{agent_id}"]},
    "SharingRuleChange": {"reason": "They are a family"},
    "SkillBody": {"text": "Something else"},
    "PlanChange": {"status": "canceled"},
    "SourceChange": {"about": "Something else"},
    "SourceSearch": {"query": "Something else", "agent_id": "{agent_id}"},
    "TenantOverridesChange": {"reply_debounce_seconds": 3},
    "ThreadChange": {"progress": "Half"},
    "ToolDecision": {"decision": "approved"},
    "ToolTrial": {"arguments": {"order": "17"}},
    "ToolChange": {"enabled": False},
    "WidgetChange": {"enabled": False},
    "UserChange": {"time_zone": "Europe/Berlin"},
    "Withdrawal": {"from_seq": 1, "to_seq": 1},
}


class Lacking(AssertionError):
    """A table here has no entry for something that the code has."""


@dataclass(frozen=True)
class Request:
    """One request, as a client sends it.

    Attributes:
        named: The kinds of things that it names, so that a test can name others.
        given: All texts in it.
    """

    path: str
    body: dict[str, Any] | None
    query: dict[str, str]
    named: frozenset[str]

    @property
    def given(self) -> frozenset[str]:
        """Every text that the caller knows, since it stands in the request."""
        return frozenset([*self.path.split("/"), *self.query.values(), *_texts(self.body)])


@dataclass(frozen=True)
class Route:
    """One call of the API."""

    api: ModuleType
    method: str
    path: str
    path_names: tuple[str, ...]
    query_names: tuple[str, ...]
    body: str | None
    fields: frozenset[str] = frozenset()
    middlewares: tuple[Any, ...] = ()
    needed: tuple[str, ...] = ()  # parameters of the query without which nothing is answered

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def scope(self) -> str:
        """What a token must hold."""
        return str(self.api.api.scope)

    @property
    def role(self) -> str | None:
        """The role that an operator needs; None for the API of people."""
        return next((each.role for each in self.middlewares if isinstance(each, Requires)), None)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of which an operator needs one."""
        needed = (each.roles for each in self.middlewares if isinstance(each, Requires))
        return next(needed, ())

    @property
    def public(self) -> bool:
        """Whether it needs no token."""
        return bool(self.api.api.is_public(self.path))

    @property
    def lists(self) -> bool:
        """Whether it answers with a page of a list."""
        return self.method == "GET" and {"items", "next_cursor"} <= self.fields

    @property
    def names_something(self) -> bool:
        """Whether its path has an id, so that what it names can be somebody else's."""
        return bool(self.path_names)

    def request(self, ids: Ids, *, queries: tuple[str, ...] = ()) -> Request:
        """A request that fits, for the things of these ids.

        Raises:
            Lacking: It is not known what to put into it.
        """
        used = _Used(ids)
        own = PATHS.get(self.path, {})
        filled = {name: used.value(own.get(name, name), str(self)) for name in self.path_names}
        path = self.path.format(**{n: v.replace("#", "%23") for n, v in filled.items()})
        why = [name for name in self.query_names if name == "reason"]
        asked = dict.fromkeys([*self.needed, *why, *queries])
        query = {name: used.value(QUERIES[name], str(self)) for name in asked}
        return Request(path, used.filled(self._template()), query, frozenset(used.names))

    def check_known(self, ids: Ids) -> None:
        """Fail, and say what to add, unless every input of the route is known.

        Raises:
            Lacking: One is not.
        """
        for name in self.query_names:
            if name not in QUERIES:
                raise Lacking(
                    f"{self} takes {name!r} in its query: say in QUERIES of {WHERE} what fits"
                )
        self.request(ids)

    def send(self, client: Client, request: Request) -> Answer:
        """Send a request, as `client`."""
        return client.call(self.method, request.path, request.body, query=request.query)

    def _template(self) -> dict[str, Any] | None:
        if self.body is not None and self.body not in BODIES:
            raise Lacking(f"{self} takes a {self.body}: give one that fits in BODIES of {WHERE}")
        return BODIES[self.body] if self.body is not None else None


class _Used:
    """Looks ids up, and remembers which."""

    def __init__(self, ids: Ids) -> None:
        self.names: set[str] = set()
        self._ids = ids

    def value(self, what: str, where: str) -> str:
        if what.startswith("="):
            return what[1:]
        if what not in self._ids:
            raise Lacking(
                f"{where} names a {what!r}: let `TenantData.own` (tests/matrix/tenant_data.py) "
                f"have the id of one, or say in PATHS of {WHERE} what it is"
            )
        self.names.add(what)
        return self._ids[what]

    def filled(self, template: Any) -> Any:
        if isinstance(template, str) and template.startswith("{"):
            return self.value(template[1:-1], "a body")
        if isinstance(template, dict):
            return {name: self.filled(value) for name, value in template.items()}
        return list(map(self.filled, template)) if isinstance(template, list) else template


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _fields(route: Any) -> frozenset[str]:
    """The fields of a successful response."""
    content = route.responses.get(200, {}).get("content", {})
    models = [each.get("model") for each in content.values()]
    return frozenset(name for model in models for name in getattr(model, "model_fields", ()))


def _routes() -> Iterator[Route]:
    for module in (mobile_api, admin_api):
        for route in module.api.routes:
            wanted = route.dependant
            body = wanted.body_params[0].type_.__name__ if wanted.body_params else None
            yield Route(
                api=module,
                method=str(route.method),
                path=str(route.openapi_path),
                path_names=tuple(each.name for each in wanted.path_params),
                query_names=tuple(each.alias or each.name for each in wanted.query_params),
                body=body,
                fields=_fields(route),
                middlewares=tuple(route.middlewares),
                needed=tuple(each.name for each in wanted.query_params if each.required),
            )


ROUTES = tuple(_routes())


def caller(world: Neighbours, route: Route, **changes: Any) -> Client:
    """The client that a route lets in: Ann, or an operator."""
    sub = world.ours.people["ann"].id if route.scope == "chat" else "usr_op"
    values: dict[str, Any] = {
        "api": route.api,
        "sub": sub,
        "scope": route.scope,
        "claims": {"name": "Ann"},
    }
    if route.role == "tokens":  # of an API key, which has the operator's id in each tenant
        values |= {"source": "key", "scope": "tokens"}
    return Client(world, **(values | changes))
