"""Conversation with an agent through the models of datamodel-code-generator (`skein_models`)."""

import os

import httpx
from skein_models import (
    AgentDetail,
    ChatKind,
    ChatResource,
    MemberKind,
    MemberRequest,
    MessagePage,
    MessageResource,
    NewAgent,
    NewChat,
    NewChatMessage,
)

headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
http = httpx.Client(base_url=os.environ["URL"], headers=headers, timeout=30)


def post(path, body, answer):
    response = http.post(path, json=body.model_dump(mode="json", exclude_unset=True))
    return answer.model_validate(response.raise_for_status().json())


agent = post("/v1/agents", NewAgent(name="Coach", listed=True), AgentDetail)
coach = MemberRequest(kind=MemberKind.agent, id=agent.id)
chat = post("/v1/chats", NewChat(kind=ChatKind.direct, members=[coach]), ChatResource)
message = NewChatMessage(text="Should I stretch?", client_id="1")
post(f"/v1/chats/{chat.id}/messages", message, MessageResource)
http.post("/local/drain").raise_for_status()
page = MessagePage.model_validate(http.get(f"/v1/chats/{chat.id}/messages").json())
for item in page.items:
    print(f"{item.seq} {item.sender.kind.value}: {item.text}")
