"""Handler of the operators' HTTP API (scope `admin`)."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.app import Api
from routes.router import routers_in
from skein.logs import logged

MODULES = {
    "agents.agents": ("/v1/agent-templates", "/v1/agents"),
    "privacy.audit": ("/v1/audit",),
    "memory.consolidations": ("/v1/chats/*/consolidate", "/v1/chats/*/consolidations"),
    "desk.canned_answers": ("/v1/canned-answers",),
    "desk.desk": ("/v1/desk", "/v1/chats/*/desk"),
    "workspace.documents": ("/v1/agents/*/documents", "/v1/chats/*/documents"),
    "planning.goals_and_plans": ("/v1/agents/*/goals", "/v1/agents/*/plans"),
    "identity.keys": ("/v1/keys", "/v1/users/*/tokens"),
    "agents.lines": ("/v1/lines",),
    "memory.memories": ("/v1/agents/*/memories",),
    "errands.errands": ("/v1/errands",),
    "events.event_endpoints": ("/v1/event-endpoints",),
    "outreach.outreach": ("/v1/outreach",),
    "operations.pauses": ("/v1/pauses",),
    "privacy.privacy": ("/v1/erasures", "/v1/users/*"),
    "operations.reasons": ("/v1/chats/*/messages",),
    "recall.recall": ("/v1/agents/*/recall", "/v1/chats/*/recall", "/v1/recall"),
    "memory.reflections": ("/v1/agents/*/reflections",),
    "operations.runs": ("/v1/agents/*/runs", "/v1/runs"),
    "operations.prompts": ("/v1/agents/*/context", "/v1/runs/*/replay", "/v1/tool-tokens"),
    "inbound.services": ("/v1/services",),
    "operations.settings": ("/v1/settings",),
    "knowledge.sources": ("/v1/sources",),
    "workspace.skills": ("/v1/skills",),
    "own_tools.approvals": ("/v1/approvals",),
    "own_tools.tools": ("/v1/tools",),
    "operations.system": ("/v1/system",),
    "workspace.threads": ("/v1/agents/*/threads", "/v1/chats/*/agents"),
    "chats.transcripts": ("/v1/transcripts",),
    "trials.cases": ("/v1/agents/*/cases",),
    "trials.trials": ("/v1/agents/*/trials",),
    "operations.usage": ("/v1/usage",),
    "people.users": ("/v1/users",),
    "sharing.explained": ("/v1/sharing",),
    "sharing.rules": ("/v1/sharing-rules",),
    "web_chat.widgets": ("/v1/widgets",),
}

# The bodies of these paths may be YAML.
FILES = frozenset({"/v1/agents/file", "/v1/agents/*/file"})

api = Api(scope="admin", modules=MODULES, routers_in=routers_in, files=FILES)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return api.resolve(event, context)
