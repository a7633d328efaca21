"""Skills: ours and tenants' own, chosen by what was bound, by mode and by tags."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import ValidationError

from skein.errors import Conflict, NotFound
from skein.workspace.models.skill import MAX_SKILLS, SkillCatalog, SkillHead
from skein.workspace.skill_selection import shipped, skills_for
from tests.support.builders import TENANT, World


def head(name: str, *, tags: tuple[str, ...] = (), modes: tuple[str, ...] = ()) -> SkillHead:
    return SkillHead(name=name, tags=tags, modes=modes)


def put(world: World, name: str, text: str = "Do it well.", **fields: tuple[str, ...]) -> None:
    world.app.skills.put(TENANT, head(name, **fields), text)


HEADS = [
    head("core"),
    head("review", tags=("code",), modes=("review",)),
    head("rust", tags=("rust", "code")),
    head("python", tags=("python", "code"), modes=("review",)),
]


# ---------------------------------------------------------------------- choosing


def test_chosen_skills_are_core_then_bound_tags_and_mode_without_duplicates() -> None:
    chosen = skills_for(HEADS, bound=("rust",), mode="review", tags=("python", "code"))
    assert chosen == ("core", "rust", "python", "review")


def test_skills_without_selection_are_core_only() -> None:
    assert skills_for(HEADS) == ("core",)
    assert skills_for([], bound=("core",)) == ("core",)


def test_tags_and_modes_do_not_mind_capitals() -> None:
    assert skills_for(HEADS, mode="Review") == ("core", "python", "review")
    assert skills_for(HEADS, tags=("RUST",)) == ("core", "rust")


def test_deleted_bound_skill_is_named_in_the_prompt() -> None:
    chosen = World().app.skills.selected(TENANT, bound=("nowhere", "planning"))
    assert [skill.name for skill in chosen.skills] == ["core", "planning"]
    assert chosen.missing == ("nowhere",)


# ---------------------------------------------------------------------- ours


def test_every_shipped_skill_is_complete() -> None:
    assert "core" in shipped()
    for name, skill in shipped().items():
        assert skill.name == name
        assert skill.description
        assert skill.text
        assert skill.tenant is None
        assert name == "core" or skill.tags


# ---------------------------------------------------------------------- tenants' own


def test_a_tenants_own_skill_takes_the_place_of_ours_until_it_is_removed() -> None:
    world = World()
    put(world, "core", "Our own way.")
    assert [skill.text for skill in world.app.skills.selected(TENANT).skills] == ["Our own way."]
    assert world.app.skills.selected("other").skills == (shipped()["core"],)
    world.app.skills.delete(TENANT, "core")
    assert world.app.skills.selected(TENANT).skills == (shipped()["core"],)
    with pytest.raises(NotFound):
        world.app.skills.delete(TENANT, "core")


def test_a_tenants_skill_is_chosen_by_its_tags_as_they_are_now() -> None:
    world = World()
    put(world, "rust", tags=("rust",))
    put(world, "rust", "Better.", tags=("crab",))
    assert len(world.app.skills.selected(TENANT, tags=("rust",)).skills) == 1
    chosen = world.app.skills.selected(TENANT, tags=("crab",)).skills[1]
    assert (chosen.text, chosen.version) == ("Better.", 2)


def test_a_list_has_ours_and_the_tenants_own_by_name() -> None:
    world = World()
    put(world, "aaa")
    put(world, "planning", "Ours is no more.")
    listed = {each.head.name: each.shipped for each in world.app.skills.list(TENANT)}
    assert list(listed) == sorted({"aaa", *shipped()})
    assert not listed["aaa"]
    assert not listed["planning"]
    assert listed["core"]


def test_a_new_skill_must_not_be_there() -> None:
    world = World()
    world.app.skills.put(TENANT, head("rust"), "One.", only_new=True)
    with pytest.raises(Conflict, match="already"):
        world.app.skills.put(TENANT, head("rust"), "Two.", only_new=True)
    assert world.app.skills.get(TENANT, "rust").text == "One."
    with pytest.raises(NotFound):
        world.app.skills.get("other", "rust")


def test_concurrently_created_skills_are_all_in_the_catalog() -> None:
    world = World()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: put(world, f"skill-{n:02d}"), range(20)))
    catalog = SkillCatalog.from_optional(world.table.get(SkillCatalog.key_of(TENANT)))
    assert [each.name for each in catalog.heads] == [f"skill-{n:02d}" for n in range(20)]


def test_a_tenant_has_a_hundred_skills_at_most() -> None:
    world = World()
    for n in range(MAX_SKILLS):
        put(world, f"skill-{n}")
    with pytest.raises(Conflict, match="100 skills"):
        put(world, "one-more")
    put(world, "skill-5", "Changed.")


@pytest.mark.parametrize("name", ["", "CATALOG", "Rust", "a b", "a/b", "a#b", "x" * 65])
def test_a_name_is_lower_case_words_joined(name: str) -> None:
    with pytest.raises(ValidationError):
        head(name)
