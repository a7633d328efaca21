"""What agents own, and what operators see."""

from skein.agent.replay import Replays
from skein.memory.search import MemorySearch
from skein.models.api.directory import AgentChange, NewAgent, NewLine, NewUser, UserChange
from skein.models.config.overrides import StackOverridesChange, TenantOverridesChange
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import TokenUsage
from skein.models.visibility.ownership import Owner, Reach
from skein.planning.firing import Firing
from skein.privacy.audit_log import AuditedAction
from skein.services.chats.message_reasons import ReasonViews
from skein.services.config.stack_settings import StackSettingsService
from skein.services.outbox.backlogs import Backlogs
from skein.services.quotas.usage_reports import UsageReports
from skein.services.runs.current_work import WorkOverviews
from skein.services.runs.queries import OwnRuns
from skein.services.runs.tool_warnings import ToolWarnings
from skein.trials.api import Candidate, NewCase, NewTrial
from skein.trials.models.case import Script
from skein.trials.models.expectation import Expectation
from skein.trials.models.trial import Trial
from skein.trials.records import CaseOwner, Cases
from skein.trials.trials import Trials
from skein.workspace.document_edits import Revision
from skein.workspace.models.document import DocumentReach, Folder
from skein.workspace.models.skill import SkillHead
from tests.patterns.chats import on_a_line, text_message
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import HUSAM, claimed, direct, group, threaded
from tests.support.builders import LINE, PHONE, TENANT, World
from tests.support.number_codes import prove
from tests.support.routes import sms_route
from tests.support.sms import Texting

OWNER = Owner(tenant=TENANT, agent_id="agt_a")
REACH = Reach(tenant=TENANT, agent_id="agt_a")
FOLDER = Folder(tenant=TENANT, agent_id="agt_a")
DOCUMENTS = DocumentReach(folders=(FOLDER,))

ACTION = AuditedAction(
    who="usr_op", scope="support", verb="read", kind="agent", route="GET /v1/agents"
)

patterns = Patterns()


@patterns.named("set a goal")
def _set_goal(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.goals.set(OWNER, "Win")


@patterns.named("end a goal")
def _end_goal(meter: Meter) -> None:
    world = group()
    goal = world.app.goals.set(OWNER, "Win")
    with meter(world):
        world.app.goals.end(REACH, goal.id, "completed")


@patterns.named("save a memory")
def _remember(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.memories.add(OWNER, "We win", "core", made_by="tool")


@patterns.named("delete or restore a memory")
def _forget(meter: Meter) -> None:
    world = group()
    memory = world.app.memories.add(OWNER, "We win", "core", made_by="tool").memory
    with meter(world):
        world.app.memories.forget(REACH, memory.id)


@patterns.named("search memories")
def _search(meter: Meter) -> None:
    world = group()
    world.app.memories.add(OWNER, "We win", "core", made_by="tool")
    with meter(world):
        world.app.get(MemorySearch).search(REACH, "win", limit=10)


@patterns.named("list memories")
def _memories(meter: Meter) -> None:
    world = group()
    world.app.memories.add(OWNER, "We win", "core", made_by="tool")
    with meter(world):
        world.app.memories.list(REACH)


@patterns.named("set a plan")
def _set_plan(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.plans.set(OWNER, "report", "Report.", run_after="1 hour")


@patterns.named("cancel a plan")
def _cancel_plan(meter: Meter) -> None:
    world = group()
    world.app.plans.set(OWNER, "report", "Report.", run_after="1 hour")
    with meter(world):
        world.app.plans.cancel(REACH, "report")


@patterns.named("fire a plan")
def _fire(meter: Meter) -> None:
    world = group()
    plan = world.app.plans.set(OWNER, "report", "Report.", run_after="1 hour")
    world.clock.advance(3600)
    item = world.table.get(plan.key)
    assert item is not None
    with meter(world):
        firing = Firing(table=world.table, metrics=world.metrics, settings=world.settings)
        firing.fire(item, world.clock.now())


@patterns.named("fire a plan of a chat")
def _fire_in_chat(meter: Meter) -> None:
    _fire_in(meter, group())


@patterns.named("fire a plan of a direct chat")
def _fire_in_direct_chat(meter: Meter) -> None:
    _fire_in(meter, direct())


def _fire_in(meter: Meter, world: World) -> None:
    owner = OWNER.model_copy(update={"source_chat_id": "chat_1"})
    plan = world.app.plans.set(owner, "report", "Report.", run_after="1 hour")
    world.clock.advance(3600)
    item = world.table.get(plan.key)
    assert item is not None
    with meter(world):
        firing = Firing(table=world.table, metrics=world.metrics, settings=world.settings)
        assert firing.fire(item, world.clock.now()) is not None


@patterns.named("list an agent's newest runs, as its tool does")
def _own_runs(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    own = OwnRuns(table=world.table, clock=world.clock)
    with meter(world):
        own.newest(TENANT, "agt_a", here=None, readers=claim.run.audience, status=None, limit=10)


@patterns.named("read a tenant's settings")
def _settings_read(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.tenant_settings.get(TENANT)


@patterns.named("change a tenant's settings")
def _settings_change(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.tenant_settings.change(TENANT, TenantOverridesChange(apology=False))


@patterns.named("change the stack's settings")
def _stack_settings_change(meter: Meter) -> None:
    world = group()
    book = StackSettingsService(table=world.table, clock=world.clock)
    with meter(world):
        book.change(StackOverridesChange(context_enabled=False))


@patterns.named("read an agent, a person, a line or a service")
def _directory_read(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.agents.get(TENANT, "agt_a")


@patterns.named("find a person by phone number")
def _find_by_phone(meter: Meter) -> None:
    world = group()
    world.app.users.create(TENANT, NewUser(name="Ann", phones=(PHONE,)))
    with meter(world):
        assert world.app.users.owner_of(TENANT, PHONE) is not None


@patterns.named("list a person's direct chats")
def _direct_chats(meter: Meter) -> None:
    world = direct()
    with meter(world):
        found = world.app.views.direct_chats(TENANT, HUSAM.id)
    assert len(found.items) == 1


@patterns.named("list a tenant's chats")
def _list_tenant_chats(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.views.tenant_chats(TENANT)


@patterns.named("list an agent's chats")
def _agent_chats(meter: Meter) -> None:
    world = group()
    with meter(world):
        found = world.app.views.agent_chats(TENANT, "agt_a")
    assert len(found.items) == 1


@patterns.named("list agents, people, lines or services")
def _directory_list(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.agents.list(TENANT)


@patterns.named("create an agent")
def _make_agent(meter: Meter) -> None:
    world = threaded()
    with meter(world):
        world.app.agents.create(TENANT, NewAgent(name="Coach"))


@patterns.named("change an agent")
def _change_agent(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.agents.change(TENANT, "agt_a", AgentChange(system_prompt="Be brief."))


@patterns.named("change a listed agent")
def _change_listed_agent(meter: Meter) -> None:
    world = group()
    world.app.agents.change(TENANT, "agt_a", AgentChange(listed=True))
    with meter(world):
        world.app.agents.change(TENANT, "agt_a", AgentChange(description="Coaches people"))


@patterns.named("delete an agent")
def _delete_agent(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.agents.delete(TENANT, "agt_a")


@patterns.named("list the directory")
def _list_directory(meter: Meter) -> None:
    world = group(listed=True)
    with meter(world):
        world.app.agents.directory(TENANT)


@patterns.named("create a person, a line or a service")
def _make_line(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.lines.create(TENANT, NewLine(phone=LINE, agent_id="agt_a", settings={}))


@patterns.named("change a person, a line or a service")
def _change_user(meter: Meter) -> None:
    world = threaded()
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name=HUSAM.name, phones=(PHONE,)))
    with meter(world):
        world.app.users.change(TENANT, HUSAM.id, UserChange(phones=()))


@patterns.named("link a free number")
def _link_free(meter: Meter) -> None:
    world = on_a_line(known=False)
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name=HUSAM.name))
    code = prove(world.table, world.clock, HUSAM.id, PHONE)
    with meter(world):
        world.app.phone_links.link(TENANT, HUSAM.id, PHONE, code=code)


@patterns.named("link a caller's number to a user")
def _link_caller(meter: Meter) -> None:
    world = on_a_line(known=False)
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name=HUSAM.name))
    world.app.sms_receiver.receive(text_message())
    code = prove(world.table, world.clock, HUSAM.id, PHONE)
    with meter(world):
        world.app.phone_links.link(TENANT, HUSAM.id, PHONE, code=code)


@patterns.named("remove a number")
def _unlink(meter: Meter) -> None:
    world = on_a_line(known=False)
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name=HUSAM.name, phones=(PHONE,)))
    world.app.sms_receiver.receive(text_message())
    with meter(world):
        world.app.phone_links.unlink(TENANT, HUSAM.id, PHONE)


@patterns.named("create a document")
def _make_document(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.documents.write(DOCUMENTS, "plan", "One", new_in=FOLDER, pinned=True)


@patterns.named("read a document")
def _read_document(meter: Meter) -> None:
    world = group()
    world.app.documents.write(DOCUMENTS, "plan", "One", new_in=FOLDER)
    with meter(world):
        world.app.documents.get(DOCUMENTS, "plan")


@patterns.named("change or delete a document")
def _change_document(meter: Meter) -> None:
    world = group()
    world.app.documents.write(DOCUMENTS, "plan", "One", new_in=FOLDER)
    with meter(world):
        world.app.documents.revise(DOCUMENTS, "plan", Revision(append="Two"))


@patterns.named("list documents")
def _list_documents(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.documents.list(FOLDER)


@patterns.named("create, change or delete a skill")
def _put_skill(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.skills.put(TENANT, SkillHead(name="rust"), "Borrow.")


@patterns.named("read or list skills")
def _read_skill(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.skills.list(TENANT)


@patterns.named("list goals or plans")
def _list_goals(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.goals.list(REACH)


@patterns.named("read a run with its prompt and steps")
def _read_run(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    world.drain()
    [run] = world.runs()
    with meter(world):
        world.app.run_views.get(TENANT, run.id)


@patterns.named("read a run that is queued")
def _read_queued_run(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    [run] = world.runs()
    with meter(world):
        world.app.run_views.get(TENANT, run.id)


@patterns.named("read why a message has no answer")
def _read_reasons(meter: Meter) -> None:
    world = Texting()
    world.post("Hi", HUSAM, route=sms_route(line=LINE, phone=PHONE))
    world.drain()
    [delivery] = world.deliveries()
    with meter(world):
        found = world.app.get(ReasonViews).of_message(TENANT, "chat_1", 1)
    assert [each.id for each in found.deliveries] == [delivery.id]


@patterns.named("list an agent's runs of a day")
def _list_runs(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    with meter(world):
        world.app.run_views.of_agent(TENANT, "agt_a")


@patterns.named("read a tenant's usage of a day")
def _usage_of_day(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.usage.of_day(TENANT)


@patterns.named("list an agent's versions")
def _versions(meter: Meter) -> None:
    world = group()
    world.agent()
    with meter(world):
        world.app.agents.versions(TENANT, "agt_a")


@patterns.named("restore a version of an agent")
def _restore_version(meter: Meter) -> None:
    world = group()
    world.agent()
    world.app.agents.change(TENANT, "agt_a", AgentChange(system_prompt="Be brief."))
    with meter(world):
        world.app.agents.restore(TENANT, "agt_a", 1)


@patterns.named("read a chat as an operator")
def _transcript(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    with meter(world):
        world.app.views.transcript(TENANT, "chat_1")


@patterns.named("count a tenant's waiting work")
def _backlog(meter: Meter) -> None:
    world = group()
    claimed(world)
    with meter(world):
        world.app.get(Backlogs).of_tenant(TENANT)


@patterns.named("find a tenant's current runs")
def _current_work(meter: Meter) -> None:
    world = group()
    claimed(world)
    with meter(world):
        world.app.get(WorkOverviews).of_tenant(TENANT)


@patterns.named("check an agent for unused tools")
def _tool_warnings(meter: Meter) -> None:
    world = group()
    claimed(world)
    agent = world.app.agents.get(TENANT, "agt_a").model_copy(update={"reply_mode": "tools"})
    with meter(world):
        world.app.get(ToolWarnings).of(agent)


@patterns.named("supersede a memory")
def _supersede(meter: Meter) -> None:
    world = group()
    owner = Owner(tenant=TENANT, agent_id="agt_a")
    memory = world.app.memories.add(owner, "Ann runs", "core", made_by="api").memory
    with meter(world):
        world.app.memories.supersede(owner.reach, memory.id, "Ann swims")


@patterns.named("inspect a run")
def _inspect(meter: Meter) -> None:
    world = group()
    run = claimed(world).run
    with meter(world):
        world.app.run_views.inspect(TENANT, run.id)


@patterns.named("replay a run's prompt")
def _replay(meter: Meter) -> None:
    world = group()
    world.agent()
    world.model.script.extend(["[silence]", "Fine"])
    world.post("Hi", HUSAM)
    world.drain()
    [run] = world.runs()
    with meter(world):
        world.app.get(Replays).replay(TENANT, run.id, operator="usr_op")


@patterns.named("keep a run as a case")
def _keep(meter: Meter) -> None:
    world = group("[silence]")
    world.post("Hi", HUSAM)
    world.drain()
    new = NewCase(name="Hi", run_id=world.runs()[0].id, expect=(Expectation(silent=True),))
    with meter(world):
        world.app.get(Cases).create(CaseOwner(TENANT, "agt_a"), new)


@patterns.named("list an agent's cases")
def _cases(meter: Meter) -> None:
    world = group("[silence]")
    world.post("Hi", HUSAM)
    world.drain()
    new = NewCase(name="Hi", run_id=world.runs()[0].id, expect=(Expectation(silent=True),))
    owner = CaseOwner(TENANT, "agt_a")
    world.app.get(Cases).create(owner, new)
    with meter(world):
        world.app.get(Cases).list(owner)


def _trial(world: World) -> Trial:
    """A trial of a script with one case."""
    script = Script.model_validate(
        {"people": [{"name": "Ann"}], "turns": [{"from": "Ann", "text": "Hi"}]}
    )
    owner = CaseOwner(TENANT, "agt_a")
    new = NewCase(name="Hi", script=script, expect=(Expectation(silent=True),))
    world.app.get(Cases).create(owner, new)
    candidate = Candidate(changes=AgentChange.model_validate({"system_prompt": "Be brief."}))
    return world.app.get(Trials).start(owner, NewTrial(candidate=candidate)).trial


@patterns.named("start a trial of one case")
def _start_trial(meter: Meter) -> None:
    world = group()
    world.agent()
    _trial(world)  # the first of a tenant creates the list of those that are running
    with meter(world):
        _trial(world)


@patterns.named("play a script once, for one side of a trial")
def _play_trial(meter: Meter) -> None:
    world = group()
    world.agent()
    job = _trial(world).job
    with meter(world):
        world.handle(job)


@patterns.named("report a tenant's usage")
def _usage_report(meter: Meter) -> None:
    world = group()
    world.app.usage.add(TENANT, TokenUsage(), spread_by="run_1", payer=Payer("agt_a", HUSAM.id))
    with meter(world):
        world.app.get(UsageReports).report(TENANT, "user")


@patterns.named("write an audit entry")
def _audit(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.audit.add(TENANT, ACTION)


@patterns.named("list the audit of a day")
def _list_audit(meter: Meter) -> None:
    world = group()
    world.app.audit.add(TENANT, ACTION)
    with meter(world):
        world.app.audit.of_day(TENANT)


@patterns.named("find people by name")
def _find_people(meter: Meter) -> None:
    world = group()
    world.app.users.create(TENANT, NewUser(id="usr_ann", name="Ann"))
    with meter(world):
        world.app.people_search.find(TENANT, "ann")


@patterns.named("list a tenant's erasures")
def _list_erasures(meter: Meter) -> None:
    world = group()
    world.app.users.create(TENANT, NewUser(id="usr_gone", name="Gone"))
    world.app.erasures.request(TENANT, "usr_gone", by="usr_op")
    with meter(world):
        world.app.erasures.list(TENANT)


@patterns.named("begin a thread")
def _begin_thread(meter: Meter) -> None:
    world = threaded()
    world.app.documents.write(DOCUMENTS, "plan", "One", new_in=FOLDER)
    with meter(world):
        world.app.threads.create(OWNER, {"concern": "Win", "documents": ["plan"]})


@patterns.named("read a thread, or the active one")
def _read_thread(meter: Meter) -> None:
    world = threaded()
    thread = world.app.threads.create(OWNER, {"concern": "Win"})
    with meter(world):
        world.app.threads.get(REACH, thread.id)


@patterns.named("switch, update or end a thread")
def _switch_thread(meter: Meter) -> None:
    world = threaded()
    thread = world.app.threads.create(OWNER, {"concern": "Win"})
    with meter(world):
        world.app.threads.switch(REACH, thread.id)


@patterns.named("list threads")
def _list_threads(meter: Meter) -> None:
    world = threaded()
    world.app.threads.create(OWNER, {"concern": "Win"})
    with meter(world):
        world.app.threads.list(REACH)


@patterns.named("pin a thread to a chat")
def _pin_thread(meter: Meter) -> None:
    world = group()
    thread = world.app.threads.create(OWNER, {"concern": "Win"})
    with meter(world):
        world.app.pins.pin(TENANT, "chat_1", "agt_a", thread.id)


@patterns.named("send a code to a number")
def _send_code(meter: Meter) -> None:
    world = on_a_line(known=False)
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name=HUSAM.name))
    with meter(world):
        world.app.number_codes.request(TENANT, HUSAM.id, PHONE)
