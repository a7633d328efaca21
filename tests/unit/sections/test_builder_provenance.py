"""Where the entries of a prompt come from, as the step stores it and operators read it."""

from typing import Any

import pytest

from skein.memory import sections as memories
from skein.models.runs.step import PromptRecord, Step
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import MadeFrom
from skein.settings import Settings
from skein.workspace.document_edits import Author
from skein.workspace.models.document import DocumentReach, Folder
from tests.support.api_client import WHY, everything, operator
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import ScriptedModel
from tests.support.recalling import DEPOSIT, indexed

HUSAM, LENA, COACH = person(), person("usr_lena", "Lena"), bot()


def answered(settings: Settings | None = None, memories: int = 1) -> World:
    """An answer in Lena's own chat, to whose prompt an open group has added."""
    world = World(settings or Settings(), model=ScriptedModel.saying(default="Fine"))
    world.agent()
    world.known(HUSAM, LENA)
    world.chat(HUSAM, LENA, COACH, chat_id="chat_open", title="Flat", respond="manual")
    world.chat(LENA, COACH, chat_id="chat_own", title="Notes", visibility="private")
    world.post(DEPOSIT, HUSAM, chat_id="chat_open")
    indexed(world, "chat_open")
    everyone = Owner(tenant=TENANT, agent_id=COACH.id)
    for number in range(memories):
        world.app.memories.add(everyone, f"Flat {number} is in Hafen", "core", made_by="tool")
    own = everyone.model_copy(
        update={
            "scope": "chat:chat_own",
            "audience": Audience(open=False, people=(LENA.id,)),
            "source_chat_id": "chat_own",
            "made_from": MadeFrom.messages("chat_own", 1, 3, [LENA.id]),
        }
    )
    world.app.memories.add(own, "Lena likes lakes", "journal", made_by="tool")
    folder = Folder(tenant=TENANT, agent_id=COACH.id)
    reach, made_from = DocumentReach(folders=(folder,)), MadeFrom.messages("chat_open", 1, 1, ())
    author = Author(made_from=made_from, source_chat_id="chat_open")
    world.app.documents.write(
        reach, "plan.md", "Ask for the keys", new_in=folder, pinned=True, author=author
    )
    world.post("How high was the deposit for the flat?", LENA, chat_id="chat_own")
    world.drain()
    return world


def entries_of(world: World) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of the run's sections that have any."""
    [run] = world.runs("chat_own")
    sections = operator(world).get(f"/v1/runs/{run.id}", reason=WHY).body["prompt"]["sections"]
    return {each["name"]: each["entries"] for each in sections if each["entries"]}


def steps_of(world: World) -> list[Step]:
    return [Step.from_item(item) for key, item in everything(world).items() if "#STEP#" in key.sk]


def test_recalled_message_shows_its_chat_and_that_it_is_open() -> None:
    [entry] = entries_of(answered())["RECALLED"]
    assert (entry["kind"], entry["chat_id"]) == ("message", "chat_open")
    assert (entry["from_seq"], entry["to_seq"]) == (1, 1)
    assert entry["at"].startswith("2026-02-18T12:00")
    assert "open" in entry["may_be_shown"]


def test_memories_and_documents_show_their_ids_and_sources() -> None:
    found = entries_of(answered())
    [core] = found["CORE MEMORIES"]
    assert (core["kind"], core["chat_id"], core["from_seq"]) == ("memory", None, None)
    [private] = found["JOURNAL"]
    assert private["id"].startswith("mem_")
    assert (private["chat_id"], private["from_seq"], private["to_seq"]) == ("chat_own", 1, 3)
    assert "was present" in private["may_be_shown"]
    [document] = found["GLOBAL DOCUMENTS"]
    assert (document["kind"], document["id"][:4]) == ("document", "doc_")
    assert (document["chat_id"], document["from_seq"], document["to_seq"]) == ("chat_open", 1, 1)


def test_memories_that_were_left_out_of_the_section_are_no_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memories, "CORE_MEMORY_TOKENS", 100)
    world = answered(memories=30)
    [run] = world.runs("chat_own")
    sections = operator(world).get(f"/v1/runs/{run.id}", reason=WHY).body["prompt"]["sections"]
    [core] = [section for section in sections if section["name"] == "CORE MEMORIES"]
    shown = [line for line in core["text"].splitlines() if "is in Hafen" in line]
    assert 0 < len(shown) == len(core["entries"]) < 30


def test_preview_shows_the_entries_of_its_sections() -> None:
    world = answered()
    body = operator(world).get("/v1/agents/agt_a/context", chat_id="chat_own", reason=WHY).body
    [core] = [section for section in body["sections"] if section["name"] == "CORE MEMORIES"]
    assert len(core["entries"]) == 1


def test_replay_shows_the_entries_of_the_prompt() -> None:
    world = answered()
    [run] = world.runs("chat_own")
    body = operator(world).call("POST", f"/v1/runs/{run.id}/replay", {}, query={"reason": WHY}).body
    [core] = [each for each in body["prompt"]["sections"] if each["name"] == "CORE MEMORIES"]
    assert len(core["entries"]) == 1


def test_entries_name_no_people() -> None:
    for step in steps_of(answered()):
        entries = PromptRecord.unpacked(step.prompt).entries if step.prompt else ()
        told = str([entry.model_dump(mode="json") for entry in entries])
        assert LENA.id not in told
        assert HUSAM.id not in told


def test_number_of_stored_entries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skein.agent.sections.builder.MAX_ENTRIES", 3)
    shown = entries_of(answered(memories=9))
    assert sum(map(len, shown.values())) == 3
