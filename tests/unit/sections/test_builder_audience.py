"""Prompts and tools show private content only to people who were present for it."""

from copy import copy
from dataclasses import dataclass, field
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skein.models.chats.chat import Chat
from skein.models.common.base import NamedMember
from skein.models.common.storage import Query
from skein.models.visibility.audience import Audience, may_show
from skein.models.visibility.ownership import owned_partition
from skein.services.visibility.audience import audience_of, destination_of, scope_of
from tests.support.agents import (
    AHMAD,
    COACH,
    DESIGNER,
    END,
    HUSAM,
    job_of,
    results_of,
    rival,
    settle,
    stage,
)
from tests.support.builders import NOON, TENANT, World, person
from tests.support.examples import examples
from tests.support.fakes import calls, says

SARAH = person("usr_sarah", "Sarah")
PEOPLE = (HUSAM, SARAH, AHMAD)
MARKS = ("TITLE", "SAID", "GOAL", "PLAN", "PREVIEW")


@dataclass(frozen=True)
class Place:
    """A chat as a test wants it."""

    name: str
    people: tuple[NamedMember, ...]
    private: bool = True
    direct: bool = False

    @property
    def id(self) -> str:
        return f"chat_{self.name}"

    def covers(self, other: "Place") -> bool:
        """Whether what is from here may be shown there, by the rule of docs/security.md."""
        if not self.private:
            return True
        return other.private and bool(other.people) and set(other.people) <= set(self.people)


@dataclass
class House:
    """Chats, in each of which the agent has been told, has made and has sent something."""

    places: tuple[Place, ...]
    goals: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = stage()
        for place in self.places:
            self.world.chat(
                *place.people,
                COACH,
                *(() if place.direct else (DESIGNER,)),
                chat_id=place.id,
                title=f"TITLE-{place.name}",
                kind="direct" if place.direct else "group",
                visibility="private" if place.private else "open",
                respond="mention",
            )
        for place in self.places:
            self._live_in(place)

    def _live_in(self, place: Place) -> None:
        self.world.model.script.append(
            calls(
                ("set_goal", {"text": f"GOAL-{place.name}"}),
                (
                    "set_plan",
                    {"name": f"PLAN-{place.name}", "instruction": "x", "run_after": "9 days"},
                ),
                ("send_message", {"text": f"PREVIEW-{place.name}"}),
            )
        )
        self.say(place, f"@Coach SAID-{place.name}")
        settle(self.world)
        run = self.world.runs(place.id)[0]
        self.runs[place.name] = run.id
        made = results_of(self.world, run)[0].content
        self.goals[place.name] = made.removeprefix("goal set, id: ")

    def told_last(self) -> list[str]:
        return self.world.model.told

    def say(self, place: Place, text: str) -> None:
        """Have a person say something, or another agent where there is none."""
        speaker = place.people[0] if place.people else DESIGNER
        self.world.post(text, speaker, chat_id=place.id, depth=0 if place.people else 1)

    def prompts_shown_in(self, place: Place) -> str:
        """Everything that the model is shown when it looks around from `place` as it can."""
        self.world.model.requests.clear()
        reads = [("read_messages", {"chat_id": other.id}) for other in self.places]
        self.world.model.script.extend([calls(("get_my_runs", {"limit": 50}), *reads), END])
        self.say(place, "@Coach, what is going on?")
        settle(self.world)
        return "\n".join(m.content for r in self.world.model.requests for m in r.messages)


OPEN = Place("open", PEOPLE, private=False)
HUSAMS = Place("husam", (HUSAM,), direct=True)
HUSAMS_OTHER = Place("husam2", (HUSAM,), direct=True)
SARAHS = Place("sarah", (SARAH,), direct=True)
PAIR = Place("pair", (HUSAM, AHMAD))
AGENTS = Place("agents", ())
ALL = (OPEN, HUSAMS, HUSAMS_OTHER, SARAHS, PAIR, AGENTS)


@cache
def _lived_in() -> House:
    return House(ALL)


def house_of_all() -> House:
    """All places, in each of which something has happened."""
    house = copy(_lived_in())
    house.world = stage().continue_from(house.world)
    return house


@pytest.mark.parametrize("place", ALL, ids=lambda place: place.name)
def test_prompt_excludes_content_not_visible_to_all_present(place: Place) -> None:
    house = house_of_all()
    seen = house.prompts_shown_in(place)
    for source in ALL:
        covered = source.covers(place) or source == place
        for mark in MARKS:
            shown = f"{mark}-{source.name}" in seen
            assert covered or not shown, f"{mark} of {source.name} is shown in {place.name}"
        assert covered or house.runs[source.name] not in seen


@pytest.mark.parametrize("place", ALL, ids=lambda place: place.name)
def test_prompt_includes_content_visible_to_all_present(place: Place) -> None:
    house = house_of_all()
    seen = house.prompts_shown_in(place)
    for source in ALL:
        if source.covers(place) or source == place:
            assert f"SAID-{source.name}" in seen
            assert f"TITLE-{source.name}" in seen
            if place != AGENTS or not source.private:
                assert f"PREVIEW-{source.name}" in seen


def test_prompt_includes_other_private_chats_of_the_same_person() -> None:
    seen = house_of_all().prompts_shown_in(HUSAMS_OTHER)
    assert all(f"{mark}-husam" in seen for mark in MARKS)


def test_tools_cannot_change_items_not_visible_to_all_present() -> None:
    house = house_of_all()
    world = house.world
    world.model.script.append(says("Well?", wait=True))
    house.say(HUSAMS, "@Coach, wait")
    settle(world)
    waiting = world.runs(HUSAMS.id)[-1]
    world.model.script.append(
        calls(
            ("enter_chat", {"chat_id": HUSAMS.id}),
            ("stop_run", {"run_id": waiting.id}),
            ("end_goal", {"goal_id": house.goals["husam"], "outcome": "completed"}),
            ("end_goal", {"goal_id": house.goals["husam"], "outcome": "abandoned"}),
            ("cancel_plan", {"name": "PLAN-husam"}),
        )
    )
    house.say(SARAHS, "@Coach, spy")
    settle(world)
    assert [told.partition(":")[0] for told in house.told_last()] == ["error"] * 5
    assert world.runs(HUSAMS.id)[-1].status == "waiting"
    assert waiting.id not in world.model.requests[-1].messages[0].content


def test_private_messages_of_an_open_run_stay_private() -> None:
    house = House((OPEN, HUSAMS, SARAHS))
    world = house.world
    world.model.script.append(says("About your surgery", chat_id=SARAHS.id))
    world.post("@Coach, remind me", SARAH, chat_id=OPEN.id)
    settle(world)
    assert "About your surgery" not in house.prompts_shown_in(HUSAMS)
    assert "About your surgery" not in house.prompts_shown_in(OPEN)
    assert "About your surgery" in house.prompts_shown_in(SARAHS)


def test_run_waiting_in_private_chat_is_listed_only_in_chats_of_that_person() -> None:
    house = House((OPEN, HUSAMS, HUSAMS_OTHER, SARAHS))
    world = house.world
    world.model.script.append(says("Well?", chat_id=HUSAMS.id, wait=True))
    world.post("@Coach, ask me", HUSAM, chat_id=OPEN.id)
    settle(world)
    waits = "waiting for a reply by Husam"
    assert waits not in house.prompts_shown_in(SARAHS)
    assert waits not in house.prompts_shown_in(OPEN)
    assert waits in house.prompts_shown_in(HUSAMS_OTHER)


def test_the_chat_itself_may_always_be_read_there() -> None:
    house = House((AGENTS, PAIR))
    for place in house.places:
        assert f"SAID-{place.name}" in house.prompts_shown_in(place)


# ---------------------------------------------------------------------- who comes and goes


def _pair() -> House:
    """A private group of two, of which Ahmad is not yet one, and a direct chat with Ahmad."""
    alone = Place("pair", (HUSAM,))
    house = House((alone, Place("ahmad", (AHMAD,), direct=True)))
    house.world.known(AHMAD)
    house.world.add(AHMAD, chat_id=alone.id)
    return house


AHMADS = Place("ahmad", (AHMAD,), direct=True)


def test_late_member_is_not_in_the_earlier_audience() -> None:
    house = _pair()
    seen = house.prompts_shown_in(AHMADS)
    assert "TITLE-pair" in seen
    assert not any(f"{mark}-pair" in seen for mark in MARKS if mark != "TITLE")


def test_messages_after_join_belong_to_the_new_member_too() -> None:
    house = _pair()
    house.world.post("Welcome", HUSAM, chat_id="chat_pair")
    house.world.model.script.append(
        calls(
            ("read_messages", {"chat_id": "chat_pair", "limit": 1}),
            ("read_messages", {"chat_id": "chat_pair", "limit": 2}),
        )
    )
    house.say(AHMADS, "@Coach, what is new?")
    settle(house.world)
    new, old = house.told_last()
    assert "Welcome" in new
    assert old.startswith("error: that chat is private")


def test_goals_and_plans_from_before_a_join_are_not_shown() -> None:
    seen = _pair().prompts_shown_in(Place("pair", (HUSAM, AHMAD)))
    goals_and_plans = seen.partition("CHAT HISTORY")[0]
    assert "GOAL-pair" not in goals_and_plans
    assert '- "PLAN-pair"' not in seen


def test_former_member_is_shown_nothing_after_leaving() -> None:
    house = House((PAIR, AHMADS))
    house.world.app.chat_admin.remove_member(TENANT, PAIR.id, HUSAM.ref, AHMAD.ref)
    seen = house.prompts_shown_in(AHMADS)
    assert not any(f"{mark}-pair" in seen for mark in MARKS if mark != "PREVIEW")
    assert "SAID-pair" not in seen


def test_chat_records_late_members_and_drops_former_ones() -> None:
    world = World()
    world.chat(HUSAM)
    chat_admin = world.app.chat_admin
    world.known(SARAH)
    world.add(SARAH)
    assert world.stored_chat().joined_late == {}
    world.post("One", HUSAM)
    world.known(AHMAD)
    world.add(AHMAD)
    assert world.stored_chat().joined_late == {"user#usr_ahmad": 1}
    chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref)
    assert world.stored_chat().joined_late == {}
    world.post("Two", HUSAM)
    world.known(AHMAD)
    world.add(AHMAD)
    assert world.stored_chat().joined_late == {"user#usr_ahmad": 2}


def test_member_who_joins_during_the_reading_is_no_reader() -> None:
    """The chat as claimed, not as it is later, decides whose a goal is: nobody is added."""
    house = House((Place("pair", (HUSAM,)),))
    world = house.world
    world.known(AHMAD)
    world.model.script.append(calls(("set_goal", {"text": "Between us"})))
    house.say(house.places[0], "@Coach, remember")
    rival(world).before = (
        "GOAL#",
        lambda: world.add(AHMAD, chat_id="chat_pair"),
    )
    world.take(job_of(world.runs("chat_pair")[-1]))
    partition = owned_partition(TENANT, COACH.id, "chat:chat_pair")
    goals = world.table.query(Query.under(partition, "GOAL#")).items
    [made] = [goal for goal in goals if goal["text"] == "Between us"]
    assert made["audience"] == {"open": False, "people": [HUSAM.id]}


# ---------------------------------------------------------------------- the rule

audiences = st.builds(
    lambda is_open, people: Audience(open=is_open, people=() if is_open else tuple(sorted(people))),
    st.booleans(),
    st.sets(st.sampled_from(["usr_a", "usr_b", "usr_c"])),
)


@given(source=audiences, destination=audiences)
def test_may_show_requires_open_source_or_covered_destination(
    source: Audience, destination: Audience
) -> None:
    covered = all(one in source.people for one in destination.people)
    rule = source.open or (not destination.open and destination.people != () and covered)
    assert may_show(source, destination) == rule


@given(one=audiences, other=audiences, place=audiences)
def test_item_made_from_two_sources_is_shown_only_where_both_may_be(
    one: Audience, other: Audience, place: Audience
) -> None:
    both = one.narrowed(other)
    assert may_show(both, place) == (may_show(one, place) and may_show(other, place))
    assert both == other.narrowed(one)


@given(
    people=st.sets(st.sampled_from(PEOPLE)),
    late=st.dictionaries(st.sampled_from(PEOPLE), st.integers(0, 5)),
    since=st.integers(1, 8),
    private=st.booleans(),
)
def test_audience_of_a_span_is_members_present_throughout(
    people: set[NamedMember], late: dict[NamedMember, int], since: int, private: bool
) -> None:
    chat = Chat(
        tenant=TENANT,
        id="chat_1",
        kind="group",
        visibility="private" if private else "open",
        last_seq=8,
        roster=(*people, COACH),
        joined_late={str(who.ref): seq for who, seq in late.items()},
        activity_hour=NOON,
        created_at=NOON,
    )
    audience = audience_of(chat, since_seq=since)
    assert audience.open is not private
    if private:
        there = {who.id for who in people if late.get(who, 0) < since}
        assert set(audience.people) == there
        assert set(audience.people) <= set(destination_of(chat).people)
    assert (scope_of(chat) is None) is not private


places = st.builds(
    lambda number, people, private, direct: Place(
        f"p{number}",
        tuple(sorted(people, key=lambda who: who.id)),
        private=private,
        direct=direct and len(people) == 1,
    ),
    st.integers(0, 999),
    st.sets(st.sampled_from(PEOPLE)),
    st.booleans(),
    st.booleans(),
)


@pytest.mark.check
@given(places=st.lists(places, min_size=2, max_size=5, unique_by=lambda place: place.name))
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_chats_show_no_content_outside_its_audience(places: list[Place]) -> None:
    house = House(tuple(places))
    for place in places:
        seen = house.prompts_shown_in(place)
        for source in places:
            for mark in MARKS:
                shown = f'{mark}-{source.name}"' in seen
                assert source == place or source.covers(place) or not shown, (mark, source, place)
