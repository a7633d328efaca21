"""Agents, people and lines, as operators keep them."""

from collections.abc import Callable
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, Rejected, Unavailable, Unprocessable
from skein.models.api.directory import (
    AgentChange,
    LineChange,
    NewAgent,
    NewLine,
    NewUser,
    UserChange,
)
from skein.models.common.address import phone_address
from skein.models.common.storage import Update
from skein.models.config.overrides import ChatOverridesChange
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.services.directory.assigned_numbers import AssignedNumbers
from skein.settings import Settings
from tests.support.builders import LINE, NOON, TENANT, World, person
from tests.support.number_codes import link_number

ANNS = "+15005550101"
BENS = "+15005550102"
OTHER_LINE = "+15005550016"


def owner(world: World, phone: str) -> str | None:
    item = world.table.get(AddressOwner.key_of(TENANT, phone_address(phone)))
    return AddressOwner.from_item(item).user_id if item else None


def new_user(world: World, *phones: str, **fields: Any) -> User:
    return world.app.users.create(TENANT, NewUser(**({"name": "Ann", "phones": phones} | fields)))


def write_in_between(world: World, method: str, action: Callable[[], object]) -> None:
    """Let `action` happen just before the table's next call of `method`."""
    real = getattr(world.table, method)
    once = iter([True])

    def racing(argument: object) -> None:
        if next(once, False):
            action()
        real(argument)

    setattr(world.table, method, racing)


# ---------------------------------------------------------------------- agents


def test_an_agent_is_made_with_the_defaults_of_the_design() -> None:
    world = World()
    agent = world.app.agents.create(TENANT, NewAgent(name="Coach"))
    assert agent == world.app.agents.get(TENANT, agent.id)
    assert agent.id.startswith("agt_")
    assert "send_message" in agent.enabled_tools
    assert (agent.time_zone, agent.max_prompt_tokens, agent.model) == ("UTC", None, None)


def test_tool_that_is_named_twice_is_stored_once() -> None:
    new = NewAgent(name="Coach", enabled_tools=("end_goal", "recall", "end_goal"))
    assert World().app.agents.create(TENANT, new).enabled_tools == ("end_goal", "recall")


def test_change_touches_only_the_given_fields() -> None:
    world = World()
    before = world.agent(model="gpt-x", system_prompt="Be kind.")
    world.table.write(Update(before.key, set={"from_a_newer_writer": 1}))
    after = world.app.agents.change(TENANT, "agt_a", AgentChange(name="Trainer", model=None))
    changed = {"name": "Trainer", "model": None, "version": 2, "changed_at": NOON}
    assert after == before.model_copy(update=changed)
    assert world.app.agents.get(TENANT, "agt_a") == after
    item = world.table.get(before.key)
    assert item is not None
    assert item["from_a_newer_writer"] == 1


def test_null_keeps_fields_that_cannot_be_null() -> None:
    world = World()
    before = world.agent(system_prompt="Be kind.")
    change = AgentChange(name=None, system_prompt=None, enabled_tools=None)
    assert world.app.agents.change(TENANT, "agt_a", change) == before


def test_two_changes_at_once_lose_neither() -> None:
    world = World()
    world.agent()
    agents = world.app.agents
    write_in_between(
        world,
        "transact",
        lambda: agents.change(TENANT, "agt_a", AgentChange(time_zone="Asia/Amman")),
    )
    agents.change(TENANT, "agt_a", AgentChange(name="Trainer"))
    after = agents.get(TENANT, "agt_a")
    assert (after.name, after.time_zone, after.version) == ("Trainer", "Asia/Amman", 3)


def test_a_deleted_agent_is_gone_for_operators_but_its_record_stays() -> None:
    world = World()
    agent = world.agent()
    world.app.agents.delete(TENANT, "agt_a")
    world.app.agents.delete(TENANT, "agt_a")
    assert world.app.agents.list(TENANT).items == ()
    with pytest.raises(NotFound):
        world.app.agents.get(TENANT, "agt_a")
    with pytest.raises(NotFound):
        world.app.agents.change(TENANT, "agt_a", AgentChange(name="Again"))
    item = world.table.get(agent.key)
    assert item is not None
    assert Agent.from_item(item).deleted_at is not None


def test_records_of_another_tenant_are_not_found() -> None:
    world = World()
    world.agent()
    world.line()
    new_user(world, id="usr_ann")
    app = world.app
    attempts: list[Callable[[], object]] = [
        lambda: app.agents.get("other", "agt_a"),
        lambda: app.agents.change("other", "agt_a", AgentChange(name="Mine")),
        lambda: app.agents.delete("other", "agt_a"),
        lambda: app.users.get("other", "usr_ann"),
        lambda: app.users.change("other", "usr_ann", UserChange(name="Mine")),
        lambda: app.lines.get("other", LINE),
        lambda: app.lines.change("other", LINE, LineChange(agent_id="agt_b")),
        lambda: app.lines.delete("other", LINE),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound):
            attempt()
    for listing in (app.agents.list("other"), app.users.list("other"), app.lines.list("other")):
        assert listing.items == ()
    assert app.lines.get(TENANT, LINE).agent_id == "agt_a"


# ---------------------------------------------------------------------- people


def test_a_person_may_be_made_with_the_id_of_their_sign_in() -> None:
    world = World()
    user = new_user(world, id="auth0|42", profile={"plan": "pro", "level": 1.5})
    assert world.app.users.get(TENANT, "auth0|42") == user
    with pytest.raises(Conflict):
        new_user(world, id="auth0|42")


def test_numbers_lead_to_their_person() -> None:
    world = World()
    ann = new_user(world, "+1 (500) 555-0101", ANNS)
    assert ann.phones == (ANNS,)
    assert owner(world, ANNS) == ann.id


def test_a_number_belongs_to_one_person() -> None:
    world = World()
    ann = new_user(world, ANNS)
    with pytest.raises(Conflict) as refused:
        new_user(world, BENS, ANNS, name="Ben", id="usr_ben")
    assert refused.value.details == {"phones": [ANNS]}
    assert owner(world, BENS) is None
    with pytest.raises(NotFound):
        world.app.users.get(TENANT, "usr_ben")

    ben = new_user(world, BENS)
    with pytest.raises(Unprocessable, match="code"):
        world.app.users.change(TENANT, ben.id, UserChange(phones=(BENS, ANNS)))
    assert owner(world, ANNS) == ann.id


def test_two_tenants_may_register_the_same_number() -> None:
    world = World()
    new_user(world, ANNS)
    world.app.users.create("other", NewUser(name="Ann", phones=(ANNS,)))


def test_operator_removes_numbers_and_adds_none_without_a_code() -> None:
    world = World()
    ann, ben = new_user(world, ANNS), new_user(world, BENS)
    world.app.users.change(TENANT, ann.id, UserChange(phones=()))
    assert owner(world, ANNS) is None
    with pytest.raises(Unprocessable, match="code"):
        world.app.users.change(TENANT, ben.id, UserChange(phones=(BENS, ANNS)))
    assert link_number(world, ben.id, ANNS).phones == (BENS, ANNS)
    after = world.app.users.change(TENANT, ben.id, UserChange(phones=(ANNS,)))
    assert after.phones == (ANNS,)
    assert (owner(world, ANNS), owner(world, BENS)) == (ben.id, None)


def test_two_changes_of_a_person_at_once_lose_neither() -> None:
    world = World()
    ann = new_user(world, ANNS, BENS)
    users = world.app.users
    write_in_between(
        world, "transact", lambda: users.change(TENANT, ann.id, UserChange(phones=(BENS,)))
    )
    users.change(TENANT, ann.id, UserChange(profile={"goal": "5k"}))
    after = users.get(TENANT, ann.id)
    assert (after.phones, after.profile, after.version) == ((BENS,), {"goal": "5k"}, 3)


def test_a_time_zone_can_be_taken_away() -> None:
    world = World()
    ann = new_user(world, time_zone="Asia/Amman")
    assert world.app.users.change(TENANT, ann.id, UserChange(time_zone=None)).time_zone is None


def test_person_without_a_record_has_the_claims_of_the_token_and_nothing_is_written() -> None:
    world = World()
    assert world.app.users.me(TENANT, person()).name == "Husam"
    assert world.app.users.list(TENANT).items == ()


# ---------------------------------------------------------------------- lines


def test_a_line_needs_an_agent_of_the_tenant() -> None:
    world = World()
    world.agent("agt_gone", deleted_at=world.clock.now())
    world.agent()
    world.assign(OTHER_LINE, tenant="other")
    for tenant, phone, agent_id in [
        (TENANT, LINE, "agt_unknown"),
        (TENANT, LINE, "agt_gone"),
        ("other", OTHER_LINE, "agt_a"),
    ]:
        with pytest.raises(Unprocessable, match="agent not found"):
            world.app.lines.create(tenant, NewLine(phone=phone, agent_id=agent_id))
    line = world.app.lines.create(TENANT, NewLine(phone=LINE, agent_id="agt_a"))
    assert world.app.lines.list(TENANT).items == (line,)
    with pytest.raises(Unprocessable):
        world.app.lines.change(TENANT, LINE, LineChange(agent_id="agt_gone"))


def test_a_number_is_one_tenants_line() -> None:
    world = World()
    world.agent()
    world.line()
    with pytest.raises(Conflict, match="already a line"):
        world.app.lines.create(TENANT, NewLine(phone=LINE, agent_id="agt_a"))


def refusal(
    world: World, tenant: str, phone: str = LINE, channels: tuple[str, ...] = ("sms",)
) -> str:
    """Why a tenant cannot make a number its line."""
    agent = world.app.agents.create(tenant, NewAgent(name="Theirs"))
    with pytest.raises(Rejected) as refused:
        world.app.lines.create(tenant, NewLine(phone=phone, agent_id=agent.id, channels=channels))
    assert refused.value.details == {}
    return f"{refused.value.status} {refused.value.message}"


def test_line_of_another_tenant_is_refused_as_a_number_that_nobody_has() -> None:
    world = World()
    world.agent()
    nobodys = refusal(world, "other", OTHER_LINE)
    assert refusal(world, "other") == nobodys  # assigned to another tenant
    world.line()
    assert refusal(world, "other") == nobodys  # a line of another tenant
    world.app.lines.delete(TENANT, LINE)
    assert refusal(world, "other") == nobodys  # reserved for another tenant
    assert nobodys == "422 this phone number is not assigned to the tenant"


def test_number_that_the_account_does_not_have_is_no_line() -> None:
    world = World()
    world.sms.foreign.add(LINE)
    assert "the account at the SMS provider" in refusal(world, TENANT)
    world.sms.foreign.clear()
    world.sms.plan_find(Unavailable("Twilio is down"))
    world.agent()
    with pytest.raises(Unavailable):
        world.app.lines.create(TENANT, NewLine(phone=LINE, agent_id="agt_a"))


def test_line_gets_only_channels_on_which_the_account_sends() -> None:
    world = World()
    world.agent()
    world.sms.unregistered.add(LINE)
    new = NewLine(phone=LINE, agent_id="agt_a")
    assert "for WhatsApp" in refusal(world, TENANT, LINE, ("sms", "whatsapp"))
    assert world.app.lines.create(TENANT, new).channels == ("sms",)
    change = LineChange(channels=("whatsapp", "whatsapp"))
    with pytest.raises(Unprocessable, match="for WhatsApp"):
        world.app.lines.change(TENANT, LINE, change)
    world.sms.unregistered.clear()
    assert world.app.lines.change(TENANT, LINE, change).channels == ("whatsapp",)
    assert world.app.lines.change(TENANT, LINE, LineChange()).channels == ("whatsapp",)


def test_phone_of_a_person_is_no_line() -> None:
    world = World()
    new_user(world, ANNS)
    world.assign(ANNS)
    assert refusal(world, TENANT, ANNS) == "409 this phone number belongs to a person"


def test_number_of_a_deleted_line_is_reserved_for_30_days() -> None:
    world = World()
    world.agent()
    numbers = world.app.get(AssignedNumbers)
    world.app.lines.create(TENANT, NewLine(phone=LINE, agent_id="agt_a"))
    with pytest.raises(Conflict):
        numbers.assign("other", LINE)
    world.app.lines.delete(TENANT, LINE)
    world.clock.advance(29 * 86_400)
    with pytest.raises(Conflict):
        numbers.assign("other", LINE)
    world.app.lines.create(TENANT, NewLine(phone=LINE, agent_id="agt_a"))
    world.app.lines.delete(TENANT, LINE)
    world.assign(LINE, tenant="other")  # by an owner who did so before
    assert refusal(world, "other").endswith("is not assigned to the tenant")
    world.clock.advance(30 * 86_400)
    assert numbers.assign("other", LINE).tenant == "other"
    theirs = world.app.agents.create("other", NewAgent(name="Theirs"))
    line = world.app.lines.create("other", NewLine(phone=LINE, agent_id=theirs.id))
    assert line.tenant == "other"


def test_unassigned_number_goes_to_the_first_tenant_on_the_local_stack_only() -> None:
    world = World(settings=Settings(local=True))
    world.agent()
    world.assign(LINE, tenant="other")
    assert refusal(world, TENANT).endswith("is not assigned to the tenant")
    world.app.lines.create(TENANT, NewLine(phone=OTHER_LINE, agent_id="agt_a"))
    assert refusal(world, "other", OTHER_LINE).endswith("is not assigned to the tenant")
    assert refusal(World(), TENANT, OTHER_LINE).endswith("is not assigned to the tenant")


def test_line_is_reassigned_to_another_agent_and_deleted() -> None:
    world = World()
    world.agent()
    world.agent("agt_b", "Designer")
    world.line()
    lines = world.app.lines
    change = LineChange(agent_id="agt_b", settings=ChatOverridesChange(apology=False))
    changed = lines.change(TENANT, LINE, change)
    assert lines.get(TENANT, LINE) == changed
    saying = {"apology": False}
    assert (changed.agent_id, changed.settings, changed.version) == ("agt_b", saying, 2)
    lines.delete(TENANT, LINE)
    with pytest.raises(NotFound):
        lines.get(TENANT, LINE)
    assert lines.list(TENANT).items == ()
