"""Routes of agents, for operators."""

from collections.abc import Sequence
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import AgentId, Limit, PageCursor
from routes.router import ApiRouter, no_content
from skein.agent_files.api import AgentFile, ExportedFile, ImportedAgent
from skein.agent_files.export import AgentExport
from skein.agent_files.importing import AgentImport
from skein.agent_files.templates import agent_templates, file_of, template_resource
from skein.bootstrap import service
from skein.models.api.chats import AgentChatPage
from skein.models.api.directory import (
    AgentChange,
    AgentDetail,
    AgentPage,
    AgentTemplateList,
    AgentVersionPage,
    AgentWarning,
    NewAgent,
)
from skein.models.common.base import EntityId
from skein.models.directory.agent import LAST_VERSION, Agent, is_built_in
from skein.own_tools.records import OwnTools
from skein.privacy.models.audit import MAX_REASON, MIN_REASON
from skein.services.chats.views import ChatViews
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.directory.agents import Agents
from skein.services.directory.model_warnings import ModelWarnings
from skein.services.directory.users import Users
from skein.services.runs.tool_warnings import ToolWarnings
from skein.trials.gate import OpenedGate, TrialGate

router = ApiRouter("agents", "agent", role="support", writes="owner")

YAML = "application/yaml"
Overwrite = Annotated[
    bool,
    Query(description="Whether to change tools and skills of the tenant that differ."),
]
VersionNumber = Annotated[int, Path(ge=1, le=LAST_VERSION, description="A version's number.")]
OfTrial = Annotated[
    EntityId | None, Query(description="A trial of this change, for an agent with a gate.")
]
Override = Annotated[
    str | None,
    Query(
        min_length=MIN_REASON,
        max_length=MAX_REASON,
        pattern=r"\S",
        description="Why the change passes the gate without a trial, for the audit log.",
    ),
]
WithUser = Annotated[
    EntityId | None,
    Query(description="The chats with this user, open and private, instead of all open chats."),
]


@router.post("/v1/agents", "Create an agent")
def create_agent(new: NewAgent) -> AgentDetail:
    """Omitted fields take the values of the template, or their defaults if no template is given.

    The response has a warning if the provider does not list the model.
    """
    return _detail(_create(file_of(new)))


@router.post("/v1/agents/file", "Import an agent from a file")
def import_agent(file: AgentFile, *, overwrite: Overwrite = False) -> ImportedAgent:
    """Creates an agent with the plans, goals, memories, documents, skills and tools of the file.

    The body is YAML (`application/yaml`) or JSON, at most 1 MiB. Nothing is stored if a value is
    invalid. The response names the secrets of tools, which a file does not contain.
    """
    return _imported(_create(file, overwrite=overwrite), file)


@router.get(
    "/v1/agents/<agent_id>/file",
    "Export an agent as a file",
    409,
    media_type=YAML,
    model=ExportedFile,
)
def export_agent(agent_id: AgentId) -> Response[str]:
    """YAML with all that operators made for the agent. It has no ids, secrets, people or chats.

    Documents that the agent has changed are left out; a comment in the file names them.
    """
    exported = service(AgentExport).export(router.caller.tenant, agent_id)
    return Response(200, YAML, exported.text)


@router.put("/v1/agents/<agent_id>/file", "Update an agent from a file", 409)
def update_agent_from_file(
    agent_id: AgentId,
    file: AgentFile,
    *,
    overwrite: Overwrite = False,
    trial_id: OfTrial = None,
    override_reason: Override = None,
) -> ImportedAgent:
    """The agent gets all fields of the file, as a new version. Omitted fields get their defaults.

    Plans, goals, memories and documents of the file are added, or replace those of the same name.
    The agent's other ones stay. Repeating the call changes nothing.
    """
    caller, imports = router.caller, service(AgentImport)
    gate = service(TrialGate).open(trial_id, override_reason)
    made = imports.replace(
        caller.tenant,
        agent_id,
        file,
        overwrite=overwrite,
        by=caller.user_id,
        admit=gate.check,
    )
    return _imported(made, file)


@router.get("/v1/agent-templates", "List templates for new agents")
def list_agent_templates() -> AgentTemplateList:
    """To create an agent from a template, name the template in `POST /v1/agents`."""
    items = tuple(template_resource(name, file) for name, file in agent_templates().items())
    return AgentTemplateList(items=items, next_cursor=None)


@router.get("/v1/agents", "List agents, oldest first")
def list_agents(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> AgentPage:
    """Deleted agents are omitted."""
    page = service(Agents).list(router.caller.tenant, limit=limit, cursor=cursor)
    return AgentPage.of(page)


@router.get("/v1/agents/<agent_id>", "Get an agent")
def get_agent(agent_id: AgentId) -> AgentDetail:
    """For a deleted agent, the status is 404."""
    agent = service(Agents).get(router.caller.tenant, agent_id)
    detail, unheard = _detail(agent), service(ToolWarnings).of(agent)
    if unheard is None:
        return detail
    warning = AgentWarning(code="no_tool_called", message=unheard)
    return detail.model_copy(update={"warnings": (*detail.warnings, warning)})


@router.patch("/v1/agents/<agent_id>", "Update an agent", 409)
def change_agent(
    agent_id: AgentId,
    change: AgentChange,
    trial_id: OfTrial = None,
    override_reason: Override = None,
) -> AgentDetail:
    """The agent's next activation uses the new values.

    If the agent's `gate` is `block`, the change needs an ended trial of this change in which no
    required case regressed (`trial_id`), or the reason of an owner (`override_reason`). Otherwise,
    the answer is 409, and `details.reason` is `trial_required`, or `trial_stale` if the agent or a
    required case was changed since the trial.
    """
    caller, gate = router.caller, service(TrialGate).open(trial_id, override_reason)
    _check_tools(change.given.get("enabled_tools", ()))
    changed = service(Agents).change(
        caller.tenant, agent_id, change, by=caller.user_id, admit=gate.check
    )
    return _warned(_detail(changed), gate)


@router.get("/v1/agents/<agent_id>/versions", "List an agent's versions, newest first")
def list_versions(
    agent_id: AgentId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> AgentVersionPage:
    """The newest 50 versions are kept, with all values that operators set, by whom and when."""
    page = service(Agents).versions(router.caller.tenant, agent_id, limit=limit, cursor=cursor)
    return AgentVersionPage.of(page)


@router.post(
    "/v1/agents/<agent_id>/versions/<version>/restore",
    "Restore a version of an agent",
    409,
    status=200,
)
def restore_version(
    agent_id: AgentId,
    version: VersionNumber,
    trial_id: OfTrial = None,
    override_reason: Override = None,
) -> AgentDetail:
    """The restored values become a new version. Repeating the call changes nothing.

    The agent's gate applies, as it does to `PATCH /v1/agents/{agent_id}`.
    """
    caller, gate = router.caller, service(TrialGate).open(trial_id, override_reason)
    restored = service(Agents).restore(
        caller.tenant, agent_id, version, by=caller.user_id, admit=gate.check
    )
    return _warned(_detail(restored), gate)


def _warned(detail: AgentDetail, gate: OpenedGate) -> AgentDetail:
    """Add the warning of a gate that warns but does not block."""
    if gate.warning is None:
        return detail
    warning = AgentWarning(code="no_trial", message=gate.warning)
    return detail.model_copy(update={"warnings": (*detail.warnings, warning)})


@router.get("/v1/agents/<agent_id>/chats", "List an agent's chats, newest first", audit="chat")
def list_agent_chats(
    agent_id: AgentId,
    user_id: WithUser = None,
    *,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> AgentChatPage:
    """The list has no titles or texts. To read a chat, call `GET /v1/transcripts/{chat_id}`.

    Private chats are listed only with `user_id`. Discarded chats are omitted, so a page may be
    short.
    """
    tenant = router.caller.tenant
    agent = service(Agents).get(tenant, agent_id)
    if user_id is not None:
        user_id = service(Users).get(tenant, user_id).id
    page = service(ChatViews).agent_chats(
        tenant, agent.id, user_id=user_id, limit=limit, cursor=cursor
    )
    return AgentChatPage.of(page)


@router.delete("/v1/agents/<agent_id>", "Delete an agent")
def delete_agent(agent_id: AgentId) -> Response[None]:
    """The agent stays in the member lists of its chats, but no longer responds."""
    service(Agents).delete(router.caller.tenant, agent_id)
    return no_content()


def _create(file: AgentFile, *, overwrite: bool = False) -> Agent:
    """Create an agent from a file, once for each idempotency key."""
    caller, imports, agents = router.caller, service(AgentImport), service(Agents)
    return router.once(
        Agent,
        lambda: imports.create(caller.tenant, file, overwrite=overwrite, by=caller.user_id),
        lambda agent_id: agents.get(caller.tenant, agent_id),
    )


def _imported(agent: Agent, file: AgentFile) -> ImportedAgent:
    secrets = service(AgentImport).secrets(agent.tenant, file)
    return ImportedAgent(**dict(_detail(agent)), secrets=secrets)


def _check_tools(names: Sequence[str]) -> None:
    """Check that all named tools exist, as built-in or custom tools.

    Raises:
        Unprocessable: A tool does not exist.
    """
    if not all(map(is_built_in, names)):
        service(OwnTools).check_names(router.caller.tenant, names)


def _detail(agent: Agent) -> AgentDetail:
    return AgentDetail.with_warnings(agent, service(ModelWarnings).of(agent))
