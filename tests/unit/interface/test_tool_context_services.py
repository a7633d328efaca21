"""Tools call the services that the APIs have, except those that are named here."""

import ast
from pathlib import Path

import pytest

from skein.agent.tools import MODULES
from skein.bootstrap.ports import ADAPTERS, Ports
from skein.bootstrap.wiring import App
from skein.settings import Settings
from tests.support.function_services import FUNCTIONS, services_in

# Services of the API that tools do not get, and why.
NOT_FOR_TOOLS = {
    "AgentExport": "operators export agents as files",
    "AgentImport": "operators create and change agents by files",
    "ApiKeys": "operators make API keys",
    "KeyedCalls": "clients repeat requests with an Idempotency-Key",
    "UserTokens": "servers make tokens for people",
    "LiveTickets": "people open the live channel",
    "MessageSearch": "people search the messages of their chats",
    "Sources": "operators load what agents answer from; a tool searches it",
    "VisitLimits": "the limits of the calls of pages",
    "VisitMessages": "visitors write in their chats",
    "Visits": "pages open, renew and end visits",
    "VisitTokens": "pages get the tokens of their visits",
    "Widgets": "operators put agents on pages",
    "RecallPreview": "operators see what recall finds; a tool has recall itself",
    "RecallRebuilds": "operators rebuild the index of recall",
    "Agents": "a reading has the agent, and its chats name the others",
    "Lines": "operators connect agents with numbers",
    "OperatorApprovals": "operators decide on calls",
    "ToolTrials": "operators try tools",
    "ErrandViews": "people and operators list errands; the turn asks and ends them",
    "EventEndpoints": "operators name the services that are told of events",
    "OwnTools": "operators add tools; a reading has those of the agent",
    "UsageCounters": "the turn counts what a run uses",
    "Users": "a reading has the person, and profiles changes them",
    "Backlogs": "operators count the waiting work of their tenant",
    "MessageDeletion": "people delete their own messages",
    "AuditLog": "it records what operators and people do",
    "Answering": "people answer choices",
    "TypedAnswers": "people answer choices by a typed yes or no",
    "Invitations": "people answer invitations",
    "OpenChoices": "people list their open choices",
    "Consents": "people list the posts to which they agreed",
    "Devices": "people register the devices of their app",
    "LiveConnections": "operators close the connections of a person",
    "SignOuts": "operators sign a person out",
    "AppMessages": "agents post with chats",
    "ChatAdministration": "people and operators change chats",
    "ChatViews": "it shows a person their chats; an agent reads own_chats",
    "ConsolidationRequests": "operators request consolidations",
    "WorkOverviews": "operators look at the agents that are at work",
    "CannedAnswers": "the team keeps texts for the desk",
    "DeskQueue": "operators list the chats on the desk",
    "Returns": "the holder of a chat hands it back",
    "Taking": "operators take chats over",
    "Drafts": "they are for the person of the team who holds the chat",
    "TeamMessages": "the holder of a chat answers there",
    "Outreaches": "operators have agents write to people",
    "OutreachReports": "operators read what has become of an outreach",
    "OwnSharing": "people decide what is told of their words, and to them",
    "Explanations": "operators ask why somebody may see something",
    "RuleChanges": "owners make sharing rules",
    "TextConsents": "people and operators record consents to texts",
    "Erasures": "operators request erasures",
    "ErasurePreviews": "operators see what an erasure takes",
    "NumberCodes": "people and operators prove phone numbers",
    "ReadLimits": "the API counts the reads of its callers",
    "FolderDocuments": "operators write documents by their folder",
    "Exports": "operators request exports",
    "ManualTrigger": "people trigger agents by hand",
    "MediaUploads": "people send files and read those of their chats",
    "ModelStatuses": "operators ask whether a model answers",
    "ModelWarnings": "operators read warnings about an agent's model",
    "TenantPauses": "operators pause work",
    "PeopleSearch": "operators search for people by name",
    "PhoneLinks": "people prove that a phone number is theirs",
    "OpenedLinks": "people open the links of files",
    "Pins": "operators pin threads",
    "PlanChats": "operators choose the chat of a plan",
    "Preview": "operators look at prompts",
    "RateLimiter": "it limits what people post",
    "ReasonViews": "operators ask why there is no answer",
    "BackgroundRecords": "operators look at consolidations and reflections",
    "Replays": "operators repeat a prompt with edits",
    "RunViews": "it shows operators runs; an agent reads own_runs",
    "SettingSources": "operators see where each setting comes from",
    "StackSettingsService": "operators see the stack's own settings",
    "TenantSettingsService": "operators change settings; a run's are in call.reading.config",
    "Cases": "operators keep cases of agents",
    "ToolWarnings": "operators read warnings about an agent's tools",
    "Trials": "operators try versions of agents",
    "TrialGate": "operators change agents that have a gate",
    "TrainingExport": "operators export training units",
    "UsageReports": "operators read reports of usage",
    "WaitingStays": "operators dismiss chats that wait on the desk",
    "WebhookServices": "its records hold secrets",
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
    routes = (FUNCTIONS / "routes").rglob("*.py")
    of_api = {kind.__name__ for path in routes for kind in services_in(path)}
    for_tools = of_api & services_of_tools().keys()
    missing = of_api - for_tools - NOT_FOR_TOOLS.keys()
    assert not missing, "let a tool call it, or add it to NOT_FOR_TOOLS with a reason"
    assert NOT_FOR_TOOLS.keys() <= of_api - for_tools
