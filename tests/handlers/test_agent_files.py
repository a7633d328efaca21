"""An agent as a file: export, import as a new agent, and update of an agent."""

import re
from typing import Any

import pytest
import yaml

import admin_api
import mobile_api
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import Authors
from skein.workspace.document_edits import Author, Revision
from skein.workspace.models.document import DocumentReach, Folder
from tests.support.agents import settle
from tests.support.api_client import Answer, Client, tells_who_looked
from tests.support.builders import TENANT, World
from tests.support.fakes import ScriptedModel
from tests.support.own_tools import LOOK_UP

IMPORT = "/v1/agents/file"
YAML = "application/yaml"
ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:skein-tools/acme/shop-AbCdEf"
SECRET = {"secret_arn": ARN, "header": "Authorization"}
TOOLS = ["send_message", "recall", "read_skill", "create_thread", "set_goal", "order_status"]
AGENT: dict[str, Any] = {
    "name": "Mira",
    "system_prompt": "You are Mira.\n\n  - Be brief: no lists.\n",
    "model": "gpt-4.1-mini",
    "enabled_tools": TOOLS,
    "time_zone": "Asia/Tokyo",
    "description": "On: yes",
    "listed": True,
    "settings": {"message_history_limit": 20, "choice_hours": 2},
}


class Place:
    """A stack with an operator and a person."""

    def __init__(self) -> None:
        self.world = World(model=ScriptedModel.saying(default="Hello!"))
        self.admin = Client(self.world, admin_api, sub="usr_op", scope="admin")
        self.husam = Client(self.world, mobile_api, sub="usr_husam", scope="chat")

    def make(self, path: str, **body: Any) -> Any:
        answer = self.admin.post(path, body)
        assert answer.status in {200, 201}, answer.body
        return answer.body

    def agent(self) -> str:
        """Create an agent with one of everything, each with a word of its own."""
        self.make("/v1/tools", **LOOK_UP, credentials=SECRET)
        self.make("/v1/skills", name="core", text="# Core\nSay please.", tags=["Shop"])
        self.make("/v1/skills", name="refunds", text="Refund at once.")
        agent = str(self.make("/v1/agents", **AGENT)["id"])
        path = f"/v1/agents/{agent}"
        for n in range(3):
            self.make(f"{path}/memories", kind="core", text=f"Fact {n}", constitutional=n == 1)
            self.make(f"{path}/goals", text=f"Goal {n}", long_term=n == 0)
        self.make(f"{path}/plans", name="Weekly", instruction="Look.", cron="0 17 * * SUN")
        self.make(f"{path}/plans", name="Once", instruction="Ask.", run_after="3 days")
        self.make(f"{path}/documents", name="Opening hours", text="9 to 5\n", **{"global": True})
        self.make(f"{path}/documents", name="prices.csv", text="a;1", media_type="text/csv")
        changed = self.admin.patch(f"{path}/documents/Opening hours", {"append": "Not on Sundays"})
        assert changed.status == 200
        return agent

    def chat(self, agent: str, text: str) -> str:
        """Open a chat with the agent, write to it, and wait for its answer."""
        members = [{"kind": "agent", "id": agent}]
        chat = self.husam.post("/v1/chats", {"kind": "direct", "members": members}).body["id"]
        posted = self.husam.post(f"/v1/chats/{chat}/messages", {"text": text, "client_id": "1"})
        assert posted.status == 201
        settle(self.world)
        return str(chat)

    def export(self, agent: str) -> str:
        answer = self.admin.get(f"/v1/agents/{agent}/file")
        assert (answer.status, type(answer.body)) == (200, str), answer.body
        return str(answer.body)

    def send(self, text: str, method: str = "POST", path: str = IMPORT, **query: Any) -> Answer:
        return self.admin.call(method, path, raw=text, content_type=YAML, query=query)

    def prompt(self, agent: str, chat: str) -> Any:
        """What the agent would be shown in a chat: the texts, their tokens, and the tools."""
        answer = self.admin.get(
            f"/v1/agents/{agent}/context", chat_id=chat, reason="Compare the prompts"
        )
        assert answer.status == 200, answer.body
        sections = [[each["name"], each["text"]] for each in answer.body["sections"]]
        return sections, answer.body["total_tokens"], answer.body["tools"], answer.body["marks"]


def without_ids(shown: Any) -> str:
    return re.sub(r"0{10,}\d+", "<id>", repr(shown))


# ---------------------------------------------------------------------- both ways


def test_imported_agent_has_the_same_prompt_for_the_same_chat() -> None:
    here, there = Place(), Place()
    exported = here.agent()
    file = here.export(exported)
    for place in (here, there):
        place.world.clock.advance(86_400)
    imported = there.send(file)
    assert imported.status == 201, imported.body
    agent = imported.body["id"]
    prompts = [
        place.prompt(each, place.chat(each, "What are your hours?"))
        for place, each in ((here, exported), (there, agent))
    ]
    for word in ("Fact 1", "Goal 2", "Weekly", "Once", "9 to 5", "Say please.", "order_status"):
        assert word in repr(prompts[0]), word
    assert without_ids(prompts[0]) == without_ids(prompts[1])
    assert there.export(agent) == file
    assert exported not in file
    shown = [
        place.admin.get(f"/v1/agents/{each}").body | {"id": None, "created_at": None}
        for place, each in ((here, exported), (there, agent))
    ]
    assert shown[0] == shown[1]


def test_import_names_the_secrets_of_tools() -> None:
    here, there = Place(), Place()
    file = here.export(here.agent())
    assert ARN not in file
    assert "secret_arn: shop\n" in file
    secret = {"tool": "order_status", "header": "Authorization", "secret": "skein-tools/acme/shop"}
    assert there.send(file).body["secrets"] == [secret]
    kept = there.admin.get("/v1/tools/order_status").body["credentials"]["secret_arn"]
    assert kept == "skein-tools/acme/shop"


# ---------------------------------------------------------------------- what stays out


def test_file_has_nothing_of_people_chats_or_runs() -> None:
    place = Place()
    agent = place.agent()
    chat = place.chat(agent, "My secret is Rosebud")
    words = Authors.of(["usr_husam"])
    overheard = Owner(tenant=TENANT, agent_id=agent, authors=words, source_run_id="run_1")
    private = overheard.model_copy(
        update={
            "scope": "user:usr_husam",
            "audience": Audience(open=False, people=("usr_husam",)),
            "source_chat_id": chat,
        }
    )
    services = place.world.app
    for owner in (private, overheard):
        services.memories.add(owner, "Rosebud is a sled", "core", made_by="tool")
        services.goals.set(owner, "Find Rosebud")
        services.plans.set(owner, "Rosebud", "Ask for Rosebud.", run_after="2 days")
    for text in ("Rosebud burns", "Rosebud was lost"):
        learned = services.memories.add(overheard, text, "core", made_by="tool").memory
        confirmed = f"/v1/agents/{agent}/memories/{learned.id}"
        assert place.admin.patch(confirmed, {"confirmed": True}).status == 200
    place.make(f"{confirmed}/supersede", text="Rosebud was found")
    folder, of_chat = Folder(tenant=TENANT, agent_id=agent), Folder(tenant=TENANT, chat_id=chat)
    author = Author(authors=words, source_run_id="run_1")
    reach = DocumentReach(folders=(folder,))
    in_chat = DocumentReach(folders=(of_chat,))
    services.documents.revise(reach, "prices.csv", Revision(append="Rosebud"), author=author)
    services.documents.write(reach, "Rosebud.md", "Rosebud", new_in=folder, author=author)
    services.documents.write(in_chat, "board", "Rosebud", new_in=of_chat)
    file = place.export(agent)
    assert "Rosebud" not in file
    assert "husam" not in file.casefold()
    assert chat not in file
    assert "#   prices.csv\n" in file
    assert [each["name"] for each in yaml.safe_load(file)["documents"]] == ["Opening hours"]


# ---------------------------------------------------------------------- into an agent that exists


def test_agent_gets_the_fields_and_items_of_a_file_and_keeps_others() -> None:
    place = Place()
    agent = place.agent()
    path = f"/v1/agents/{agent}"
    file = yaml.safe_load(place.export(agent))
    file["agent"] = {"name": "Mira", "system_prompt": "You are new.", "time_zone": "Asia/Tokyo"}
    file["documents"] = [{"name": "prices.csv", "text": "a;2", "media_type": "text/csv"}]
    file["plans"] = [{"name": "Weekly", "instruction": "Look twice.", "cron": "0 18 * * SUN"}]
    file["goals"][0]["priority"] = 1
    file["memories"].append({"text": "Fact 3"})
    changed = place.send(yaml.safe_dump(file), "PUT", f"{path}/file")
    assert changed.status == 200, changed.body
    assert (changed.body["id"], changed.body["system_prompt"]) == (agent, "You are new.")
    assert (changed.body["settings"], changed.body["listed"]) == ({}, False)
    after = yaml.safe_load(place.export(agent))
    assert {each["name"]: each["text"] for each in after["documents"]} == {
        "Opening hours": "9 to 5\nNot on Sundays",
        "prices.csv": "a;2",
    }
    assert [each["instruction"] for each in after["plans"]] == ["Ask.", "Look twice."]
    assert [each.get("priority", 2) for each in after["goals"]] == [1, 2, 2]
    assert [each["text"] for each in after["memories"]] == [f"Fact {n}" for n in range(4)]
    before = place.world.table.all_stored()
    again = place.send(yaml.safe_dump(file), "PUT", f"{path}/file")
    assert again.body == changed.body
    stored = place.world.table.all_stored()
    changed_keys = {key for key in stored if stored[key] != before.get(key)}
    assert all(tells_who_looked(key) or "#LIMIT#" in key.pk for key in changed_keys)
    assert place.admin.get(f"{path}/versions").body["items"][0]["changed_by"] == "usr_op"
    assert place.send("agent: {name: Mira}", "PUT", "/v1/agents/agt_none/file").status == 404


def test_tool_or_skill_of_the_tenant_is_changed_only_if_the_caller_wants_it() -> None:
    place = Place()
    file = yaml.safe_load(place.export(place.agent()))
    assert place.send(yaml.safe_dump(file)).status == 201  # the tenant has the same ones
    file["tools"][0]["description"] = "Look an order up."
    refused = place.send(yaml.safe_dump(file))
    assert (refused.status, refused.body["detail"].split(":")[0]) == (409, "tools.order_status")
    file["skills"][1]["text"] = "Never refund."
    agents = len(place.admin.get("/v1/agents").body["items"])
    assert place.send(yaml.safe_dump(file), overwrite="true").status == 201
    assert len(place.admin.get("/v1/agents").body["items"]) == agents + 1
    tool = place.admin.get("/v1/tools/order_status").body
    assert (tool["description"], tool["version"]) == ("Look an order up.", 2)
    assert place.admin.get("/v1/skills/refunds").body["text"] == "Never refund."


def test_repeated_import_with_a_key_creates_one_agent() -> None:
    place = Place()
    text, key = "agent: {name: Mira}\ngoals: [{text: Sell}]", {"Idempotency-Key": "5f0c"}
    made = [
        place.admin.call("POST", IMPORT, raw=text, content_type=YAML, headers=key).body["id"]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert len(place.admin.get("/v1/agents").body["items"]) == 1
    assert len(place.admin.get(f"/v1/agents/{made[0]}/goals").body["items"]) == 1


# ---------------------------------------------------------------------- files that are refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agent: {name: Mira, colour: red}", "agent.colour: Extra inputs are not permitted"),
        ("agent: {name: 7}", "agent.name: Input should be a valid string"),
        ("agent: {name: Mira, template: coach}", "agent.template: Extra inputs"),
        ("about: Mira", "agent: Field required"),
        ("agent: {name: Mira}\nplans: [{name: A, instruction: B}]", "plans.0: give exactly one"),
        ("agent: {name: Mira}\nids: [1]", "ids: Extra inputs"),
        (
            "agent: {name: Mira}\ndocuments: [{name: A, text: a}, {name: A, text: b}]",
            "documents: two of them have the name 'A'",
        ),
    ],
)
def test_file_with_an_invalid_value_is_refused_by_the_name_of_the_field(
    text: str, said: str
) -> None:
    answer = Place().send(text)
    assert answer.status == 422
    reasons = answer.body["details"]["reasons"]
    told = [f"{'.'.join(each['where'][1:])}: {each['why']}".removeprefix(": ") for each in reasons]
    assert any(each.startswith(said) for each in told), told


@pytest.mark.parametrize(
    ("more", "detail"),
    [
        ("plans: [{name: A, instruction: B, cron: '* * * * *'}]", "plans.A: cron may fire at most"),
        ("plans: [{name: A, instruction: B, scheduled_at: 2020-01-01T00:00:00Z}]", "plans.A: "),
        ("tools: [{name: look, python: {function: gone}}]", "tools.look: python.function: "),
    ],
)
def test_value_that_cannot_work_is_refused_before_anything_is_stored(
    more: str, detail: str
) -> None:
    place = Place()
    text = f"agent: {{name: Mira}}\nskills: [{{name: refunds, text: Refund.}}]\n{more}"
    answer = place.send(text)
    assert (answer.status, answer.body["detail"][: len(detail)]) == (422, detail), answer.body
    assert place.admin.get("/v1/skills/refunds").status == 404


@pytest.mark.parametrize(
    ("text", "status", "detail"),
    [
        ("agent: [", 400, "the body is not valid YAML: line 2: "),
        ("agent: &a {name: Mira}\nplans: *a", 400, "the body: line 2: aliases aren't allowed"),
        ("agent: !!python/name:os.system", 400, "the body: line 1: tags aren't allowed"),
        ("agent: {name: Mira, name: Tom}", 400, "the body is not valid YAML: line 1: the name"),
        ("[" * 60, 400, "the body: line 1: more than 50 levels"),
        ("a: 1\n---\na: 2", 400, "the body is not valid YAML: line 2: "),
        ("- a", 400, "the body must be a JSON object"),
        (f"a: {'9' * 5_000}", 400, "the body is not valid YAML: "),
        ("a: 1.0e999", 400, "the body is not valid YAML: "),
        ("a: \u0007", 400, "the body is not valid YAML: "),
        (f"about: {'a' * 1_048_576}", 413, "the body is larger than 1,048,576 bytes"),
    ],
)
def test_yaml_that_is_no_file_is_refused(text: str, status: int, detail: str) -> None:
    answer = Place().send(text)
    assert (answer.status, answer.body["detail"][: len(detail)]) == (status, detail), answer.body


def test_yaml_is_refused_elsewhere() -> None:
    assert Place().send("name: Mira", path="/v1/agents").status == 415


def test_only_owners_import_and_support_exports() -> None:
    place = Place()
    agent = place.agent()
    support = Client(place.world, admin_api, sub="usr_op", scope="support")
    assert support.get(f"/v1/agents/{agent}/file").status == 200
    assert support.post(IMPORT, {"agent": {"name": "Mira"}}).status == 403
