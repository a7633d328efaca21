"""Tools of a tenant, as tests give them to an agent."""

import json
from typing import Any

from skein.models.common.http import HttpAnswer, HttpRequest
from skein.models.common.storage import Put
from skein.models.runs.requested_call import RequestedCall
from skein.models.runs.run import run_id_in
from skein.models.visibility.audience import OPEN
from skein.own_tools.models.approval import DECIDE_WITHIN, ToolApproval
from skein.own_tools.models.server_tool import ServerTool
from skein.own_tools.models.tool import OwnTool, OwnToolVersion
from skein.own_tools.signed_context import new_nonce
from tests.fakes.outbound_http import json_answer
from tests.support.builders import NOON, TENANT, World

ORDER = {
    "type": "object",
    "properties": {"order": {"type": "string"}},
    "required": ["order"],
}
LOOK_UP: dict[str, Any] = {
    "name": "order_status",
    "description": "Look up an order.",
    "parameters": ORDER,
    "privacy": "keeps_by_person",
    "http": {"method": "GET", "url": "https://shop.example/orders/{order}"},
}
BOOK: dict[str, Any] = {
    "name": "book_table",
    "description": "Book a table.",
    "parameters": {
        "type": "object",
        "properties": {"day": {"type": "string"}, "seats": {"type": "integer"}},
        "required": ["day"],
    },
    "effect": "write",
    "approval": "none",
    "approval_text": "Book a table",
    "privacy": "keeps_by_person",
    "http": {"method": "POST", "url": "https://shop.example/bookings"},
}


SING = ServerTool(
    name="sing",
    description="Sing.",
    parameters={"type": "object", "properties": {}},
    effect="read",
    idempotent=False,
)
SINGER: dict[str, Any] = {"name": "singer", "mcp": {"url": "https://shop.example/mcp"}}
COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def singing(request: HttpRequest) -> HttpAnswer:
    """Answer as an MCP server that offers `SING`; as a service with JSON elsewhere."""
    if not request.url.endswith("/mcp"):
        return json_answer({"state": "on its way"})
    asked = json.loads(request.body)
    listed = {
        "name": SING.name,
        "description": SING.description,
        "inputSchema": SING.parameters,
        "annotations": {"readOnlyHint": True},
    }
    results: dict[str, dict[str, Any]] = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}},
        "tools/list": {"tools": [listed]},
        "tools/call": {"content": [{"type": "text", "text": "La"}]},
    }
    result = COMPLETE | results[asked["method"]]
    return json_answer({"jsonrpc": "2.0", "id": asked["id"], "result": result})


def own_tool(world: World, fields: dict[str, Any], **changes: Any) -> OwnTool:
    """Store a tool of the tenant, such as `LOOK_UP`."""
    tool = OwnTool.model_validate(
        {"tenant": TENANT, "nonce": new_nonce(), "created_at": NOON, **fields, **changes}
    )
    version = OwnToolVersion.of(tool)
    world.table.write(Put(tool.key, tool.attributes()))
    world.table.write(Put(version.key, version.attributes()))
    return tool


def waiting_call(world: World, agent_id: str, *, tool: str, private: bool = False) -> str:
    """Store an open call that waits for an operator, and return its id."""
    call = RequestedCall(
        run_id=run_id_in(agent_id, "1"), step=1, position=0, tool=tool, version=1, readers=OPEN
    )
    approval = ToolApproval(
        tenant=TENANT,
        id=f"apr_{tool}",
        agent_id=agent_id,
        call=call,
        private=private,
        created_at=NOON,
        expires_at=int((NOON + DECIDE_WITHIN).timestamp()),
    )
    world.table.write(Put(approval.key, approval.to_item()))
    return approval.id
