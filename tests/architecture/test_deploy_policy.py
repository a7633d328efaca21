"""The policy of the deploying role covers all that the templates create, and only the stack's."""

import json

import pytest

from local.template import ROOT, Template
from tests.support import deploying_role
from tests.support.each import check_each
from tests.support.template import deployed_template, ops_template
from tools.deployment import policy
from tools.deployment.expansion import expand

NESTED = ("domains", "backups")
ALL_PARTS = {"Edge": "on", "KeyArn": "arn:aws:kms:us-east-1:1:key/1", "TracePercent": "5",
             "Size": "provisioned"}  # fmt: skip


def test_policy_covers_each_type_of_resource_in_all_templates() -> None:
    assert policy.unknown_types(expand(deployed_template(), **ALL_PARTS)) == set()
    nested = [Template.load(ROOT / "deployment" / f"{name}.yaml") for name in NESTED]
    for template in (ops_template(), *nested):
        assert policy.unknown_types(template.document["Resources"]) == set()


def test_role_may_make_all_calls_for_a_type() -> None:
    check_each(deploying_role.CALLS, _check_calls)


def _check_calls(calls: str) -> None:
    found = deploying_role.calls(calls)
    assert not deploying_role.refused(policy.policy(deploying_role.STACK), found)


def test_role_may_make_the_calls_of_make_deploy() -> None:
    found = deploying_role.calls(deploying_role.OTHER_CALLS)
    assert not deploying_role.refused(policy.policy(deploying_role.STACK), found)


def test_calls_are_known_for_each_type_of_all_templates() -> None:
    types = {each["Type"] for each in expand(deployed_template(), **ALL_PARTS).values()}
    for template in (
        ops_template(),
        *(Template.load(ROOT / "deployment" / f"{n}.yaml") for n in NESTED),
    ):
        types |= {each["Type"] for each in template.document["Resources"].values()}
    assert types == set(deploying_role.CALLS)


def test_grant_on_resources_does_not_allow_an_action_that_takes_none() -> None:
    on_mappings = "arn:aws:lambda:*:*:event-source-mapping:*"
    statement = {"Effect": "Allow", "Action": ["lambda:*"], "Resource": [on_mappings]}
    found = deploying_role.calls("lambda:{Create,Get}EventSourceMapping")
    assert deploying_role.refused({"Statement": [statement]}, found) == [
        "lambda:CreateEventSourceMapping on *"
    ]


def test_type_without_a_grant_is_noticed() -> None:
    assert policy.unknown_types({"Stream": {"Type": "AWS::Kinesis::Stream"}}) == {
        "AWS::Kinesis::Stream"
    }


@pytest.mark.parametrize("service", ["dynamodb", "s3", "sqs", "lambda", "iam", "sns", "events"])
def test_policy_reaches_no_resources_of_other_stacks(service: str) -> None:
    statements = policy.policy("skein-staging")["Statement"]
    named = [
        arn
        for each in statements
        if each["Resource"] != "*"
        for arn in each["Resource"]
        if arn.startswith(f"arn:aws:{service}:")
    ]
    own = (
        "skein-staging-",
        "SkeinLayer",
        "aws-sam-cli-managed-default-",
        "aws-service-role",
        "event-source-mapping",
    )
    assert named
    assert all(any(name in arn for name in own) for arn in named)


def test_policy_names_buckets_in_small_letters() -> None:
    resources = [each["Resource"] for each in policy.policy("Skein-Test")["Statement"]]
    assert ["arn:aws:s3:::skein-test-*"] in resources


def test_policy_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert policy.main(["--stack", "skein-staging"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == policy.policy("skein-staging")
    assert len(json.dumps(json.loads(printed), separators=(",", ":"))) < 6_144  # IAM's limit
