"""Agents that work on documents: what they are shown, and what they may change from where."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.interface.section import LIST_SHARE
from skein.models.common.base import NamedMember, rfc3339
from skein.models.common.storage import Put
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.provenance import Authors
from skein.settings import Settings
from skein.workspace.document_edits import Author
from skein.workspace.models.document import Document, DocumentReach, Folder
from skein.workspace.models.skill import Skill, SkillHead
from skein.workspace.sections.document_text import SHOWN_CHARACTERS
from skein.workspace.sections.skills import Skills, skills
from skein.workspace.skill_selection import Selection
from tests.support.agents import (
    AHMAD,
    ASKED_AGAIN,
    COACH,
    HUSAM,
    results_of,
    settle,
    stage,
    the_run,
)
from tests.support.builders import NOON, TENANT, World
from tests.support.examples import examples
from tests.support.fakes import Calls, Script, calls
from tests.support.goldens import agrees
from tests.support.sections import section_input

BOTH = Author(authors=Authors.in_digests([HUSAM.id, AHMAD.id]))
OWN = Folder(tenant=TENANT, agent_id=COACH.id)
HIS = Folder(tenant=TENANT, agent_id=COACH.id, scope="user:usr_husam")
OF_CHAT = Folder(tenant=TENANT, chat_id="chat_1")
HUSAM_ALONE = Audience(open=False, people=("usr_husam",))
PRIVATE = {"kind": "direct", "visibility": "private"}


def does(tool: str, **arguments: Any) -> Calls:
    return calls((tool, arguments))


def given_document(world: World, folder: Folder, name: str, text: str, **fields: Any) -> None:
    fields.setdefault("author", BOTH)
    reach = DocumentReach(folders=(folder,))
    world.app.documents.write(reach, name, text, new_in=folder, **fields)


def talking(*script: Script, private: bool = False, others: tuple[NamedMember, ...] = ()) -> World:
    world = stage(*script)
    if private:
        world.chat(HUSAM, COACH, *others, **(PRIVATE if not others else {"visibility": "private"}))
    else:
        world.chat(HUSAM, AHMAD, COACH)
    return world


def told(world: World) -> list[tuple[str, str]]:
    world.post("Go on", HUSAM)
    settle(world)
    results = results_of(world, the_run(world))
    return [(one.status, one.content) for one in results if one.name != "end_run"]


def read(world: World, folder: Folder, name: str) -> Document:
    return world.app.documents.get(DocumentReach(folders=(folder,)), name)


def prompt(world: World, chat_id: str = "chat_1", agent_id: str = COACH.id) -> str:
    """All that the agent would be shown now."""
    shown = world.app.preview.show(TENANT, agent_id, chat_id)
    turns = [turn.text for turn in shown.turns or ()]
    return "\n\n".join([*(section.text for section in shown.sections), *turns])


# ---------------------------------------------------------------------- working on them


def test_an_agent_writes_reads_appends_edits_and_deletes() -> None:
    world = talking(
        does("write_document", name="plan", text="One", **ASKED_AGAIN),
        does("append_document", name="plan", text="\nTwo", **ASKED_AGAIN),
        does("edit_document", name="plan", find="One", replace="1", **ASKED_AGAIN),
        does("read_document", name="plan"),
        calls(
            ("write_document", {"name": "plan", "text": "All new", "version": 3}),
            ("delete_document", {"name": "plan"}),
        ),
    )
    assert told(world) == [
        ("done", "document plan created, v1, 3 characters"),
        ("done", "document plan changed, v2, 7 characters"),
        ("done", "document plan changed, v3, 5 characters"),
        ("done", "=== plan (v3) ===\n| 1\n| Two"),
        ("done", "document plan changed, v4, 7 characters"),
        ("done", "document plan deleted"),
    ]
    assert world.app.documents.list(OWN).items == ()


def test_documents_are_listed_by_where_they_are_kept_without_their_texts() -> None:
    world = talking(does("list_documents"), private=True)
    given_document(world, OWN, "open.md", "secret", pinned=True)
    his = Author(audience=HUSAM_ALONE)
    given_document(world, HIS, "his\n", "x" * 2_000, media_type="text/csv", author=his)
    given_document(world, OF_CHAT, "open.md", "", author=his)
    theirs = Author(audience=Audience(open=False, people=("usr_ahmad",)))
    given_document(world, HIS, "theirs", "x", author=theirs)
    at, marked = rfc3339(NOON), "always on show, only to be read here"
    [(status, listed)] = told(world)
    assert (status, listed.splitlines()) == (
        "done",
        [
            "of the active chat:",
            f"- open.md (text/markdown, v1, 0 characters, changed {at})",
            "yours, for the people here:",
            f"- his (text/csv, v1, 2,000 characters, changed {at})",
            "yours, open:",
            f"- open.md (text/markdown, v1, 6 characters, changed {at}, {marked})",
        ],
    )


def test_document_list_continues_after_the_cursor() -> None:
    def on(request: ModelRequest) -> Calls:
        ends = [m.content for m in request.messages if m.role == "tool"][-1]
        found = re.search(r"after (\d:doc_\w+)\]", ends)
        after = {"after": found[1]} if found else {"after": "3:doc_"}
        return calls(("list_documents", {"limit": 3, **after}))

    world = talking(does("list_documents", limit=3), *[on] * 4)
    for n in range(8):
        given_document(world, OWN if n % 2 else OF_CHAT, f"doc-{n}", "x")
    results = told(world)
    assert [status for status, _ in results] == ["done"] * 3 + ["correctable"] * 2
    names = [re.findall(r"- (doc-\d) ", content) for _, content in results[:3]]
    assert [len(page) for page in names] == [3, 3, 2]
    assert sorted(name for page in names for name in page) == [f"doc-{n}" for n in range(8)]


def test_document_search_returns_exact_words_first_then_meaning() -> None:
    world = talking(does("list_documents", query="vehicle"))
    given_document(world, OWN, "garage.md", "We bought a used car and a truck.")
    given_document(world, OWN, "rules.md", "Each vehicle needs a permit.")
    given_document(world, OWN, "cake.md", "Mix flour with sugar and butter.")
    [(status, found)] = told(world)
    assert status == "done"
    assert re.findall(r"^- (\S+) ", found, re.MULTILINE) == ["rules.md", "garage.md"]


def test_document_search_finds_a_passage_with_its_offset() -> None:
    text = "\n".join(["The weather was fine today."] * 100 + ["The code of the safe is 4711."])
    world = talking(does("list_documents", query="4711"), does("list_documents", query="zebra 9"))
    given_document(world, OF_CHAT, "log", text)
    (_, found), nothing = told(world)
    [line] = found.splitlines()
    place = re.search(r"of the active chat; from character ([\d,]+) on$", line)
    assert place is not None
    start = int(place[1].replace(",", ""))
    assert text.index("4711") - 1_000 < start < text.index("4711")
    assert nothing == ("done", "no documents found")


def test_document_search_finds_names_and_only_what_the_readers_may_see() -> None:
    world = talking(does("list_documents", query="budget figures"))
    given_document(world, HIS, "budget of Husam", "figures")
    given_document(world, OWN, "budget.csv", "")
    theirs = Author(audience=HUSAM_ALONE)
    given_document(world, OWN, "budget of theirs", "budget figures", author=theirs)
    [(_, found)] = told(world)
    assert re.findall(r"^- (\S+) ", found, re.MULTILINE) == ["budget.csv"]


def test_document_search_has_no_second_page() -> None:
    world = talking(does("list_documents", query="x", after="0:doc_"))
    assert told(world) == [("correctable", "error: after: a search has only one page")]


def test_a_part_of_a_document_ends_after_a_line_and_the_next_one_begins_outside_of_it() -> None:
    line = "x" * 99 + "\n"
    head = "y" * 50 + "\n"
    world = talking(
        does("read_document", name="long"),
        does("read_document", name="long", offset=len(head) + 99 * len(line)),
    )
    given_document(world, OWN, "long", head + line * 101)
    first, second = told(world)
    assert first[1].endswith("read on with read_document, offset 9951]")
    assert second[1].split("\n")[1:] == ["[from character 9,951 on]", *[f"| {'x' * 99}"] * 2]


def test_a_long_document_is_read_on_from_where_it_was_cut() -> None:
    world = talking(
        does("read_document", name="long"),
        does("read_document", name="long", offset=SHOWN_CHARACTERS),
        does("read_document", name="long", offset=SHOWN_CHARACTERS + 6),
    )
    given_document(world, OWN, "long", "x" * SHOWN_CHARACTERS + "the end"[:5])
    first, second, third = told(world)
    assert first[1].endswith(
        "[cut: 5 of 10,005 characters are missing; read on with read_document, offset 10000]"
    )
    assert second == (
        "done",
        "=== long (v1) ===\n[from character 10,000 on, within a line]\n| the e",
    )
    assert third == ("correctable", "error: it has 10,005 characters")


def test_failed_document_call_tells_the_reason() -> None:
    world = talking(
        does("read_document", name="none"),
        does("append_document", name="none", text="x"),
        does("edit_document", name="plan", find="o", replace="0"),
        does("write_document", name="plan", text="x", version=7),
        does("write_document", name="a\nb", text="x"),
        does("write_document", name="big", text="x" * 262_145),
    )
    given_document(world, OWN, "plan", "foo")
    statuses = told(world)
    assert [status for status, _ in statuses] == [
        "failed",
        "failed",
        "correctable",
        "failed",
        "correctable",
        "correctable",
    ]
    assert "2 times" in statuses[2][1]
    assert "version 1" in statuses[3][1]
    assert "262,144" in statuses[5][1]


def test_a_document_of_the_chat_is_every_agents_there() -> None:
    world = talking(does("write_document", name="agenda", text="1. Hi", in_chat=True))
    assert told(world) == [("done", "document agenda created, v1, 5 characters")]
    agenda = read(world, OF_CHAT, "agenda")
    assert (agenda.source_chat_id, agenda.audience) == ("chat_1", OPEN)
    other = world.agent("agt_b", "Designer")
    world.chat(HUSAM, other.as_member, chat_id="chat_2")
    assert "agenda" not in prompt(world, "chat_2", "agt_b")
    assert "=== agenda (v1) ===\n| 1. Hi" in prompt(world)


def test_the_chats_document_counts_before_the_agents_own() -> None:
    world = talking(does("append_document", name="plan", text="!"))
    given_document(world, OWN, "plan", "own")
    given_document(world, OF_CHAT, "plan", "chat's")
    told(world)
    assert read(world, OF_CHAT, "plan").text == "chat's!"
    assert read(world, OWN, "plan").text == "own"


# ---------------------------------------------------------------------- for whom


def test_document_written_in_private_is_limited_to_its_audience() -> None:
    world = talking(does("write_document", name="diary", text="secret", pinned=True), private=True)
    told(world)
    assert read(world, HIS, "diary").audience == HUSAM_ALONE
    assert "| secret" in prompt(world)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2")
    open_chat = prompt(world, "chat_2")
    assert "secret" not in open_chat
    assert "diary" not in open_chat


def test_an_open_document_is_read_but_not_changed_in_private() -> None:
    world = talking(
        does("read_document", name="plan"),
        does("append_document", name="plan", text="secret"),
        does("write_document", name="plan", text="secret"),
        does("delete_document", name="plan"),
        private=True,
    )
    given_document(world, OWN, "plan", "open")
    statuses = told(world)
    assert [status for status, _ in statuses] == ["done", "failed", "failed", "failed"]
    assert all("not changed" in content for _, content in statuses[1:])
    assert read(world, OWN, "plan").text == "open"


def test_new_member_is_not_shown_documents_written_before_join() -> None:
    world = talking(
        does("write_document", name="log", text="secret", in_chat=True),
        private=True,
        others=(AHMAD,),
    )
    told(world)
    assert "| secret" in prompt(world)
    chat = world.stored_chat()
    new = NamedMember(kind="user", id="usr_new", name="New")
    change = {"roster": (*chat.roster, new), "joined_late": {"user#usr_new": chat.last_seq}}
    item = chat.model_copy(update=change)
    world.table.write(Put(item.key, item.to_item()))
    assert "secret" not in prompt(world)
    assert "log" not in prompt(world)


def test_run_with_private_content_gives_no_document_to_another_chat() -> None:
    world = talking(
        does("enter_chat", chat_id="chat_2"),
        does("write_document", name="leak", text="secret", in_chat=True),
        private=True,
    )
    world.chat(AHMAD, COACH, chat_id="chat_2")
    assert [status for status, _ in told(world)] == ["done", "failed"]
    assert world.stored_chat("chat_2").documents == ()


# ---------------------------------------------------------------------- in the prompt


def test_a_prompt_with_documents_and_skills_reads_as_it_should() -> None:
    world = talking()
    world.app.skills.put(TENANT, SkillHead(name="core"), "Work with care.\n\nAlways.")
    given_document(world, OWN, "rules", "# Rules\n\nBe kind.\n", pinned=True)
    given_document(
        world,
        OWN,
        "numbers.csv",
        ("0123456789," * 90 + "\n") * 12,
        pinned=True,
        media_type="text/csv",
    )
    given_document(world, OF_CHAT, "agenda \u2014 today", "1. Hi\n\nTRIGGER:\n  type: manual")
    world.post("Hello", HUSAM)
    shown = world.app.preview.show(TENANT, COACH.id, "chat_1")
    sections = {one.name: one.text for one in shown.sections}
    assert agrees("sections/skills", sections["SKILLS"])
    assert agrees("sections/global_documents", sections["GLOBAL DOCUMENTS"])
    names = list(sections)
    assert names.index("SKILLS") == names.index("INSTRUCTIONS") + 1
    assert names.index("GLOBAL DOCUMENTS") == names.index("SKILLS") + 1


def test_skills_that_do_not_fit_are_named_and_never_cut() -> None:
    chosen = Selection(
        (
            Skill(name="core", text="Care. " * 50),
            Skill(name="long", text="Word. " * 500),
            Skill(name="short", text="Brief."),
        ),
        ("lost",),
    )
    reader = {"enabled_tools": ("read_skill",)}
    section = skills(section_input(Skills(chosen), tokens_left=200 * LIST_SHARE, agent=reader))
    assert section is not None
    assert section.text == (
        f"SKILLS:\n  [core]\n    {('Care. ' * 50).strip()}\n  [short]\n    Brief.\n"
        "  no room for: long (read_skill reads them)\n  gone: lost"
    )
    least = section.within(1).text
    assert "[core]" in least
    assert "no room for: long, short" in least
    whole = skills(section_input(Skills(chosen)))
    assert whole is not None
    assert "no room" not in whole.text


def test_a_skill_that_is_not_shown_is_read_by_its_name() -> None:
    world = talking(does("read_skill", name="planning"), does("read_skill", name="none"))
    (one, text), (other, why) = told(world)
    assert (one, other) == ("done", "failed")
    assert text.startswith("  [planning]\n    State the goal")
    assert why.startswith("error: skill not found; there are: core, ")


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["\n", "\r", "\u2028", "\x85", "INSTRUCTIONS:", "=== a (b/c, v1) ===", "x", "| "]
        ),
        max_size=20,
    ).map("".join)
)
def test_hostile_document_text_cannot_forge_prompt_lines(text: str) -> None:
    world = talking()
    plain = prompt(world).splitlines()
    given_document(world, OWN, "notes", text, pinned=True)
    added = list(prompt(world).splitlines())
    for line in plain:
        added.remove(line)
    head, *lines = [line for line in added if line]
    assert head == "GLOBAL DOCUMENTS:"
    assert lines.pop(0) == "=== notes (v1) ==="
    assert all(line.startswith("|") or line == "[empty]" for line in lines)


def test_where_room_is_short_documents_are_cut_further_and_the_newest_messages_stay() -> None:
    world = World(Settings(max_prompt_tokens=3_000))
    world.agent(COACH.id, COACH.name)
    world.chat(HUSAM, COACH)
    for n in range(4):
        given_document(world, OWN, f"doc {n}", "word " * 2_000, pinned=True)
    for n in range(5):
        world.post(f"Message {n} " + "word " * 60, HUSAM)
    shown = world.app.preview.show(TENANT, COACH.id, "chat_1")
    assert shown.total_tokens <= 3_000
    text = prompt(world)
    assert all(f"Message {n} " in text for n in (3, 4))
    assert text.count("=== doc ") == text.count("[cut: ") == 4


@pytest.mark.parametrize("author", [Author(), Author(audience=HUSAM_ALONE)])
def test_pinned_documents_in_private_chat_are_open_ones_and_the_persons_own(author: Author) -> None:
    world = talking(private=True)
    given_document(world, HIS, "his", "for him", pinned=True, author=author)
    given_document(world, OWN, "rules", "for all", pinned=True)
    text = prompt(world)
    assert text.index("| for all") < text.index("| for him")
