"""Tools call the services that the APIs have, except those that are named here."""

import ast
from pathlib import Path

import pytest

from skein.agent.tools import MODULES
from skein.bootstrap.api import ApiServices
from skein.bootstrap.ports import ADAPTERS, Ports
from skein.bootstrap.wiring import App
from skein.settings import Settings

# Services of the API that tools do not get, and why.
NOT_FOR_TOOLS = {
    "live_tickets": "people open the live channel",
    "message_search": "people search the messages of their chats",
    "recall_preview": "operators see what recall finds; a tool has recall itself",
    "recall_rebuilds": "operators rebuild the index of recall",
    "agents": "a reading has the agent, and its chats name the others",
    "lines": "operators connect agents with numbers",
    "usage": "the turn counts what a run uses",
    "users": "a reading has the person, and profiles changes them",
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
    "background_records": "operators look at consolidations and reflections",
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


def services_of_tools() -> dict[str, type]:
    """Return the services that tools ask for, by the names of their classes."""
    found = {}
    for module in MODULES:
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "call.service":
                name = ast.unparse(node.args[0])
                found[name] = getattr(module, name)
    return found


@pytest.mark.parametrize("kind", services_of_tools().values(), ids=services_of_tools())
def test_service_of_tools_can_be_built(kind: type) -> None:
    app = App(Ports(Settings(), **dict.fromkeys(ADAPTERS)))
    assert isinstance(app.get(kind), kind)


def test_services_of_the_api_are_for_tools_or_named_with_a_reason() -> None:
    of_api = {
        name: value.fget.__annotations__["return"]
        for name, value in vars(ApiServices).items()
        if isinstance(value, property) and name != "ports"
    }
    for_tools = {name for name, kind in of_api.items() if kind in services_of_tools()}
    missing = of_api.keys() - for_tools - NOT_FOR_TOOLS.keys()
    assert not missing, "let a tool call it, or add it to NOT_FOR_TOOLS with a reason"
    assert NOT_FOR_TOOLS.keys() <= of_api.keys() - for_tools
