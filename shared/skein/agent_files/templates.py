"""Templates for new agents: agents' files in `examples/agents`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from skein.agent_files.api import AgentFile
from skein.agent_files.yaml_text import parsed
from skein.errors import Unprocessable
from skein.models.api.directory import AgentTemplateResource, NewAgent, TemplatePlan, WholeAgent

LAYER_TEMPLATES = Path("/opt/examples/agents")
REPOSITORY_TEMPLATES = Path(__file__).resolve().parents[3] / "examples" / "agents"
EMPTY = "empty"  # sorts last in a list


def templates_root() -> Path:
    """Return the folder of the templates: in the Lambda layer or, locally, in the repository."""
    return LAYER_TEMPLATES if LAYER_TEMPLATES.is_dir() else REPOSITORY_TEMPLATES


@cache
def agent_templates() -> Mapping[str, AgentFile]:
    """Return all templates by name, sorted by name, with the empty template last."""
    paths = sorted(
        templates_root().glob("*.yaml"), key=lambda path: (path.stem == EMPTY, path.stem)
    )
    return {path.stem: AgentFile.model_validate(parsed(path.read_text("utf-8"))) for path in paths}


def file_of(new: NewAgent) -> AgentFile:
    """Return a new agent as a file; its template gives the items and the omitted fields.

    Raises:
        Unprocessable: There is no such template.
    """
    file = AgentFile(agent=new)
    if new.template is not None:
        template = agent_templates().get(new.template)
        if template is None:
            raise Unprocessable(f"template: there is none of the name {new.template}")
        fields = _given(template.agent) | _given(new)
        file = template.model_copy(update={"agent": WholeAgent.model_validate(fields)})
    return file


def template_resource(name: str, file: AgentFile) -> AgentTemplateResource:
    """Return a template as the API shows it."""
    return AgentTemplateResource(
        name=name,
        title=file.agent.name,
        about=file.about,
        system_prompt=file.agent.system_prompt,
        enabled_tools=file.agent.enabled_tools,
        plans=tuple(
            TemplatePlan(name=plan.name, instruction=plan.instruction, cron=plan.cron)
            for plan in file.plans
            if plan.cron is not None
        ),
    )


def _given(agent: WholeAgent) -> dict[str, object]:
    return {name: getattr(agent, name) for name in agent.model_fields_set - {"template"}}
