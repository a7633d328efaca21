"""Documents and skills over the HTTP API for operators."""

from typing import Any

import pytest

from skein.models.visibility.audience import Audience
from skein.workspace.document_edits import Author
from skein.workspace.models.document import MAX_DOCUMENT_BYTES, Document, DocumentReach, Folder
from tests.support.api_client import WHY, Client
from tests.support.builders import TENANT, World, bot, person

OF_AGENT = "/v1/agents/agt_a/documents"
OF_CHAT = "/v1/chats/chat_1/documents"
BOTH = pytest.mark.parametrize("documents", [OF_AGENT, OF_CHAT])
HERS = Folder(tenant=TENANT, agent_id="agt_a", scope="user:usr_ann")


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(person(), bot())
    world.known(person("usr_ann", "Ann"))
    return world


# ---------------------------------------------------------------------- documents


@BOTH
def test_a_document_is_replaced_and_edited_only_in_its_version(
    admin: Client, documents: str
) -> None:
    made = admin.post(documents, {"name": " plan.md ", "text": "# Plan\n"})
    by_id, by_name = f"{documents}/{made.body['id']}", f"{documents}/plan.md"
    assert admin.get(by_id).body == admin.get(by_name).body == made.body
    replaced = admin.call("PUT", by_name, {"text": "One", "media_type": "text/plain"})
    assert (replaced.status, replaced.body["text"], replaced.body["version"]) == (200, "One", 2)
    assert replaced.body["media_type"] == "text/plain"
    change = {"find": "One", "replace": "Two", "append": " three", "global": True, "version": 2}
    changed = admin.patch(by_id, change)
    assert (changed.status, changed.body["text"], changed.body["version"]) == (200, "Two three", 3)
    assert admin.patch(by_id, change).code == "conflict"
    assert admin.call("PUT", by_id, {"text": "x", "version": 2}).status == 409
    assert admin.call("DELETE", by_name).status == 204
    assert admin.get(by_id).status == admin.call("DELETE", by_id).status == 404
    assert admin.call("PUT", by_id, {"text": "x"}).status == 404
    assert admin.patch(by_id, {"append": "x"}).status == 404


@BOTH
def test_a_name_that_is_taken_is_refused(admin: Client, documents: str) -> None:
    admin.post(documents, {"name": "plan", "text": "One"})
    assert admin.post(documents, {"name": "plan", "text": "Two"}).status == 409
    assert admin.get(f"{documents}/plan").body["text"] == "One"


def test_a_name_with_a_slash_is_found_by_its_id(admin: Client) -> None:
    made = admin.post(OF_AGENT, {"name": "src/main.rs", "media_type": "text/x-rust"})
    assert admin.get(f"{OF_AGENT}/{made.body['id']}").body["name"] == "src/main.rs"


def test_of_an_agents_documents_five_are_global_and_of_a_chat_there_are_ten(
    admin: Client,
) -> None:
    made = [admin.post(OF_AGENT, {"name": f"d{n}", "global": True}).status for n in range(6)]
    assert made == [201] * 5 + [409]
    made = [admin.post(OF_CHAT, {"name": f"d{n}"}).status for n in range(11)]
    assert made == [201] * 10 + [409]
    admin.call("DELETE", f"{OF_CHAT}/d0")
    assert admin.post(OF_CHAT, {"name": "d10"}).status == 201


def test_a_text_is_brought_in_parts_up_to_256_kib(admin: Client) -> None:
    half = "x" * (MAX_DOCUMENT_BYTES // 2)
    assert admin.post(OF_AGENT, {"name": "long", "text": half}).status == 201
    path = f"{OF_AGENT}/long"
    assert admin.patch(path, {"append": half}).body["characters"] == MAX_DOCUMENT_BYTES
    refused = admin.patch(path, {"append": "x"})
    assert (refused.status, refused.code) == (413, "too_large")
    assert "262,144" in refused.body["detail"]
    assert admin.post(OF_AGENT, {"name": "longer", "text": half * 2 + "x"}).status == 413


@pytest.mark.parametrize(
    "change",
    [
        {"find": "One"},
        {"replace": "x"},
        {"find": "", "replace": "x"},
        {"find": "absent", "replace": "x"},
        {"find": "n", "replace": "x"},
        {"media_type": "?"},
        {"text": "x"},
    ],
)
def test_invalid_document_change_is_rejected(admin: Client, change: dict[str, Any]) -> None:
    admin.post(OF_AGENT, {"name": "plan", "text": "None, not one"})
    assert admin.patch(f"{OF_AGENT}/plan", change).status == 422
    assert admin.get(f"{OF_AGENT}/plan").body["version"] == 1


def test_private_document_is_found_with_the_id_of_the_person(world: World, admin: Client) -> None:
    ann = Audience(open=False, people=("usr_ann",))
    author = Author(audience=ann, source_chat_id="chat_ann", source_run_id="run_1")
    world.app.documents.write(
        DocumentReach(folders=(HERS,)), "diary", "Dear", new_in=HERS, author=author
    )
    path = f"{OF_AGENT}/diary"
    assert admin.get(path).status == 404
    assert admin.get(OF_AGENT).body["items"] == []
    found = admin.get(path, user_id="usr_ann", reason=WHY).body
    assert (found["text"], found["source_chat_id"]) == ("Dear", "chat_ann")
    assert len(admin.get(OF_AGENT, user_id="usr_ann", reason=WHY).body["items"]) == 1
    assert admin.get(OF_AGENT, user_id="usr_ann", reason=WHY, chat_id="chat_ann").status == 422
    changed = admin.call(
        "PATCH", path, {"append": "!"}, query={"user_id": "usr_ann", "reason": WHY}
    )
    assert changed.body["text"] == "Dear!"
    kept = world.app.documents.get(DocumentReach(folders=(HERS,)), "diary")
    assert (kept.audience, kept.source_chat_id) == (ann, "chat_ann")
    assert admin.call("DELETE", path, query={"user_id": "usr_ann", "reason": WHY}).status == 204


def test_the_audit_holds_a_documents_id_and_not_its_name(admin: Client) -> None:
    admin.post(OF_AGENT, {"name": "divorce", "text": "secret"})
    admin.get(f"{OF_AGENT}/divorce")
    entries = admin.get("/v1/audit").body["items"]
    assert "divorce" not in str(entries)
    ids = {"agent_id": "agt_a", "document_id": Document.id_of("divorce")}
    assert [(e["verb"], e["kind"], e["ids"]) for e in entries] == [
        ("read", "document", ids),
        ("create", "document", ids),
    ]


@BOTH
def test_documents_with_a_query_come_best_first(admin: Client, documents: str) -> None:
    for name, text in [("cake.md", "Flour and sugar."), ("tour.md", "We drive to Rome by car.")]:
        admin.post(documents, {"name": name, "text": text})
    found = admin.get(documents, q="Rome").body
    assert [item["name"] for item in found["items"]] == ["tour.md"]
    assert found["next_cursor"] is None
    assert "text" not in found["items"][0]
    assert admin.get(documents, q="Rome", cursor="eA").status == 400
    assert admin.get(documents, q="").status == 422


# ---------------------------------------------------------------------- skills


def test_a_skill_from_its_beginning_to_its_end(admin: Client) -> None:
    new = {"name": "rust", "description": "Rust.", "tags": [" Rust ", "code"], "text": " Borrow. "}
    made = admin.post("/v1/skills", new)
    assert made.status == 201
    assert made.body == {
        "name": "rust",
        "description": "Rust.",
        "tags": ["rust", "code"],
        "modes": [],
        "shipped": False,
        "public": False,
        "text": "Borrow.",
        "version": 1,
    }
    assert admin.get("/v1/skills/rust").body == made.body
    assert admin.post("/v1/skills", new).status == 409
    line = {
        name: value
        for name, value in made.body.items()
        if name not in {"text", "public", "version"}
    }
    assert line in admin.get("/v1/skills").body["items"]
    changed = admin.call("PUT", "/v1/skills/rust", {"text": "Own.", "modes": ["review"]})
    assert (changed.body["text"], changed.body["version"]) == ("Own.", 2)
    assert (changed.body["tags"], changed.body["modes"]) == ([], ["review"])
    assert admin.call("DELETE", "/v1/skills/rust").status == 204
    assert admin.get("/v1/skills/rust").status == 404
    assert admin.call("DELETE", "/v1/skills/rust").status == 404


def test_a_skill_of_ours_can_be_replaced_but_not_removed(admin: Client) -> None:
    ours = admin.get("/v1/skills/core").body
    assert ours["shipped"]
    assert admin.call("DELETE", "/v1/skills/core").status == 404
    assert not admin.call("PUT", "/v1/skills/core", {"text": "Mine."}).body["shipped"]
    assert admin.get("/v1/skills/core").body["text"] == "Mine."
    assert admin.call("DELETE", "/v1/skills/core").status == 204
    assert admin.get("/v1/skills/core").body == ours


@pytest.mark.parametrize(
    "skill",
    [
        {"name": "Rust", "text": "x"},
        {"name": "a b", "text": "x"},
        {"name": "a", "text": " "},
        {"name": "a", "text": "x" * 20_001},
        {"name": "a", "text": "x", "tags": ["t"] * 11},
        {"name": "a", "text": "x", "modes": ["a\nb"]},
        {"name": "a", "text": "x", "description": "x" * 201},
    ],
)
def test_a_skill_that_does_not_fit_is_refused(admin: Client, skill: dict[str, Any]) -> None:
    assert admin.post("/v1/skills", skill).status == 422
