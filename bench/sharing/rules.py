"""`python -m bench.sharing.rules DATA`: make each domain's sharing rules from half of its stories.

A rule lets agents tell people with one role what people with another role said, perhaps only if
both roles relate to the same person. Rules are made from every other story. They are added one by
one, each time the one that helps most: needed facts that become known count for a rule, protected
facts against it. The rules are written to `bench/sharing/rules.json`, which names no person and no
story.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.sharing.stories import AGENT, Question, Story, domains_in, halves
from skein.services.visibility.sharing_rules import MAX_PARTITIONS

FILE = Path(__file__).with_name("rules.json")
MOST = 30  # of a domain
PROTECTED = 1.5  # how much a question with a protected fact counts beside one with all needed facts
LEAST_GAIN = 1e-4


class RoleRule(NamedTuple):
    """A sharing rule between roles."""

    from_role: str
    to_role: str
    same_subject: bool = False


Rules = Sequence[RoleRule]


class Fact(NamedTuple):
    """A string that the benchmark looks for in a question's prompt.

    Attributes:
        own: Whether the person who asks has said it.
        by: The rules each of which lets the agent tell it to the person who asks.
    """

    own: bool
    by: frozenset[RoleRule]


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of some stories. Each question is the list of its facts."""

    needed: tuple[tuple[Fact, ...], ...]
    protected: tuple[tuple[Fact, ...], ...]

    @classmethod
    def of(cls, stories: Iterable[Story]) -> "Asked":
        """Return the questions of stories for which at least one string counts."""
        found: dict[str, list[tuple[Fact, ...]]] = defaultdict(list)
        for story in stories:
            for question in story.questions:
                if question.counted:
                    facts = (_fact(story, question, string) for string in question.counted)
                    found[question.kind].append(tuple(facts))
        return cls(tuple(found["utility"]), tuple(found["privacy"]))

    def shares(self, rules: Iterable[RoleRule]) -> tuple[float, float]:
        """Return two measures of these rules.

        They are the share of needed facts that become known, and the share of questions with a
        protected fact that becomes known.
        """
        chosen = frozenset(rules)

        def known(fact: Fact) -> bool:
            return fact.own or not chosen.isdisjoint(fact.by)

        needed = sum(sum(map(known, facts)) / len(facts) for facts in self.needed)
        protected = sum(any(map(known, facts)) for facts in self.protected)
        return needed / max(len(self.needed), 1), protected / max(len(self.protected), 1)


def made(stories: Iterable[Story]) -> Rules:
    """Make rules from stories. The most useful rule comes first.

    A prompt can search only a limited number of partitions, so no role gets more rules than that.
    """
    asked = Asked.of(stories)
    candidates = sorted({rule for facts in asked.needed for fact in facts for rule in fact.by})
    rules: list[RoleRule] = []
    best = _worth(asked, rules)
    while len(rules) < MOST:
        readers = Counter(rule.to_role for rule in rules)
        left = [
            rule
            for rule in candidates
            if rule not in rules and readers[rule.to_role] < MAX_PARTITIONS
        ]
        # Among equal ones, the rule that tells less.
        worths = [(_worth(asked, [*rules, rule]), rule.same_subject, rule) for rule in left]
        if not worths:
            break
        worth, _, rule = max(worths)
        if worth <= best + LEAST_GAIN:
            break
        rules.append(rule)
        best = worth
    return rules


def read(file: Path = FILE) -> Mapping[str, Rules]:
    """Return the rules that a file has for each domain."""
    return {
        domain: [
            RoleRule(rule["from"], rule["to"], rule.get("same_subject", False)) for rule in rules
        ]
        for domain, rules in json.loads(file.read_text(encoding="utf-8")).items()
    }


def write(rules: Mapping[str, Rules], file: Path = FILE) -> None:
    """Write the rules of each domain to a file, one rule a line."""
    parts = []
    for domain, ones in sorted(rules.items()):
        lines = ",\n".join(f"    {json.dumps(_plain(rule))}" for rule in ones)
        parts.append(f"  {json.dumps(domain)}: [\n{lines}\n  ]")
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _plain(rule: RoleRule) -> dict[str, str | bool]:
    parties: dict[str, str | bool] = {"from": rule.from_role, "to": rule.to_role}
    return parties | ({"same_subject": True} if rule.same_subject else {})


def _worth(asked: Asked, rules: Sequence[RoleRule]) -> float:
    needed, protected = asked.shares(rules)
    return needed - PROTECTED * protected


def _fact(story: Story, question: Question, string: str) -> Fact:
    asker = story.person(question.asker)
    own, by = False, set[RoleRule]()
    for turn in story.turns[: question.turns]:
        if turn.role == AGENT or string not in turn.text.lower():
            continue
        if turn.person == asker.id:
            own = True
            continue
        by.add(RoleRule(turn.role, asker.role))
        subjects = story.person(turn.person).subjects
        if len(subjects) == 1 and subjects == asker.subjects:
            by.add(RoleRule(turn.role, asker.role, same_subject=True))
    return Fact(own, frozenset(by))


def main(folder: str) -> int:
    """Make the rules of the domains in a folder; print their effect in both halves of stories."""
    rules = dict(read()) if FILE.exists() else {}
    for domain, stories in domains_in(Path(folder)).items():
        half, rest = halves(stories)
        rules[domain] = made(half)
        for name, part in (("made from", half), ("held out", rest)):
            needed, protected = Asked.of(part).shares(rules[domain])
            print(
                f"{domain}, {len(rules[domain])} rules, {len(part)} stories {name}: "
                f"needed {needed:.3f}, protected {protected:.3f}"
            )
    write(rules)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
