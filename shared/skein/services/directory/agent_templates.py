"""Templates for new agents, from the files in `examples/agents`.

A file has `title`, `about`, the fields of the agent in `agent`, and its `plans`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from skein.errors import Unprocessable
from skein.models.api.directory import AgentTemplateResource, NewAgent, TemplatePlan

LAYER_TEMPLATES = Path("/opt/examples/agents")
REPOSITORY_TEMPLATES = Path(__file__).resolve().parents[4] / "examples" / "agents"
EMPTY = "empty"  # sorts last in a list


@dataclass(frozen=True, slots=True)
class AgentTemplate:
    """A template: the initial values of a new agent.

    Attributes:
        agent: The fields of the agent; fields that are not set have their defaults.
    """

    name: str
    title: str
    about: str
    agent: NewAgent
    plans: tuple[TemplatePlan, ...]

    def applied_to(self, new: NewAgent) -> NewAgent:
        """Return `new` with the template's values for the fields that `new` does not set."""
        return NewAgent.model_validate(_given(self.agent) | _given(new))

    @property
    def resource(self) -> AgentTemplateResource:
        """The template as the API shows it."""
        return AgentTemplateResource(
            name=self.name,
            title=self.title,
            about=self.about,
            system_prompt=self.agent.system_prompt,
            enabled_tools=self.agent.enabled_tools,
            plans=self.plans,
        )


def _given(agent: NewAgent) -> dict[str, object]:
    return {name: getattr(agent, name) for name in agent.model_fields_set}


def templates_root() -> Path:
    """Return the folder of the templates: in the Lambda layer or, locally, in the repository."""
    return LAYER_TEMPLATES if LAYER_TEMPLATES.is_dir() else REPOSITORY_TEMPLATES


@cache
def agent_templates() -> Mapping[str, AgentTemplate]:
    """Return all templates by name, sorted by name, with the empty template last."""
    paths = sorted(
        templates_root().glob("*.yaml"), key=lambda path: (path.stem == EMPTY, path.stem)
    )
    return {path.stem: _read(path) for path in paths}


def agent_template(name: str) -> AgentTemplate:
    """Return a template.

    Raises:
        Unprocessable: There is no such template.
    """
    found = agent_templates().get(name)
    if found is None:
        raise Unprocessable(f"template: there is none of the name {name}")
    return found


def _read(path: Path) -> AgentTemplate:
    import yaml  # noqa: PLC0415 - the import takes time; only callers that use templates pay

    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = {"name": data["title"], **data.get("agent", {})}
    return AgentTemplate(
        name=path.stem,
        title=data["title"],
        about=data["about"],
        agent=NewAgent.model_validate(fields),
        plans=tuple(map(TemplatePlan.model_validate, data.get("plans", ()))),
    )
