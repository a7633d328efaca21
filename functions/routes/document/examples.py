"""Examples of requests and responses for the OpenAPI document, by operation id.

tests/handlers/test_api_docs.py checks each against its schema.
"""

from typing import Any, NamedTuple

CHAT = "chat_01M806VB1EXYCSVB1T1S3JF1YZ"
AGENT = "agt_01M804VMPX3DA30HZM0KD2DW9E"
USER = "usr_01M8052A0RRXM7989ADR524XMF"
AT = "2026-11-21T22:54:08.412Z"


class Example(NamedTuple):
    """An example of an operation.

    Attributes:
        request: The request's body; None for none.
        response: The successful response's body; None for none.
    """

    request: dict[str, Any] | None = None
    response: dict[str, Any] | None = None


MESSAGE = {
    "id": "msg_01M8052A0RRXM7989ADR524XMF",
    "chat_id": CHAT,
    "seq": 2,
    "kind": "text",
    "text": "Yes. Walk for five minutes first, then stretch.",
    "sender": {"kind": "agent", "id": AGENT, "name": "Coach"},
    "client_id": "8a41",
    "reply_to": None,
    "media": [],
    "run_id": None,
    "created_at": AT,
}
PLAN = {
    "name": "long run",
    "instruction": "Ask how the long run went.",
    "cron": "0 18 * * SUN",
    "time_zone": "Europe/Berlin",
}

EXAMPLES: dict[str, Example] = {
    "create_chat": Example(
        {
            "kind": "group",
            "title": "Morning run",
            "members": [{"kind": "agent", "id": AGENT}],
            "client_id": "5f0c",
        }
    ),
    "change_chat": Example({"title": "Evening run"}),
    "post_message": Example({"text": "Should I stretch before I run?", "client_id": "8a41"}),
    "list_messages": Example(response={"items": [MESSAGE], "next_cursor": None}),
    "mark_read": Example({"seq": 2}),
    "change_me": Example({"name": "Husam", "time_zone": "Europe/Berlin"}),
    "open_live": Example(
        response={
            "url": "wss://live.example/v1",
            "ticket": "tkt_01M8052A0RRXM7989ADR524XMF",
            "expires_at": AT,
        }
    ),
    "create_agent": Example(
        {
            "name": "Coach",
            "system_prompt": "You are a running coach. Be short and encouraging.",
            "description": "Helps people to run regularly.",
            "listed": True,
        }
    ),
    "change_agent": Example({"reply_mode": "text"}),
    "create_line": Example({"phone": "+15005550006", "agent_id": AGENT}),
    "create_user": Example({"name": "Husam", "phones": ["+15005550100"]}),
    "create_goal": Example({"text": "Ann runs ten kilometers in May."}),
    "create_plan": Example(PLAN),
    "create_memory": Example({"kind": "core", "text": "Ann trains for a race in May."}),
    "create_service": Example({"name": "shop", "agent_ids": [AGENT]}),
    "create_skill": Example({"name": "stretching", "text": "# Stretching\nHold each stretch."}),
}


def _error(code: str, message: str, **details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details}}


ERROR_EXAMPLES: dict[str, dict[str, Any]] = {
    "400": _error("invalid", "the body is not valid JSON"),
    "401": {"message": "Unauthorized"},
    "403": _error("forbidden", "this call needs the scope 'admin'"),
    "404": _error("not_found", "no such chat"),
    "409": _error("conflict", "the chat is being discarded"),
    "413": _error("too_large", "the body is larger than 262,144 bytes"),
    "422": _error(
        "unprocessable",
        "some values are invalid",
        reasons=[{"where": ["body", "text"], "why": "Field required"}],
    ),
    "429": _error("rate_limited", "too many messages", retry_after_seconds=12),
    "500": _error("internal", "An internal error occurred."),
    "503": _error("unavailable", "The request failed temporarily. Try again."),
}
