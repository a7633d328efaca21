"""Conversation with an agent through the package of openapi-python-client (`skein_api`)."""

import os

import httpx
from skein_api import AuthenticatedClient
from skein_api.api.agents import create_agent
from skein_api.api.chats import create_chat
from skein_api.api.messages import list_messages, post_message
from skein_api.models import ChatKind, MemberKind, MemberRequest, NewAgent, NewChat, NewChatMessage

url = os.environ["URL"]
token = os.environ["TOKEN"]
client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
agent = create_agent.sync(client=client, body=NewAgent(name="Coach"))
coach = MemberRequest(kind=MemberKind.AGENT, id=agent.id)
chat = create_chat.sync(client=client, body=NewChat(kind=ChatKind.DIRECT, members=[coach]))
message = NewChatMessage(text="Should I stretch?", client_id="1")
post_message.sync(chat.id, client=client, body=message)
httpx.post(f"{url}/local/drain", timeout=30).raise_for_status()
page = list_messages.sync(chat.id, client=client)
for item in page.items:
    print(f"{item.seq} {item.sender.kind}: {item.text}")
