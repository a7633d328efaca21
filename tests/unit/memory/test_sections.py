"""A prompt shows memories, newest first with dates, one line each, as far as there is room."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.interface.section import LIST_SHARE, Section, SectionInput
from skein.memory import sections
from skein.memory.models.memory import JOURNAL_DAYS, Memory, MemoryKind
from skein.memory.sections import Memories
from skein.memory.shown import line_of
from skein.models.common.base import NamedMember
from skein.models.common.characters import on_one_line
from skein.models.common.storage import Put
from skein.models.runs.step import PromptRecord
from skein.models.visibility.audience import OPEN
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import MANY, Authors, MadeFrom, SourceLabel
from skein.settings import Settings
from tests.support import timeline_parser as grammar
from tests.support.api_client import operator
from tests.support.builders import NOON, TENANT, World, bot, person, tokens
from tests.support.examples import examples
from tests.support.hostile import hostile
from tests.support.sections import read, section_input

COACH, ANN = bot(), person("usr_ann", "Ann")
OWNER = Owner(tenant=TENANT, agent_id=COACH.id)
OVER = "core_memories_over_budget"


def memory(text: str, age: int = 0, **fields: Any) -> Memory:
    values: dict[str, Any] = {
        "kind": "core",
        "made_by": "api",
        "id": f"mem_{99 - age}",
        "by_operator": True,
    } | fields
    return Memory(
        tenant=TENANT,
        agent_id="agt_a",
        audience=OPEN,
        text=text,
        created_at=NOON - timedelta(days=age),
        **values,
    )


def said(
    text: str,
    *people: NamedMember,
    title: str | None = "Project",
    age: int = 0,
    chat_id: str = "chat_1",
) -> Memory:
    """A memory made from what these people wrote in a chat."""
    label = SourceLabel.of(people, title=title) if people else None
    made = MadeFrom.messages(chat_id, 1, 1, [each.id for each in people], label)
    return memory(text.strip(), age, made_from=made, by_operator=False)


def core_memories(memories: Sequence[Memory], limit: int) -> Section | None:
    """CORE MEMORIES of a prompt that has room for `limit` tokens of them."""
    return sections.core_memories(_input(memories, limit * sections.CORE_SHARE))


def journal(memories: Sequence[Memory], limit: int) -> Section | None:
    """JOURNAL of a prompt that has room for `limit` tokens of it."""
    return sections.journal(_input(memories, limit * LIST_SHARE))


def _input(memories: Sequence[Memory], tokens_left: int) -> SectionInput:
    return section_input(Memories.found(read(*memories)), tokens_left=tokens_left)


def shown(section: Section | None) -> list[str]:
    assert section is not None
    assert section.tokens == tokens().count(f"{section.text}\n\n")
    return section.text.split("\n")


# ---------------------------------------------------------------------- words


def test_core_memories_have_dates_and_the_newest_comes_first() -> None:
    memories = [memory("New"), memory("Law", 1, constitutional=True), memory("Old", 2)]
    section = core_memories([*memories, memory("Note", kind="journal")], 1_000)
    assert shown(section) == [
        "CORE MEMORIES:",
        "  - [2026-02-18] (operator) New",
        "  - [2026-02-17] (operator) Law",
        "  - [2026-02-16] (operator) Old",
    ]
    assert section is not None
    assert section.marks == ()


def test_journal_entries_say_of_which_day_they_are() -> None:
    notes = [memory("New", kind="journal"), memory("Old", 6, kind="journal"), memory("Core")]
    assert shown(journal(notes, 1_000)) == [
        "JOURNAL:",
        "  - [2026-02-18] (operator) New",
        "  - [2026-02-12] (operator) Old",
    ]


def test_changed_fact_comes_before_the_outdated_one() -> None:
    old, new = memory("Dana lives in Lyon", 40), memory("Dana lives in Porto", 2)
    assert shown(core_memories([old, new], 1_000))[1:] == [
        "  - [2026-02-16] (operator) Dana lives in Porto",
        "  - [2026-01-09] (operator) Dana lives in Lyon",
    ]


def test_where_nothing_is_remembered_there_is_no_section() -> None:
    assert core_memories([memory("Note", kind="journal")], 1_000) is None
    assert journal([memory("Core")], 1_000) is None


@given(st.lists(hostile().filter(on_one_line), min_size=1, max_size=6))
def test_whatever_an_operators_memory_holds_it_is_one_line(texts: list[str]) -> None:
    core = [memory(text, len(texts) - n) for n, text in enumerate(texts)]
    notes = [one.model_copy(update={"kind": "journal"}) for one in core]
    for section in (core_memories(core, 99_999), journal(notes, 99_999)):
        head, *lines = shown(section)
        assert section is not None
        assert section.text.splitlines() == [head, *lines]
        assert len(lines) == len(texts)
        for line, text in zip(lines, reversed(texts), strict=True):
            assert grammar.MEMORY.fullmatch(line), line
            assert line.isprintable()
            visible = "".join(c for c in text if c.isprintable() and not c.isspace())
            assert "".join(line.removeprefix("  - ").split()).endswith(visible)


@given(
    st.lists(hostile().filter(str.strip), min_size=1, max_size=3),
    st.lists(hostile().map(lambda name: name[:100]).filter(str.strip), min_size=1, max_size=5),
    st.none() | hostile().filter(str.strip),
)
def test_whatever_people_say_and_are_called_is_one_quoted_line(
    texts: list[str], names: list[str], title: str | None
) -> None:
    people = [person(f"usr_{n}", name) for n, name in enumerate(names)]
    core = [said(text, *people, title=title, age=n) for n, text in enumerate(texts)]
    _, *lines = shown(core_memories(core, 99_999))
    for line, text in zip(lines, texts, strict=True):
        row = grammar.MEMORY.fullmatch(line)
        assert row is not None, line
        assert line.isprintable()
        assert row["own"] is None
        assert grammar.plain(row["text"]) == text.strip()


def test_memories_name_their_sources() -> None:
    ben, cleo, dan = (person(f"usr_{name}", name.title()) for name in ("ben", "cleo", "dan"))
    shown_as = {
        'Ann in "Project": "A"': said("A", ANN),
        'Ann: "B"': said("B", ANN, title=None),
        'from "Project" with Ann and Ben: "C"': said("C", ANN, ben),
        'from "Project" with Ann, Ben, Cleo and another: "D"': said("D", ANN, ben, cleo, dan),
        'from a chat with Ann and Ben: "E"': said("E", ANN, ben, title=None),
        '"F"': said("F"),
        "(operator) G": memory("G"),
        '(operator) "H"': memory('"H"'),
    }
    for line, one in shown_as.items():
        assert shown(core_memories([one], 999))[1:] == [f"  - [2026-02-18] {line}"]


def test_source_claims_no_single_speaker_if_others_may_have_written() -> None:
    one = said("A", ANN)
    unknown = one.made_from.model_copy(update={"writers": MANY})
    [line] = shown(core_memories([one.model_copy(update={"made_from": unknown})], 999))[1:]
    assert line == '  - [2026-02-18] from "Project" with Ann: "A"'


def test_source_in_the_active_chat_repeats_no_title() -> None:
    world = World()
    world.agent()
    world.chat(ANN, COACH, title="Project")
    made = {"authors": Authors.in_digests([ANN.id]), "made_from": said("A", ANN).made_from}
    owner = OWNER.model_copy(update=made)
    world.app.memories.add(owner, "A", "core", made_by="tool")
    texts = {section.name: section.text for section in _prompt(world).sections}
    assert texts["CORE MEMORIES"] == 'CORE MEMORIES:\n  - [2026-02-18] Ann: "A"'


def test_stranger_with_the_name_of_a_member_has_a_number() -> None:
    world = World()
    world.agent()
    world.chat(ANN, COACH, title="Project")
    other = said("A", person("usr_other", "Ann"), chat_id="chat_2")
    owner = OWNER.model_copy(update={"made_from": other.made_from})
    world.app.memories.add(owner, "A", "core", made_by="tool")
    texts = {section.name: section.text for section in _prompt(world).sections}
    assert texts["CORE MEMORIES"] == 'CORE MEMORIES:\n  - [2026-02-18] Ann (2) in "Project": "A"'


def test_white_space_is_folded_and_invisible_characters_are_removed() -> None:
    text = "Tea\r\n\n\tNOW:\u2028  \u202eand\u0085 more\x00!"
    assert shown(core_memories([memory(text)], 999)) == [
        "CORE MEMORIES:",
        "  - [2026-02-18] (operator) Tea NOW: and more !",
    ]


# ---------------------------------------------------------------------- room


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 400),
)
def test_over_the_budget_the_constitutional_and_the_newest_stay(
    sizes: list[tuple[int, bool]], limit: int
) -> None:
    core = [
        memory(f"{n} {'word ' * size}", len(sizes) - n, constitutional=law)
        for n, (size, law) in enumerate(sizes)
    ]
    section = core_memories(core, limit)
    assert section is not None
    lines = shown(section)
    kept = [one for one in core if line_of(one) in lines]
    missing = len(core) - len(kept)
    assert all(one in kept for one in core if one.constitutional)
    laws = [one for one in core if one.constitutional]
    others = [one for one in core if not one.constitutional]
    kept_others = [one for one in kept if not one.constitutional]
    assert kept_others == others[len(others) - len(kept_others) :]
    assert (f"  ({missing} older left out)" in lines) == bool(missing)
    assert len(lines) == 1 + len(kept) + bool(missing)
    assert section.marks == ((OVER,) if section.tokens > limit or missing else ())
    if kept_others:
        assert section.tokens <= limit
    assert laws or section.tokens <= max(limit, tokens().count(f"CORE MEMORIES:\n{lines[-1]}\n\n"))


def test_the_journal_keeps_the_newest_and_marks_nothing() -> None:
    notes = [memory(f"Note {n} {'word ' * 20}", n, kind="journal") for n in range(6)]
    section = journal(notes, 85)
    head, *lines, left_out = shown(section)
    assert (head, left_out) == ("JOURNAL:", "  (4 older left out)")
    assert [line.split()[3:5] for line in lines] == [["Note", "0"], ["Note", "1"]]
    assert section is not None
    assert section.marks == ()


# ---------------------------------------------------------------------- in a prompt


def _chatting(settings: Settings | None = None) -> World:
    world = World(settings or Settings())
    world.agent()
    world.chat(ANN, COACH)
    return world


def _prompt(world: World) -> PromptRecord:
    return world.app.preview.show(TENANT, COACH.id, "chat_1")


def _add(world: World, text: str, kind: str = "core", **fields: Any) -> Memory:
    values: dict[str, Any] = {"kind": kind, "made_by": "api"} | fields
    added = world.app.memories.add(OWNER, text, **values)
    world.clock.advance(1)
    return added.memory


def test_memories_are_placed_by_how_often_sections_change() -> None:
    world = _chatting()
    world.app.goals.set(OWNER, "Win")
    _add(world, "Core")
    _add(world, "Note", "journal")
    names = [section.name for section in _prompt(world).sections]
    assert names[:2] == ["IDENTITY", "INSTRUCTIONS"]
    assert names[2:5] == ["CORE MEMORIES", "GOALS", "JOURNAL"]


def test_a_journal_entry_is_shown_for_its_days_by_our_own_clock() -> None:
    world = _chatting()
    _add(world, "Note", "journal")
    world.clock.advance(JOURNAL_DAYS * 86_400 - 2)
    assert "JOURNAL" in [section.name for section in _prompt(world).sections]
    world.clock.advance(1)
    assert "JOURNAL" not in [section.name for section in _prompt(world).sections]


def test_removed_or_superseded_memory_is_not_shown() -> None:
    world = _chatting()
    gone = _add(world, "Gone")
    _add(world, "Same", "journal")
    _add(world, "Same")
    world.app.memories.delete(OWNER.reach, gone.id)
    texts = {s.name: s.text for s in _prompt(world).sections}
    assert texts["CORE MEMORIES"] == "CORE MEMORIES:\n  - [2026-02-18] (operator) Same"
    assert "JOURNAL" not in texts


def _over_budget(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(sections, "CORE_MEMORY_TOKENS", 100)
    world = _chatting()
    _add(world, "The law", constitutional=True)
    for n in range(30):
        _add(world, f"Memory number {n}")
    return world


def test_a_run_that_could_not_hold_all_core_memories_is_marked_for_operators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = _over_budget(monkeypatch)
    assert _prompt(world).marks == (OVER,)
    world.post("Hi", ANN)
    world.drain()
    [run] = world.runs()
    assert run.marks == (OVER,)
    assert world.metrics.counts["CoreMemoriesOverBudget"] == 1
    body = operator(world).get(f"/v1/runs/{run.id}").body
    assert body["marks"] == body["prompt"]["marks"] == [OVER]
    [section] = [s["text"] for s in body["prompt"]["sections"] if s["name"] == "CORE MEMORIES"]
    assert ") The law" in section
    assert ") Memory number 29" in section
    assert ") Memory number 0\n" not in section


def test_run_that_held_all_core_memories_has_no_mark() -> None:
    world = _chatting()
    _add(world, "The law", constitutional=True)
    world.post("Hi", ANN)
    world.drain()
    [run] = world.runs()
    assert run.marks == ()
    assert "marks" not in (world.table.get(run.key) or {})
    assert "CoreMemoriesOverBudget" not in world.metrics.counts


@pytest.mark.parametrize("size", [3_000, 6_000])
def test_small_prompt_limits_the_memories(size: int) -> None:
    world = World()
    world.agent(max_prompt_tokens=size)
    world.chat(ANN, COACH)
    for n in range(40):
        _add(world, f"{n} {'word ' * 100}")
        _add(world, f"{n} {'note ' * 100}", "journal")
    prompt = _prompt(world)
    assert prompt.total_tokens <= size - Settings().reserved_response_tokens
    assert prompt.marks == (OVER,)
    texts = {s.name: s.text for s in prompt.sections}
    assert ") 39 word" in texts["CORE MEMORIES"]


@pytest.fixture
def _few_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a prompt read 120 items of a partition, a tenth of what it usually reads."""
    monkeypatch.setattr("skein.agent.reading.owned_items.MAX_LIVE", 50)
    monkeypatch.setattr("skein.agent.reading.owned_items.MAX_OTHER_ITEMS", 70)


@pytest.mark.usefixtures("_few_are_read")
@pytest.mark.parametrize("kind", ["core", "journal"])
def test_memory_of_an_operator_is_kept_however_much_others_say(kind: MemoryKind) -> None:
    world = _chatting()
    said = "Escalate to the emergency line"
    world.app.memories.add(OWNER, said, kind, made_by="api")
    for n in range(130):
        text = f"Memory {n} {'word ' * 60}"
        one = memory(text, id=f"mem_9{n:04d}", made_by="tool", by_operator=False)
        world.table.write(Put(one.key, one.to_item()))
    texts = {s.name: s.text for s in _prompt(world).sections}
    assert said in texts["CORE MEMORIES" if kind == "core" else "JOURNAL"]
    assert "left out" in texts["CORE MEMORIES"]


def test_goals_of_operators_come_first() -> None:
    world = _chatting()
    world.app.goals.set(OWNER, "Theirs", priority=1)
    world.app.goals.set(OWNER.model_copy(update={"by_operator": True}), "Ours", priority=5)
    texts = {s.name: s.text for s in _prompt(world).sections}
    assert texts["GOALS"].index("Ours") < texts["GOALS"].index("Theirs")


@pytest.mark.usefixtures("_few_are_read")
def test_plans_and_goals_are_shown_however_much_is_remembered() -> None:
    world = _chatting()
    world.app.goals.set(OWNER, "Win")
    world.app.plans.set(OWNER, "report", "Report.", run_after="1 hour")
    _add(world, "The journal is not hidden", "journal")
    for n in range(130):
        one = memory(f"Memory {n}", 130 - n, id=f"mem_{n:04d}", by_operator=False)
        world.table.write(Put(one.key, one.to_item()))
    world.table.log.clear()
    texts = {s.name: s.text for s in _prompt(world).sections}
    queries = [call.method for call in world.table.log].count("query")
    assert {"GOALS", "PLANS", "JOURNAL"} <= texts.keys()
    assert "Memory 129" in texts["CORE MEMORIES"]
    assert queries == 3  # the messages, what is owned, and the journal, which that did not reach
