"""The warnings that operators get with an agent."""

import pytest

from routes.document import openapi
from tests.support.api_client import Client
from tests.support.builders import World

UNLISTED = "gtp-4"


@pytest.fixture
def world() -> World:
    world = World()
    world.model_list.listed = frozenset({world.settings.default_model})
    return world


def test_agent_with_an_unlisted_model_has_a_warning_in_each_response(admin: Client) -> None:
    created = admin.post("/v1/agents", {"name": "Coach", "model": UNLISTED})
    path = f"/v1/agents/{created.body['id']}"
    renamed = admin.patch(path, {"name": "Trainer"})
    for answer, status in ((created, 201), (renamed, 200), (admin.get(path), 200)):
        assert answer.status == status
        [warning] = answer.body["warnings"]
        assert warning["code"] == "unlisted_model"
        assert UNLISTED in warning["message"]
    cleared = admin.patch(path, {"model": None})
    assert cleared.body["warnings"] == []
    assert admin.get(path).body["warnings"] == []


def test_list_of_agents_has_no_warnings_and_does_not_list_models(
    world: World, admin: Client
) -> None:
    world.agent(model=UNLISTED)
    [agent] = admin.get("/v1/agents").body["items"]
    assert agent["model"] == UNLISTED
    assert "warnings" not in agent
    assert world.model_list.calls == 0


def test_document_describes_the_warnings() -> None:
    schemas = openapi.document()["components"]["schemas"]
    assert "warnings" in schemas["AgentDetail"]["required"]
    assert set(schemas["AgentWarning"]["required"]) == {"code", "message"}
