"""The template as the local stack reads it."""

from pathlib import Path

import pytest

from local.errors import BadTemplateError
from local.template import Template

TEMPLATE = """
AWSTemplateFormatVersion: 2010-09-09
Parameters:
  Stage: {Type: String, Default: dev}
  Most: {Type: Number, Default: 7}
Mappings:
  Sizes: {dev: {Runs: 2}, prod: {Runs: 50}}
Conditions:
  IsDev: !Equals [!Ref Stage, dev]
  IsLive: !Not [!Condition IsDev]
Globals:
  Function:
    CodeUri: functions/
    Timeout: 29
    Environment: {Variables: {COMMON: !Ref Jobs}}
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties: {Auth: {DefaultAuthorizer: Jwt}}
  Jobs:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
      DelaySeconds: 5
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 4}
  Dead:
    Type: AWS::SQS::Queue
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Handler: worker.handler
      MemorySize: 512
      Environment:
        Variables:
          OWN: !Sub "${Stage}-${Jobs.Arn}-${!literal}"
          LIVE: !If [IsLive, "yes", !Join ["-", [n, o]]]
      Events:
        Get:
          Type: HttpApi
          Properties: {Path: "/things/{id}", Method: get, ApiId: !Ref Api}
        Open:
          Type: HttpApi
          Properties: {Path: /open, Method: post, ApiId: !Ref Api, Auth: {Authorizer: NONE}}
        Work:
          Type: SQS
          Properties:
            Queue: !GetAtt Jobs.Arn
            BatchSize: 3
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: !Ref Most}
        Daily:
          Type: Schedule
          Properties: {Schedule: rate(1 day)}
"""


@pytest.fixture
def template(tmp_path: Path) -> Template:
    path = tmp_path / "template.yaml"
    path.write_text(TEMPLATE)
    return Template.load(path)


def test_functions_come_with_everything_that_calls_them(template: Template, tmp_path: Path) -> None:
    (worker,) = template.functions
    assert (worker.handler, worker.timeout, worker.memory) == ("worker.handler", 29, 512)
    assert worker.code == tmp_path / "functions"
    routes = [(route.method, route.path, route.authorized) for route in worker.routes]
    assert routes == [("GET", "/things/{id}", True), ("POST", "/open", False)]
    (source,) = worker.queues
    assert (source.queue, source.batch_size, source.partial_failures) == ("Jobs", 3, True)
    assert source.concurrency == 7
    assert [schedule.expression for schedule in worker.schedules] == ["rate(1 day)"]


def test_queues_come_with_their_times_and_dead_letters(template: Template) -> None:
    jobs, dead = template.queues
    assert (jobs.visibility, jobs.delay) == (60, 5)
    assert (jobs.dead_letters, jobs.max_receives) == ("Dead", 4)
    assert (dead.dead_letters, dead.max_receives) == (None, None)


def test_references_of_the_template_are_resolved(template: Template) -> None:
    names = {"Jobs": "http://queue", "Jobs.Arn": "arn:jobs"}
    effective_settings = template.resolve(dict(template.functions[0].environment), names)
    assert effective_settings == {
        "COMMON": "http://queue",
        "OWN": "dev-arn:jobs-${literal}",
        "LIVE": "n-o",
    }


def test_a_reference_to_nothing_here_is_an_error(template: Template) -> None:
    with pytest.raises(BadTemplateError, match="Jobs"):
        template.resolve({"Ref": "Jobs"}, {})


def test_a_missing_template_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadTemplateError):
        Template.load(tmp_path / "template.yaml")


@pytest.mark.parametrize(("stage", "runs"), [("dev", 2), ("prod", 50)])
def test_value_of_a_mapping_is_that_of_the_parameter(
    template: Template, stage: str, runs: int
) -> None:
    value = {"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "Runs"]}
    assert template.resolve(value, {"Stage": stage}) == runs


def test_part_of_a_text_is_selected(template: Template) -> None:
    value = {"Fn::Select": [1, {"Fn::Split": ["|", {"Ref": "Stage"}]}]}
    assert template.resolve(value, {"Stage": "a|b|"}) == "b"
