"""Versions of agents: who changed what, and the way back."""

import pytest

from skein.errors import NotFound, Unavailable
from skein.models.api.directory import AgentChange
from skein.models.config.overrides import ChatOverridesChange
from tests.support.api_client import operator
from tests.support.builders import TENANT, World

VERSIONS = "/v1/agents/agt_a/versions"


def changed(*prompts: str) -> World:
    world = World()
    world.agent(system_prompt="First.")
    for prompt in prompts:
        world.clock.advance(60)
        operator(world).patch("/v1/agents/agt_a", {"system_prompt": prompt})
    return world


def test_versions_of_an_unchanged_agent_are_its_current_one() -> None:
    [only] = operator(changed()).get(VERSIONS).body["items"]
    assert (only["version"], only["changed_by"]) == (1, None)
    assert only["configuration"]["system_prompt"] == "First."


def test_versions_name_each_change_with_its_operator_newest_first() -> None:
    items = operator(changed("Second.", "Third.")).all_pages(VERSIONS, limit=2)
    shown = [(v["version"], v["configuration"]["system_prompt"], v["changed_by"]) for v in items]
    assert shown == [(3, "Third.", "usr_op"), (2, "Second.", "usr_op"), (1, "First.", None)]
    assert items[0]["changed_at"] > items[1]["changed_at"] > items[2]["changed_at"]


def test_restore_gives_back_all_fields_as_a_new_version() -> None:
    world = changed()
    change = AgentChange(model="m", listed=True, settings=ChatOverridesChange(apology=False))
    world.app.agents.change(TENANT, "agt_a", change)
    before = world.app.agents.get(TENANT, "agt_a")
    body = operator(world).post(f"{VERSIONS}/1/restore", {}).body
    assert (body["model"], body["listed"], body["settings"]) == (None, False, {})
    newest = operator(world).get(VERSIONS).body["items"][0]
    assert (newest["version"], newest["restored_from"]) == (before.version + 1, 1)
    assert world.app.agents.directory(TENANT).items == ()


def test_restore_repeated_changes_nothing() -> None:
    world = changed("Second.")
    for _ in range(3):
        assert operator(world).post(f"{VERSIONS}/1/restore", {}).status == 200
    assert len(operator(world).all_pages(VERSIONS)) == 3


def test_restore_of_an_unknown_version_is_not_found() -> None:
    assert operator(changed("Second.")).post(f"{VERSIONS}/9/restore", {}).status == 404


def test_only_the_newest_50_versions_are_kept() -> None:
    world = changed()
    for n in range(60):
        world.app.agents.change(TENANT, "agt_a", AgentChange(system_prompt=f"Prompt {n}"))
    versions = operator(world).all_pages(VERSIONS)
    assert [version["version"] for version in versions] == list(range(61, 11, -1))
    with pytest.raises(NotFound):
        world.app.agents.restore(TENANT, "agt_a", 11)


def test_change_that_fails_leaves_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    world = changed("Second.")

    def down(*_: object) -> None:
        raise Unavailable("down")

    with monkeypatch.context() as patch:
        patch.setattr(world.table, "transact", down)
        with pytest.raises(Unavailable):
            world.app.agents.change(TENANT, "agt_a", AgentChange(system_prompt="Third."))
    assert [v["version"] for v in operator(world).all_pages(VERSIONS)] == [2, 1]
    assert world.app.agents.get(TENANT, "agt_a").system_prompt == "Second."
