"""Permissions of functions: read from the template, and enforced on this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from local.errors import BadTemplateError
from local.permissions import (
    AccessDeniedError,
    Permission,
    Permissions,
    PermittedQueues,
    PermittedSecrets,
    PermittedSockets,
    PermittedTable,
    denials_of,
    permissions_of,
)
from local.template import Template
from skein.models.common.storage import Delete, Key, Put, Query, Update
from skein.models.outbox.jobs import (
    ConsolidationJob,
    DeliveryJob,
    ErasureJob,
    EventJob,
    Job,
    LiveEvent,
    PushJob,
    RecallJob,
    ReflectionJob,
    RunJob,
    SummaryJob,
    UpkeepJob,
)
from tests.fakes.sms import MemorySecrets
from tests.fakes.sockets import FakeSockets
from tests.fakes.system import FixedClock, MemoryQueues
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT, World, person
from tests.support.template import deployed_template, running, worker_of

DEPLOYED = Permissions.of(deployed_template())
KEY = Key("acme#CHAT#1", "META")

WITH_ROLES = """
Parameters:
  Extra: {Type: String, Default: "no"}
Conditions:
  HasExtra: !Equals [!Ref Extra, "yes"]
Resources:
  Feed:
    Type: AWS::Serverless::Function
    Properties: {Handler: feed.handler, Role: !GetAtt FeedRole.Arn}
  FeedRole:
    Type: AWS::IAM::Role
    Properties:
      ManagedPolicyArns: [!Ref Shared, !If [HasExtra, !Ref Unknown, !Ref AWS::NoValue]]
      Policies:
        - PolicyDocument:
            Statement:
              - Effect: Allow
                Action: dynamodb:Query
                Resource: !Sub ${Table.Arn}/index/gsi1
              - {Effect: Deny, Action: "dynamodb:*", Resource: !GetAtt Other.Arn}
  Shared:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument:
        Statement:
          - {Effect: Allow, Action: [sqs:SendMessage], Resource: [!GetAtt Jobs.Arn]}
  Other:
    Type: AWS::Serverless::Function
    Properties: {Handler: other.handler, Role: !GetAtt OtherRole.Arn}
  OtherRole:
    Type: AWS::IAM::Role
    Properties: {ManagedPolicyArns: [AWSLambdaVPCAccessExecutionRole]}
  Roleless:
    Type: AWS::Serverless::Function
    Properties: {Handler: roleless.handler}
"""


@pytest.fixture
def template(tmp_path: Path) -> Template:
    path = tmp_path / "template.yaml"
    path.write_text(WITH_ROLES, encoding="utf-8")
    return Template.load(path)


def test_permissions_of_a_function_are_those_of_its_role(template: Template) -> None:
    assert permissions_of(template, "Feed") == {
        Permission("sqs:SendMessage", "Jobs"),
        Permission("dynamodb:Query", "Table/gsi1"),
    }
    assert [denied["Action"] for denied in denials_of(template, "Feed")] == ["dynamodb:*"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("Other", "AWSLambdaVPCAccessExecutionRole"), ("Roleless", "Roleless has no role")],
)
def test_permissions_that_the_template_does_not_show_are_an_error(
    template: Template, name: str, message: str
) -> None:
    with pytest.raises(BadTemplateError, match=message):
        permissions_of(template, name)


def test_call_that_the_role_allows_is_made() -> None:
    table = PermittedTable(MemoryTable(FixedClock(NOON)), DEPLOYED)
    with running("RunWorker"):
        table.write(Put(KEY, {"a": 1}))
        table.transact([Update(KEY, set={"a": 2})])
        assert table.get(KEY) == {"pk": KEY.pk, "sk": KEY.sk, "a": 2}
        assert list(table.get_many([KEY])) == [KEY]
        assert len(table.query(Query(KEY.pk)).items) == 1
        table.write(Delete(KEY))


def test_call_that_the_role_does_not_allow_is_refused_and_has_no_effect() -> None:
    memory = MemoryTable(FixedClock(NOON))
    memory.write(Put(KEY, {"a": 1}))
    table = PermittedTable(memory, DEPLOYED)
    with running("SmsStatus"):
        with pytest.raises(AccessDeniedError, match="SmsStatus may not call dynamodb:DeleteItem"):
            table.transact([Update(KEY, set={"a": 2}), Delete(KEY)])
        with pytest.raises(AccessDeniedError, match="dynamodb:Query on Table/gsi1"):
            table.query(Query(KEY.pk, index="gsi1", limit=1))
    assert memory.get(KEY) == {"pk": KEY.pk, "sk": KEY.sk, "a": 1}


def test_function_without_a_permission_reads_no_secret_and_sends_no_frame() -> None:
    kept = {"mine": {"key": "1"}, "theirs": {"key": "2"}}
    names = {"mine": "ServicesSecret", "theirs": "TwilioSecretArn"}
    secrets = PermittedSecrets(MemorySecrets(kept), DEPLOYED, names)
    sockets = PermittedSockets(FakeSockets(), DEPLOYED)
    with running("RunWorker"):
        sockets.push("c1", "hi")
    with running("ServiceWebhook"):
        assert secrets.get("mine") == {"key": "1"}
        with pytest.raises(AccessDeniedError, match="GetSecretValue on TwilioSecretArn"):
            secrets.get("theirs")
        with pytest.raises(AccessDeniedError, match="execute-api:ManageConnections"):
            sockets.push("c1", "hi")
        with pytest.raises(AccessDeniedError, match="execute-api:ManageConnections"):
            sockets.close("c1")


def test_job_for_another_queue_than_the_role_allows_is_refused() -> None:
    queues = PermittedQueues(MemoryQueues(FixedClock(NOON)), DEPLOYED)
    with running("ServiceWebhook"):
        queues.send([RunJob(tenant=TENANT, run_id="run_1", agent_id="agt_a")])
        with pytest.raises(AccessDeniedError, match="sqs:SendMessage on UpkeepQueue"):
            queues.send([SummaryJob(tenant=TENANT, chat_id="chat_1")])


def test_calls_outside_of_an_invocation_are_allowed() -> None:
    table = PermittedTable(MemoryTable(FixedClock(NOON)), DEPLOYED)
    assert table.query(Query(KEY.pk, index="gsi2", limit=1)).items == ()


CHAT = {"tenant": TENANT, "chat_id": "chat_1"}


@pytest.mark.parametrize(
    "job",
    [
        RunJob(tenant=TENANT, run_id=f"run_{0:026}_chat_1", agent_id="agt_a"),
        DeliveryJob(**CHAT, delivery_id="dlv_1"),
        UpkeepJob(**CHAT),
        SummaryJob(**CHAT),
        ConsolidationJob(**CHAT),
        ReflectionJob(tenant=TENANT, agent_id="agt_a"),
        ErasureJob(tenant=TENANT, erasure_id="era_1"),
        RecallJob(**CHAT),
        EventJob(tenant=TENANT, endpoint_id="evp_1", lane="chat_1"),
        PushJob(**CHAT, events=(LiveEvent(type="resync"),)),
    ],
    ids=lambda job: job.queue,
)
def test_job_in_a_world_is_played_with_the_role_of_its_worker(job: Job) -> None:
    nothing = replace(DEPLOYED, allowed={})
    table = PermittedTable(MemoryTable(FixedClock(NOON)), nothing)
    world = World(overrides={"table": table})
    with pytest.raises(AccessDeniedError, match=worker_of(job.queue)):
        world.handle(job)


def test_people_in_a_world_post_with_the_role_of_the_api() -> None:
    table = PermittedTable(MemoryTable(FixedClock(NOON)), replace(DEPLOYED, allowed={}))
    with pytest.raises(AccessDeniedError, match="MobileApi"):
        World(overrides={"table": table}).post("Hello", person())
