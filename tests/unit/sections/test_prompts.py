"""Prompts are files, strictly rendered."""

import pytest

from skein import prompts

FILES = sorted(
    path.relative_to(prompts.prompts_root()).with_suffix("").as_posix()
    for path in prompts.prompts_root().rglob("*.md")
    if path.parts[-2] != "skills"
)


@pytest.mark.parametrize("name", FILES)
def test_every_prompt_renders_with_exactly_its_variables(name: str) -> None:
    variables = {v: f"<{v}>" for v in prompts.load(name).get_identifiers()}
    text = prompts.render(name, variables)
    assert text
    assert all(value in text for value in variables.values())
    with pytest.raises(ValueError, match="does not use"):
        prompts.render(name, variables | {"surplus": ""})
    for missing in variables:
        with pytest.raises(KeyError):
            prompts.render(name, {k: v for k, v in variables.items() if k != missing})


def test_an_unknown_prompt_raises() -> None:
    with pytest.raises(FileNotFoundError):
        prompts.render("no_such_prompt")
