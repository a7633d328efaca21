"""Routes that preview and replay prompts, for operators."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.app import AgentId, RunId
from routes.audited import Audited
from routes.router import ApiRouter
from routes.scope import WhyPrivate, check_chat, note_run, sees_private
from skein.agent.preview import Preview
from skein.agent.replay import Replays
from skein.bootstrap import service
from skein.models.api.inspection import PromptResource, ReplayEdit, ReplayResource
from skein.models.api.runs import ContextResource, ToolTokensList, ToolTokensResource
from skein.models.common.base import EntityId
from skein.own_tools.records import OwnTools
from skein.services.config.tenant_settings import TenantSettingsService

MOST_TOOLS = 200

router = ApiRouter("runs", "run", role="support")

InChat = Annotated[
    EntityId | None, Query(description="A chat of the agent; omitted: a prompt without a chat.")
]


@router.get("/v1/agents/<agent_id>/context", "Preview an agent's prompt", audit="context")
def preview_prompt(
    agent_id: AgentId, chat_id: InChat = None, reason: WhyPrivate = None
) -> ContextResource:
    """The preview is the prompt that a run started now would get. Nothing is sent or changed."""
    if chat_id is not None:
        service(TenantSettingsService).check_reading(router.caller.tenant)
        check_chat(router.caller, chat_id, reason)
    return ContextResource.of(service(Preview).show(router.caller.tenant, agent_id, chat_id))


@router.get("/v1/tool-tokens", "List the tokens that each tool takes", audit="tool")
def list_tool_tokens() -> ToolTokensList:
    """The tokens that each tool adds to a request: built-in tools, then the tenant's first 200."""
    own = service(OwnTools).list(router.caller.tenant, limit=MOST_TOOLS).items
    sizes = service(Preview).tool_tokens(own)
    return ToolTokensList(items=tuple(map(ToolTokensResource.of, sizes)), next_cursor=None)


@router.post(
    "/v1/runs/<run_id>/replay",
    "Replay a run's prompt with edits",
    409,
    status=200,
    audit=Audited("create", "replay", scope="support"),
)
def replay_run(run_id: RunId, edit: ReplayEdit, reason: WhyPrivate = None) -> ReplayResource:
    """Skein asks the model once. No tool is called. Only the audit entry and the usage are stored.

    The tokens count against the tenant's budget. Erased and expired runs cannot be replayed.
    """
    caller = router.caller
    replay = service(Replays).replay(
        caller.tenant,
        run_id,
        operator=caller.user_id,
        private=sees_private(caller, reason),
        system_prompt=edit.system_prompt,
        sections=edit.sections,
    )
    note_run(replay.run)
    answer = replay.answer
    return ReplayResource(
        run_id=run_id,
        model=answer.model,
        text=answer.text,
        tool_calls=answer.tool_calls,
        fault=answer.fault,
        prompt=PromptResource.from_parts(replay.prompt, answer.usage),
        usage=answer.usage,
        money=replay.money,
        started_at=replay.started_at,
        ended_at=replay.ended_at,
    )
