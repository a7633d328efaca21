"""An agent with a model of another provider than the deployment's default one."""

import json
from dataclasses import replace

from tests.e2e.conftest import StartStack
from tests.support.provider_stand_in import PROVIDERS, WORDS, running


def test_agent_is_answered_by_the_provider_that_its_model_names(start: StartStack) -> None:
    with running(replace(PROVIDERS[0], name="azure")) as provider:
        client = start(model_providers=json.dumps({"azure": provider.url}))
        owner = client.token("ops", "chat admin")
        agent = client.ok("GET", "/v1/agents", token=owner)["items"][0]["id"]
        change = {"model": f"azure/{provider.model}"}
        client.ok("PATCH", f"/v1/agents/{agent}", change, token=owner)
        direct = {"kind": "direct", "members": [{"kind": "agent", "id": agent}]}
        chat = client.ok("POST", "/v1/chats", direct, token=owner)["id"]
        path = f"/v1/chats/{chat}/messages"
        client.ok("POST", path, {"text": "What does she do?", "client_id": "1"}, token=owner)
        client.ok("POST", "/local/drain")
        texts = [each["text"] for each in client.ok("GET", path, token=owner)["items"]]
        assert texts[-1] == "".join(WORDS)
        assert {call["model"] for call in provider.calls} == {provider.model}
