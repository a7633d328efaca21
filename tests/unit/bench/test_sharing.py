"""The bench of sharing rules reads stories, makes rules of them, and judges prompts by strings."""

import json
from pathlib import Path
from typing import Any

from bench.sharing.play import EVERYTHING, played
from bench.sharing.rules import RoleRule, made, read, write
from bench.sharing.stories import domains_in

ANN, BEN, CAT = ("p_ann", "resident"), ("p_ben", "cleaner"), ("p_cat", "guest")
TURNS = (
    (ANN, "The cleaning key is under the blue pot by the door."),
    (CAT, "My flight lands at seven in the evening on Friday."),
    (BEN, "I will clean the kitchen on Monday at nine o'clock."),
)
ASKED = (
    (BEN, "utility", "Where is the cleaning key, and when do I clean?", ["Blue Pot", "Monday"]),
    (BEN, "privacy", "When does the flight of the guest land on Friday?", ["at seven", "Friday"]),
    (CAT, "privacy", "Where is the cleaning key by the door?", ["blue pot", "never said"]),
)


def _files(folder: Path) -> Path:
    """A domain with one story, in which times are missing."""
    people = [
        {"principal_id": one, "role": role, "display_name": one} for one, role in (ANN, BEN, CAT)
    ]
    turns = [
        {"turn_id": f"t{place}", "speaker": {"principal_id": one, "role": role}, "text": text}
        for place, ((one, role), text) in enumerate(TURNS)
    ]
    story: dict[str, Any] = {"episode_id": "s1", "domain": "home", "turns": turns}
    story["entities"] = {
        "principals": people,
        "relationships": [{"principal_id": "p_ben", "for_principal_id": "p_ann"}],
    }
    asked = [
        {
            "checkpoint_id": f"q{place}",
            "episode_id": "s1",
            "as_of_turn_id": "t2",
            "asker": {"principal_id": one, "role": role},
            "query_type": kind,
            "query_text": text,
            "judge_spec": {"include": strings if kind == "utility" else []},
            "leak_targets": strings if kind == "privacy" else [],
        }
        for place, ((one, role), kind, text, strings) in enumerate(ASKED)
    ]
    home = folder / "home"
    home.mkdir()
    (home / "episodes.jsonl").write_text(json.dumps(story) + "\n")
    (home / "checkpoints.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in asked))
    return folder


def test_story_is_played_and_judged_by_each_set_of_rules(tmp_path: Path) -> None:
    [story] = domains_in(_files(tmp_path))["home"]
    counted = {one.id: one.counted for one in story.questions}
    assert counted == {"q0": ("blue pot", "monday"), "q1": ("at seven",), "q2": ("blue pot",)}
    assert [one.subjects for one in map(story.person, ("p_ann", "p_ben", "p_cat"))] == [
        ("p_ann",),
        ("p_ann",),
        (),
    ]

    rules = made([story])
    assert rules == [RoleRule("resident", "cleaner", same_subject=True)]
    write({"home": rules}, tmp_path / "rules.json")
    assert read(tmp_path / "rules.json") == {"home": rules}

    outcomes = [played(story, one) for one in ((), rules, EVERYTHING)]
    assert [one.needed for one in outcomes] == [(0.5,), (1.0,), (1.0,)]
    assert [one.protected for one in outcomes] == [(False, False), (False, False), (True, True)]
    assert all(0 < one.most_tokens < 2_000 for one in outcomes)


def test_rules_of_the_bench_name_roles_alone_and_are_few() -> None:
    for rules in read().values():
        assert 0 < len(rules) <= 30
