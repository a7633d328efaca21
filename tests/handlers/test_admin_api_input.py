"""What the HTTP API for operators does with input that does not fit."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.api_client import WHY, Client, everything
from tests.support.builders import LINE, World, person
from tests.support.examples import examples

HUSAM = person()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/agents", {}),
        ("/v1/agents", {"name": ""}),
        ("/v1/agents", {"name": "   "}),
        ("/v1/agents", {"name": "x" * 201}),
        ("/v1/agents", {"name": "A", "id": "agt_mine"}),
        ("/v1/agents", {"name": "A", "system_prompt": "x" * 50_001}),
        ("/v1/agents", {"name": "A", "time_zone": "Mars/Base"}),
        ("/v1/agents", {"name": "A", "max_prompt_tokens": 10}),
        ("/v1/agents", {"name": "A", "reply_mode": "shout"}),
        ("/v1/agents", {"name": "A", "enabled_tools": ["rm -rf"]}),
        ("/v1/agents", {"name": "A", "enabled_tools": ["send_message", "send_mail"]}),
        ("/v1/agents", {"name": "A", "max_concurrent_runs": 0}),
        ("/v1/agents", {"name": "A", "model": 4}),
        ("/v1/users", {"name": "A", "phones": ["12"]}),
        ("/v1/users", {"name": "A", "phones": "+15005550101"}),
        ("/v1/users", {"name": "A", "phones": ["+15005550101"] * 21}),
        ("/v1/users", {"name": "A", "id": "with space"}),
        ("/v1/users", {"name": "A", "profile": []}),
        ("/v1/users", {"name": "A", "profile": {"n": 10**40}}),
        ("/v1/users", {"name": "A", "profile": {"a": "\0"}}),
        ("/v1/lines", {"phone": LINE}),
        ("/v1/lines", {"phone": "12", "agent_id": "agt_a"}),
        ("/v1/lines", {"phone": LINE, "agent_id": "agt_unknown"}),
    ],
)
def test_values_that_do_not_fit_are_422_and_store_nothing(
    world: World, admin: Client, path: str, body: dict[str, Any]
) -> None:
    answer = admin.post(path, body)
    assert (answer.status, answer.code) == (422, "unprocessable")
    assert everything(world) == {}


@pytest.mark.parametrize("path", ["/v1/agents", "/v1/users", "/v1/lines", "/v1/agents/agt_a/runs"])
@pytest.mark.parametrize("cursor", ["x", "e30", "eyJvZiI6ImFnZW50cyJ9", "..", "é"])
def test_forged_cursors_are_400(world: World, admin: Client, path: str, cursor: str) -> None:
    world.agent()
    answer = admin.get(path, cursor=cursor)
    assert (answer.status, answer.code) == (400, "invalid")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "phones", "profile", "phone", "agent_id", "settings", "", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    method=st.sampled_from(["GET", "POST", "PATCH", "DELETE"]),
    things=st.sampled_from(["agents", "users", "lines", "runs"]),
    thing_id=st.none() | st.text(max_size=12),
    body=JSON,
    query=st.dictionaries(
        st.sampled_from(["limit", "cursor", "day"]), st.text(max_size=10), max_size=2
    ),
)
def test_random_input_never_causes_a_server_error(
    admin: Client, method: str, things: str, thing_id: str | None, body: Any, query: dict[str, str]
) -> None:
    path = f"/v1/{things}" if thing_id is None else f"/v1/{things}/{thing_id}"
    assert admin.call(method, path, body, query=query).status < 500


@settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    profile=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.text(max_size=3), inner, max_size=2)
            ),
        ),
        max_size=3,
    )
)
def test_a_profile_is_kept_exactly_or_refused(admin: Client, profile: dict[str, Any]) -> None:
    answer = admin.post("/v1/users", {"name": "Ann", "profile": profile})
    if answer.status == 201:
        kept = admin.get(f"/v1/users/{answer.body['id']}", reason=WHY).body["profile"]
        assert decimals(kept) == decimals(profile)
    else:
        assert answer.status in {400, 422}


def decimals(fields: dict[str, Any]) -> Any:
    """The fields as JSON has them, to which 1.0 and 1 are one number."""
    return json.loads(json.dumps(fields), parse_int=Decimal, parse_float=Decimal)
