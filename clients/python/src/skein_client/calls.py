"""Calls of the HTTP API by subject, most of them for operators."""

# Generated from async_calls.py by `make client-types`.

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from skein_client.api_types import (
    AgentChange,
    AgentChatResource,
    AgentDetail,
    AgentFile,
    AgentResource,
    AgentTemplateResource,
    AgentVersionResource,
    ApprovalResource,
    CannedAnswerChange,
    CannedAnswerResource,
    DeskResource,
    DirectChatResource,
    DraftRequest,
    DraftResource,
    GivenCode,
    ImportedAgent,
    LineChange,
    LineResource,
    ListedAgent,
    MessageResource,
    NewAgent,
    NewCannedAnswer,
    NewHolder,
    NewLine,
    NewPlan,
    NewTeamMessage,
    NewTextConsent,
    NewTool,
    NewUser,
    OfferedToolResource,
    PersonKind,
    PlanChange,
    PlanResource,
    PlanStatus,
    ReachingChannel,
    Return,
    SentCode,
    ServerToolApproval,
    TextConsentResource,
    ToolChange,
    ToolDecision,
    ToolResource,
    ToolTrial,
    ToolVersionResource,
    ToolWithSecret,
    TrialResource,
    UserChange,
    UserDetail,
    UserResource,
    WaitingCallResource,
)
from skein_client.paths import path

if TYPE_CHECKING:
    from skein_client.client import Client


class Agents:
    """Agents: their system prompts, models and tools (`client.agents`)."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def change(
        self,
        agent_id: str,
        body: AgentChange,
        *,
        trial_id: str | None = None,
        override_reason: str | None = None,
    ) -> AgentDetail:
        """Update an agent."""
        return cast(
            "AgentDetail",
            self._client.call(
                "PATCH",
                path("/v1/agents/{}", agent_id),
                body,
                {"trial_id": trial_id, "override_reason": override_reason},
            ),
        )

    def create(self, body: NewAgent) -> AgentDetail:
        """Create an agent."""
        return cast("AgentDetail", self._client.call("POST", "/v1/agents", body))

    def delete(self, agent_id: str) -> None:
        """Delete an agent."""
        self._client.call("DELETE", path("/v1/agents/{}", agent_id))

    def get(self, agent_id: str) -> AgentDetail:
        """Get an agent."""
        return cast("AgentDetail", self._client.call("GET", path("/v1/agents/{}", agent_id)))

    def import_agent(self, body: AgentFile, *, overwrite: bool | None = None) -> ImportedAgent:
        """Import an agent from a file."""
        return cast(
            "ImportedAgent",
            self._client.call("POST", "/v1/agents/file", body, {"overwrite": overwrite}),
        )

    def list(self) -> Iterator[ListedAgent]:
        """List the agents of the directory, oldest first."""
        return self._client.items("/v1/agents/directory")

    def list_all(self) -> Iterator[AgentResource]:
        """List agents, oldest first."""
        return self._client.items("/v1/agents")

    def list_chats(
        self, agent_id: str, *, user_id: str | None = None
    ) -> Iterator[AgentChatResource]:
        """List an agent's chats, newest first."""
        return self._client.items(path("/v1/agents/{}/chats", agent_id), {"user_id": user_id})

    def list_templates(self) -> Sequence[AgentTemplateResource]:
        """List templates for new agents."""
        found = self._client.call("GET", "/v1/agent-templates")
        return cast("Sequence[AgentTemplateResource]", found["items"])

    def list_versions(self, agent_id: str) -> Iterator[AgentVersionResource]:
        """List an agent's versions, newest first."""
        return self._client.items(path("/v1/agents/{}/versions", agent_id))

    def restore_version(
        self,
        agent_id: str,
        version: int,
        *,
        trial_id: str | None = None,
        override_reason: str | None = None,
    ) -> AgentDetail:
        """Restore a version of an agent."""
        return cast(
            "AgentDetail",
            self._client.call(
                "POST",
                path("/v1/agents/{}/versions/{}/restore", agent_id, version),
                None,
                {"trial_id": trial_id, "override_reason": override_reason},
            ),
        )

    def update_from_file(
        self,
        agent_id: str,
        body: AgentFile,
        *,
        overwrite: bool | None = None,
        trial_id: str | None = None,
        override_reason: str | None = None,
    ) -> ImportedAgent:
        """Update an agent from a file."""
        return cast(
            "ImportedAgent",
            self._client.call(
                "PUT",
                path("/v1/agents/{}/file", agent_id),
                body,
                {"overwrite": overwrite, "trial_id": trial_id, "override_reason": override_reason},
            ),
        )


class Approvals:
    """Calls of tools that wait for an operator (`client.approvals`)."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def decide(
        self, approval_id: str, body: ToolDecision, *, reason: str | None = None
    ) -> WaitingCallResource:
        """Approve or reject a tool call."""
        return cast(
            "WaitingCallResource",
            self._client.call(
                "POST", path("/v1/approvals/{}", approval_id), body, {"reason": reason}
            ),
        )

    def get(self, approval_id: str, *, reason: str | None = None) -> WaitingCallResource:
        """Get a tool call awaiting approval."""
        return cast(
            "WaitingCallResource",
            self._client.call(
                "GET", path("/v1/approvals/{}", approval_id), None, {"reason": reason}
            ),
        )

    def list(self) -> Sequence[ApprovalResource]:
        """List tool calls awaiting approval, oldest first."""
        found = self._client.call("GET", "/v1/approvals")
        return cast("Sequence[ApprovalResource]", found["items"])


class Desk:
    """Chats that people of the team take over (`client.desk`)."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def change_canned_answer(
        self, answer_name: str, body: CannedAnswerChange
    ) -> CannedAnswerResource:
        """Update a canned answer."""
        return cast(
            "CannedAnswerResource",
            self._client.call("PATCH", path("/v1/canned-answers/{}", answer_name), body),
        )

    def create_canned_answer(self, body: NewCannedAnswer) -> CannedAnswerResource:
        """Create a canned answer."""
        return cast("CannedAnswerResource", self._client.call("POST", "/v1/canned-answers", body))

    def delete_canned_answer(self, answer_name: str) -> None:
        """Delete a canned answer."""
        self._client.call("DELETE", path("/v1/canned-answers/{}", answer_name))

    def get(self, chat_id: str) -> DeskResource:
        """Get a chat on the desk."""
        return cast("DeskResource", self._client.call("GET", path("/v1/chats/{}/desk", chat_id)))

    def get_canned_answer(self, answer_name: str) -> CannedAnswerResource:
        """Get a canned answer."""
        return cast(
            "CannedAnswerResource",
            self._client.call("GET", path("/v1/canned-answers/{}", answer_name)),
        )

    def hand_back(self, chat_id: str, body: Return) -> None:
        """Hand a chat back."""
        self._client.call("DELETE", path("/v1/chats/{}/desk", chat_id), body)

    def list(self) -> Sequence[DeskResource]:
        """List the chats on the desk."""
        found = self._client.call("GET", "/v1/desk")
        return cast("Sequence[DeskResource]", found["items"])

    def list_canned_answers(self) -> Iterator[CannedAnswerResource]:
        """List canned answers by name."""
        return self._client.items("/v1/canned-answers")

    def list_held_messages(
        self, chat_id: str, *, after: int | None = None, before: int | None = None
    ) -> Iterator[MessageResource]:
        """List messages of a chat that you have taken over."""
        return self._client.items(
            path("/v1/chats/{}/desk/messages", chat_id), {"after": after, "before": before}
        )

    def make_draft(self, chat_id: str, body: DraftRequest) -> DraftResource:
        """Draft an answer, a briefing or a summary."""
        return cast(
            "DraftResource",
            self._client.call("POST", path("/v1/chats/{}/desk/drafts", chat_id), body),
        )

    def post_team_message(self, chat_id: str, body: NewTeamMessage) -> MessageResource:
        """Post a message as the team."""
        return cast(
            "MessageResource",
            self._client.call("POST", path("/v1/chats/{}/desk/messages", chat_id), body),
        )

    def request_person(self, chat_id: str, *, reason: str | None = None) -> DeskResource:
        """Add a chat to the desk."""
        return cast(
            "DeskResource",
            self._client.call("POST", path("/v1/chats/{}/desk", chat_id), None, {"reason": reason}),
        )

    def take_over(
        self, chat_id: str, body: NewHolder, *, reason: str | None = None
    ) -> DeskResource:
        """Take a chat over."""
        return cast(
            "DeskResource",
            self._client.call("PUT", path("/v1/chats/{}/desk", chat_id), body, {"reason": reason}),
        )


class Lines:
    """Phone numbers on which agents receive and send SMS (`client.lines`)."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def change(self, phone: str, body: LineChange) -> LineResource:
        """Update a line."""
        return cast("LineResource", self._client.call("PATCH", path("/v1/lines/{}", phone), body))

    def create(self, body: NewLine) -> LineResource:
        """Connect a phone number to an agent."""
        return cast("LineResource", self._client.call("POST", "/v1/lines", body))

    def delete(self, phone: str) -> None:
        """Delete a line."""
        self._client.call("DELETE", path("/v1/lines/{}", phone))

    def get(self, phone: str) -> LineResource:
        """Get a line."""
        return cast("LineResource", self._client.call("GET", path("/v1/lines/{}", phone)))

    def list(self) -> Iterator[LineResource]:
        """List lines by number."""
        return self._client.items("/v1/lines")


class Plans:
    """Plans: future runs of agents, once or recurring (`client.plans`)."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def cancel(
        self,
        agent_id: str,
        plan_id: str,
        *,
        user_id: str | None = None,
        chat_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Cancel a plan."""
        self._client.call(
            "DELETE",
            path("/v1/agents/{}/plans/{}", agent_id, plan_id),
            None,
            {"user_id": user_id, "chat_id": chat_id, "reason": reason},
        )

    def change(
        self,
        agent_id: str,
        plan_id: str,
        body: PlanChange,
        *,
        user_id: str | None = None,
        chat_id: str | None = None,
        reason: str | None = None,
    ) -> PlanResource:
        """Cancel or restore a plan."""
        return cast(
            "PlanResource",
            self._client.call(
                "PATCH",
                path("/v1/agents/{}/plans/{}", agent_id, plan_id),
                body,
                {"user_id": user_id, "chat_id": chat_id, "reason": reason},
            ),
        )

    def create(self, agent_id: str, body: NewPlan, *, reason: str | None = None) -> PlanResource:
        """Create a plan."""
        return cast(
            "PlanResource",
            self._client.call(
                "POST", path("/v1/agents/{}/plans", agent_id), body, {"reason": reason}
            ),
        )

    def get(
        self,
        agent_id: str,
        plan_id: str,
        *,
        user_id: str | None = None,
        chat_id: str | None = None,
        reason: str | None = None,
    ) -> PlanResource:
        """Get a plan."""
        return cast(
            "PlanResource",
            self._client.call(
                "GET",
                path("/v1/agents/{}/plans/{}", agent_id, plan_id),
                None,
                {"user_id": user_id, "chat_id": chat_id, "reason": reason},
            ),
        )

    def list(
        self,
        agent_id: str,
        *,
        user_id: str | None = None,
        chat_id: str | None = None,
        reason: str | None = None,
        status: PlanStatus | None = None,
    ) -> Iterator[PlanResource]:
        """List an agent's plans, active first."""
        return self._client.items(
            path("/v1/agents/{}/plans", agent_id),
            {"user_id": user_id, "chat_id": chat_id, "reason": reason, "status": status},
        )


class Tools:
    """Tools of your own: services that agents call (`client.tools`)."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def approve_offered(self, name: str, body: ServerToolApproval) -> ToolResource:
        """Approve a tool of an MCP server."""
        return cast(
            "ToolResource",
            self._client.call("POST", path("/v1/tools/{}/offered", name), body),
        )

    def change(self, name: str, body: ToolChange) -> ToolResource:
        """Update a tool."""
        return cast("ToolResource", self._client.call("PATCH", path("/v1/tools/{}", name), body))

    def create(self, body: NewTool) -> ToolWithSecret:
        """Create a custom tool."""
        return cast("ToolWithSecret", self._client.call("POST", "/v1/tools", body))

    def delete(self, name: str) -> None:
        """Delete a tool."""
        self._client.call("DELETE", path("/v1/tools/{}", name))

    def get(self, name: str) -> ToolResource:
        """Get a tool."""
        return cast("ToolResource", self._client.call("GET", path("/v1/tools/{}", name)))

    def list(self) -> Iterator[ToolResource]:
        """List custom tools by name."""
        return self._client.items("/v1/tools")

    def list_offered(self, name: str) -> Sequence[OfferedToolResource]:
        """List the tools of an MCP server."""
        found = self._client.call("GET", path("/v1/tools/{}/offered", name))
        return cast("Sequence[OfferedToolResource]", found["items"])

    def list_versions(self, name: str) -> Iterator[ToolVersionResource]:
        """List a tool's versions, newest first."""
        return self._client.items(path("/v1/tools/{}/versions", name))

    def restore_version(self, name: str, version: int) -> ToolResource:
        """Restore a version of a tool."""
        return cast(
            "ToolResource",
            self._client.call("POST", path("/v1/tools/{}/versions/{}/restore", name, version)),
        )

    def rotate_secret(self, name: str) -> ToolWithSecret:
        """Rotate a tool's secret."""
        return cast("ToolWithSecret", self._client.call("POST", path("/v1/tools/{}/secret", name)))

    def try_tool(self, name: str, body: ToolTrial) -> TrialResource:
        """Test a tool."""
        return cast(
            "TrialResource", self._client.call("POST", path("/v1/tools/{}/try", name), body)
        )


class Users:
    """People, as operators manage them (`client.users`)."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def change(self, user_id: str, body: UserChange, *, reason: str | None = None) -> UserDetail:
        """Update a user."""
        return cast(
            "UserDetail",
            self._client.call("PATCH", path("/v1/users/{}", user_id), body, {"reason": reason}),
        )

    def create(self, body: NewUser) -> UserDetail:
        """Create a user."""
        return cast("UserDetail", self._client.call("POST", "/v1/users", body))

    def get(self, user_id: str, *, reason: str | None = None) -> UserDetail:
        """Get a user."""
        return cast(
            "UserDetail",
            self._client.call("GET", path("/v1/users/{}", user_id), None, {"reason": reason}),
        )

    def link_number(self, user_id: str, phone: str, body: GivenCode) -> UserDetail:
        """Link a phone number to a user."""
        return cast(
            "UserDetail",
            self._client.call("PUT", path("/v1/users/{}/phones/{}", user_id, phone), body),
        )

    def list(
        self, *, phone: str | None = None, q: str | None = None, kind: PersonKind | None = None
    ) -> Iterator[UserResource]:
        """List users by id."""
        return self._client.items("/v1/users", {"phone": phone, "q": q, "kind": kind})

    def list_direct_chats(self, user_id: str) -> Iterator[DirectChatResource]:
        """List a user's direct chats, newest first."""
        return self._client.items(path("/v1/users/{}/chats", user_id))

    def list_text_consents(self, user_id: str, phone: str) -> Sequence[TextConsentResource]:
        """List consents for a phone number."""
        found = self._client.call("GET", path("/v1/users/{}/phones/{}/consents", user_id, phone))
        return cast("Sequence[TextConsentResource]", found["items"])

    def record_text_consent(
        self, user_id: str, phone: str, channel: ReachingChannel, body: NewTextConsent
    ) -> TextConsentResource:
        """Record a person's consent to messages."""
        return cast(
            "TextConsentResource",
            self._client.call(
                "PUT", path("/v1/users/{}/phones/{}/consents/{}", user_id, phone, channel), body
            ),
        )

    def revoke_text_consent(self, user_id: str, phone: str, channel: ReachingChannel) -> None:
        """Revoke a person's consent to messages."""
        self._client.call(
            "DELETE", path("/v1/users/{}/phones/{}/consents/{}", user_id, phone, channel)
        )

    def send_code(self, user_id: str, phone: str) -> SentCode:
        """Send a code to a phone number, to link it to a user."""
        return cast(
            "SentCode",
            self._client.call("POST", path("/v1/users/{}/phones/{}/code", user_id, phone)),
        )

    def sign_out(self, user_id: str) -> None:
        """Sign a user out."""
        self._client.call("POST", path("/v1/users/{}/sign-out", user_id))

    def undo_profile_change(
        self, user_id: str, profile_change_id: str, *, reason: str | None = None
    ) -> UserDetail:
        """Undo an agent's change to a user's profile."""
        return cast(
            "UserDetail",
            self._client.call(
                "POST",
                path("/v1/users/{}/profile-changes/{}/undo", user_id, profile_change_id),
                None,
                {"reason": reason},
            ),
        )

    def unlink_number(self, user_id: str, phone: str) -> None:
        """Unlink a phone number from a user."""
        self._client.call("DELETE", path("/v1/users/{}/phones/{}", user_id, phone))
