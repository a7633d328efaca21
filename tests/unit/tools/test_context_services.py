"""Tools find every service that they may use in `ToolServices`."""

from dataclasses import fields

from skein.agent.tools.context import ToolServices
from skein.bootstrap.api import ApiServices

# Services of the API that tools do not get, and why.
NOT_FOR_TOOLS = {
    "live_tickets": "people open the live channel",
    "message_search": "people search the messages of their chats",
    "recall_preview": "operators see what recall finds; a tool has recall itself",
    "recall_rebuilds": "operators rebuild the index of recall",
    "backlogs": "operators count the waiting work of their tenant",
    "message_deletion": "people delete their own messages",
    "dispatch": "services send the jobs of their own commits",
    "renaming": "agents and users call it",
    "audit": "it records what operators and people do",
    "app_messages": "agents post with chats",
    "chat_admin": "people and operators change chats",
    "views": "it shows a person their chats; an agent reads own_chats",
    "consolidation_requests": "operators request consolidations",
    "current_work": "operators look at the agents that are at work",
    "erasures": "operators request erasures",
    "exports": "operators request exports",
    "manual_trigger": "people trigger agents by hand",
    "model_statuses": "operators ask whether a model answers",
    "model_warnings": "operators read warnings about an agent's model",
    "pauses": "operators pause work",
    "people_search": "operators search for people by name",
    "phone_links": "people prove that a phone number is theirs",
    "pins": "operators pin threads",
    "preview": "operators look at prompts",
    "rate_limiter": "it limits what people post",
    "reason_views": "operators ask why there is no answer",
    "reflection_views": "operators look at reflections",
    "replays": "operators repeat a prompt with edits",
    "run_views": "it shows operators runs; an agent reads own_runs",
    "setting_sources": "operators see where each setting comes from",
    "stack_settings": "operators see the stack's own settings",
    "tenant_settings": "operators change settings; a run's are in call.reading.config",
    "tool_warnings": "operators read warnings about an agent's tools",
    "training_export": "operators export training units",
    "usage_reports": "operators read reports of usage",
    "webhook_services": "its records hold secrets",
}


def test_services_of_the_api_are_for_tools_or_named_with_a_reason() -> None:
    given = {field.name for field in fields(ToolServices)}
    of_api = {name for name, value in vars(ApiServices).items() if isinstance(value, property)} - {
        "ports"
    }
    for name in sorted(of_api - given - NOT_FOR_TOOLS.keys()):
        raise AssertionError(
            f"add {name!r} to ToolServices in shared/skein/agent/tools/context.py, "
            f"or add it to NOT_FOR_TOOLS with a reason"
        )
    assert NOT_FOR_TOOLS.keys() <= of_api - given
