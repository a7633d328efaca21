"""No key of the table stops a tenant with ten agents below the goal."""

import pytest

from bench.keys import GOAL, ceilings, form_of

USAGE = "{tenant}#USAGE#{day}#{shard}"
SETTINGS = "{tenant}#SETTINGS"


@pytest.mark.parametrize("sms", [False, True])
def test_tenant_of_ten_agents_reaches_the_goal_on_every_key(*, sms: bool) -> None:
    found = {(each.form, each.kind): each.answers for each in ceilings(sms=sms, people=20)}
    assert found.keys() >= {(USAGE, "write"), (SETTINGS, "read")}
    assert {key: answers for key, answers in found.items() if answers < GOAL} == {}


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("acme#USAGE#2026-02-18#7", USAGE),
        ("acme#LIMIT#all:3", "{tenant}#LIMIT#all:{shard}"),
        ("gsi1: acme#RUNS#agt_1#2026-02-18", "gsi1: {tenant}#RUNS#{id}#{day}"),
    ],
)
def test_keys_of_one_form_differ_by_shard_or_name(key: str, form: str) -> None:
    assert form_of(key) == form
