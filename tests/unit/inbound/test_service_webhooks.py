"""Services are registered, and heard when they sign what they say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.errors import Forbidden, Invalid, NotFound, Unprocessable
from skein.inbound.api import NewService, ServiceChange
from skein.inbound.service_webhooks import compact_json
from skein.inbound.webhook_signature import WINDOW, sign
from skein.models.common.storage import Query
from skein.models.directory.webhook_service import WebhookService
from skein.models.runs.run import Run, live_key
from tests.support.builders import NOON, TENANT, World, bot, person, statuses

BODY = b'{"issue": "PROJ-123", "newStatus": "done"}'
SENT_AT = int(NOON.timestamp())
LONGEST = int(WINDOW.total_seconds())


@pytest.fixture
def world() -> World:
    world = World()
    world.agent("agt_a")
    world.agent("agt_b")
    return world


def jira(world: World, *agent_ids: str) -> WebhookService:
    new = NewService(name="jira-webhook", agent_ids=agent_ids or ("agt_a",))
    return world.app.webhook_services.create(TENANT, new)


def deliver(
    world: World, source: WebhookService, body: bytes = BODY, sent_at: int = SENT_AT
) -> tuple[str, ...]:
    header = f"t={sent_at},v1={sign(source.secret, str(sent_at), body)}"
    return world.app.webhook_services.receive(source.id, body, header)


def started_runs(world: World, agent_id: str = "agt_a") -> list[Run]:
    page = world.table.query(Query.under(f"{TENANT}#AGENT#{agent_id}", "RUN#"))
    return [Run.from_item(item) for item in page.items if "#STEP#" not in item["sk"]]


# ---------------------------------------------------------------------- registered


def test_each_service_has_a_secret_of_its_own(world: World) -> None:
    one, other = jira(world), jira(world)
    assert one.secret != other.secret
    assert len(one.secret) == 64
    assert one.secret not in repr(one)


def test_secret_is_neither_stored_nor_read_again(world: World) -> None:
    source = jira(world)
    rotated = world.app.webhook_services.rotate(TENANT, source.id)
    stored = repr(world.table.all_items())
    assert rotated.nonce in stored
    assert source.secret not in stored
    assert rotated.secret not in stored
    assert world.app.webhook_services.get(TENANT, source.id).secret == ""


def test_agents_are_named_once_and_must_be_there(world: World) -> None:
    assert jira(world, "agt_b", "agt_a", "agt_b").agent_ids == ("agt_b", "agt_a")
    world.agent("agt_gone", deleted_at=NOON)
    source = jira(world)
    for agent_id in ("agt_none", "agt_gone"):
        change = ServiceChange(agent_ids=(agent_id,))
        with pytest.raises(Unprocessable, match="agent not found"):
            jira(world, "agt_a", agent_id)
        with pytest.raises(Unprocessable, match="agent not found"):
            world.app.webhook_services.change(TENANT, source.id, change)


def test_a_service_is_changed_and_let_go(world: World) -> None:
    source = jira(world)
    sources = world.app.webhook_services
    changed = sources.change(TENANT, source.id, ServiceChange(name="Jira", agent_ids=("agt_b",)))
    assert changed == sources.get(TENANT, source.id)
    assert (changed.name, changed.agent_ids, changed.nonce) == ("Jira", ("agt_b",), source.nonce)
    assert sources.change(TENANT, source.id, ServiceChange()) == changed
    assert sources.list(TENANT).items == (changed,)
    sources.delete(TENANT, source.id)
    assert sources.list(TENANT).items == ()
    with pytest.raises(NotFound):
        sources.get(TENANT, source.id)
    with pytest.raises(Forbidden):
        deliver(world, source)


def test_a_service_is_its_tenants_alone(world: World) -> None:
    source = jira(world)
    sources = world.app.webhook_services
    assert sources.list("globex").items == ()
    with pytest.raises(NotFound):
        sources.get("globex", source.id)
    with pytest.raises(NotFound):
        sources.rotate("globex", source.id)
    with pytest.raises(NotFound):
        sources.delete("globex", source.id)
    assert sources.get(TENANT, source.id).nonce == source.nonce


def test_after_a_new_secret_the_old_one_counts_no_more(world: World) -> None:
    source = jira(world)
    renewed = world.app.webhook_services.rotate(TENANT, source.id)
    with pytest.raises(Forbidden):
        deliver(world, source)
    assert len(deliver(world, renewed)) == 1


# ---------------------------------------------------------------------- heard


def test_webhook_starts_one_run_per_agent_with_its_payload(world: World) -> None:
    source = jira(world, "agt_a", "agt_b")
    run_ids = deliver(world, source)
    runs = [*started_runs(world, "agt_a"), *started_runs(world, "agt_b")]
    assert {run.id for run in runs} == set(run_ids)
    assert statuses(runs) == ["queued", "queued"]
    for run in runs:
        assert run.trigger.service is not None
        assert (run.trigger.type, run.trigger.service.name) == ("service", "jira-webhook")
        assert run.trigger.service.payload == '{"issue":"PROJ-123","newStatus":"done"}'
        assert (run.chat_id, run.audience.open, run.chain_depth) == (None, True, 0)
        assert world.table.get(live_key(run)) is not None
    assert len(world.queues.waiting("turns")) == 2


def test_a_run_that_has_ended_is_no_longer_pointed_at(world: World) -> None:
    deliver(world, jira(world))
    [run] = started_runs(world)
    world.drain()
    [ended] = started_runs(world)
    assert (ended.id, ended.status) == (run.id, "done")
    assert world.table.get(live_key(run)) is None


def test_a_replayed_delivery_starts_nothing(world: World) -> None:
    source = jira(world, "agt_a", "agt_b")
    assert deliver(world, source) == deliver(world, source)
    assert len(started_runs(world)) == 1
    assert len(world.queues.sent) == 2


def test_the_same_words_at_another_time_are_another_delivery(world: World) -> None:
    source = jira(world)
    deliver(world, source)
    deliver(world, source, sent_at=SENT_AT + 1)
    assert len(started_runs(world)) == 2


def test_unsent_jobs_of_a_webhook_are_due_later(world: World) -> None:
    deliver(world, jira(world))
    world.queues.ready("turns")
    world.clock.advance(61)
    assert world.tick() == 1


def test_agents_that_are_gone_are_passed_over(world: World) -> None:
    source = jira(world, "agt_a", "agt_b")
    world.app.agents.delete(TENANT, "agt_a")
    [run_id] = deliver(world, source)
    assert run_id.endswith("_agt_b")
    world.app.agents.delete(TENANT, "agt_b")
    assert deliver(world, source, sent_at=SENT_AT + 1) == ()


@pytest.mark.parametrize("seconds", [-LONGEST, -1, 0, LONGEST - 1, LONGEST])
def test_a_delivery_may_be_a_window_old_or_early(world: World, seconds: int) -> None:
    assert deliver(world, jira(world), sent_at=SENT_AT + seconds)


@pytest.mark.parametrize("seconds", [-LONGEST - 1, LONGEST + 1, -86_400])
def test_delivery_outside_the_time_window_is_refused(world: World, seconds: int) -> None:
    with pytest.raises(Forbidden):
        deliver(world, jira(world), sent_at=SENT_AT + seconds)
    assert started_runs(world) == []


# ---------------------------------------------------------------------- compact

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_compact_json_preserves_the_value(
    value: object, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    compact = compact_json(text.encode())
    assert json.loads(compact) == value
    assert compact == json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only)


def test_numbers_and_escapes_stay_as_they_came() -> None:
    body = rb' { "n" : 1.10e+2, "big" : 12345678901234567890.10 , "t" : "a \" b  \u2028 \\" } '
    assert compact_json(body) == (
        r'{"n":1.10e+2,"big":12345678901234567890.10,"t":"a \" b  \u2028 \\"}'
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"{",
        b"{} {}",
        b"NaN",
        b"[Infinity]",
        b"{'a': 1}",
        b'"\xff"',
        b'"a\nb"',
        b"issue=1",
        b"\xef\xbb\xbf{}",
        b"[" * 10_000 + b"]" * 10_000,
        "[1]".encode("utf-16"),
    ],
)
def test_webhook_without_json_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        compact_json(body)


# ---------------------------------------------------------------------- a named chat

ANN = person("usr_ann", "Ann")
NAMES_CHAT = b'{"chat_id": "chat_1", "steps": 4000}'


def test_run_belongs_to_chat_that_payload_names(world: World) -> None:
    world.chat(ANN, bot("agt_a"), kind="direct", visibility="private")
    deliver(world, jira(world, "agt_a", "agt_b"), NAMES_CHAT)
    [member], [stranger] = started_runs(world, "agt_a"), started_runs(world, "agt_b")
    assert (member.chat_id, member.own_chat_id) == (None, "chat_1")
    assert (member.audience.people, member.scope) == ((ANN.id,), "user:usr_ann")
    assert (stranger.own_chat_id, stranger.audience.open) == (None, True)


def test_service_run_with_chat_sees_its_history_and_answers_there(world: World) -> None:
    world.chat(ANN, bot("agt_a"), kind="direct", visibility="private")
    world.post("I walk a lot", ANN)
    world.drain()
    deliver(world, jira(world), NAMES_CHAT)
    world.model.script.append("4,000 steps already!")
    world.drain()
    prompt = "".join(message.content for message in world.model.requests[-1].messages)
    assert "I walk a lot" in prompt
    assert "jira-webhook" in prompt
    assert world.texts()[-1] == "4,000 steps already!"


def test_service_run_for_discarded_chat_has_no_chat(world: World) -> None:
    world.chat(ANN, bot("agt_a"), kind="direct", visibility="private")
    world.app.chat_admin.discard(TENANT, "chat_1", ANN.ref)
    deliver(world, jira(world), NAMES_CHAT)
    [run] = started_runs(world)
    assert (run.own_chat_id, run.audience.open) == (None, True)


def test_chat_id_that_is_no_chat_starts_run_without_chat(world: World) -> None:
    deliver(world, jira(world), NAMES_CHAT)
    [run] = started_runs(world)
    assert run.own_chat_id is None
