"""New versions of the functions: what is published, what is called, and what takes it back."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from tests.support.template import deployed_template
from tools.deployment.expansion import expand

TEMPLATE = deployed_template()
BEHIND_API = [
    function.logical_id
    for function in TEMPLATE.functions
    if function.routes or function == TEMPLATE.authorizer[0]
]
ALL = [function.logical_id for function in TEMPLATE.functions]
VERSION, PERMISSION = "AWS::Lambda::Version", "AWS::Lambda::Permission"
CALLERS = {
    PERMISSION,
    "AWS::Lambda::EventSourceMapping",
    "AWS::Events::Rule",
    "AWS::Scheduler::Schedule",
    "AWS::ApiGatewayV2::Integration",
}


@cache
def resources(**parameters: str) -> Mapping[str, Any]:
    return expand(TEMPLATE, **{"Release": "0123456789abcdef", **parameters})


def versions(**parameters: str) -> set[str]:
    expanded = resources(**parameters)
    return {name for name, each in expanded.items() if each["Type"] == VERSION}


def properties(name: str, **parameters: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = resources(**parameters)[name]["Properties"]
    return found


def test_release_new_one_publishes_a_version_of_each_function() -> None:
    before, after = versions(), versions(Release="fedcba9876543210")
    assert len(before) == len(after) == len(ALL)
    assert not before & after


@pytest.mark.parametrize("name", ALL)
def test_alias_has_the_version_of_the_release(name: str) -> None:
    alias = properties(f"{name}Aliascurrent")
    assert alias["FunctionVersion"] == {"Fn::GetAtt": [f"{name}Version0123456789", "Version"]}
    # Lambda publishes nothing if nothing has changed; SAM puts the release into the description.
    assert properties(name)["Description"].endswith(" 0123456789abcdef")


@pytest.mark.parametrize("name", BEHIND_API)
def test_requests_go_to_the_alias(name: str) -> None:
    api = json.dumps(properties("HttpApi")["Body"])
    uri, authorizer = f"functions/${{{name}Aliascurrent}}/invocations", f"{name}Aliascurrent"
    assert uri in api or json.dumps({"__FunctionArn__": {"Ref": authorizer}}) in api
    assert f"functions/${{{name}.Arn}}/invocations" not in api
    allowed = [
        each["Properties"]["FunctionName"]["Ref"]
        for each in resources().values()
        if each["Type"] == PERMISSION
    ]
    assert f"{name}Aliascurrent" in allowed
    assert name not in allowed


@pytest.mark.parametrize("name", sorted(set(ALL) - set(BEHIND_API)))
def test_events_and_jobs_go_to_the_alias(name: str) -> None:
    """A job would else meet the code of one release with the layer of another."""
    alias = f"{name}Aliascurrent"
    callers = json.dumps([each for each in resources().values() if each["Type"] in CALLERS])
    assert f'"Ref": "{alias}"' in callers or f"${{{alias}}}" in callers
    assert f'"Ref": "{name}"' not in callers
    assert f'"{name}.Arn"' not in callers
    assert f"${{{name}.Arn}}" not in callers


@pytest.mark.parametrize("name", BEHIND_API)
def test_canary_is_rolled_back_by_an_alarm_on_the_errors_of_its_function(name: str) -> None:
    policy = resources()[f"{name}Aliascurrent"]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
    assert policy["DeploymentGroupName"] == {"Ref": f"{name}DeploymentGroup"}
    group = properties(f"{name}DeploymentGroup")
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    assert "Canary10Percent5Minutes" in str(group["DeploymentConfigName"])
    without = {"Ref": "AWS::NoValue"}
    role = {"Fn::GetAtt": ["CanaryRole", "Arn"]}
    assert group["ServiceRoleArn"] == {"Fn::If": ["HasCanaries", role, without]}
    [alarm] = group["AlarmConfiguration"]["Alarms"]
    # tests/architecture/test_expanded_template.py says which metrics it reads.
    assert alarm["Name"] == {"Fn::If": ["HasCanaries", {"Ref": "CanaryAlarm"}, without]}


def test_canaries_off_leave_the_aliases_and_no_code_deploy() -> None:
    off = resources(Canaries="false")
    assert not [name for name, each in off.items() if "CodeDeploy" in each["Type"]]
    assert "UpdatePolicy" not in off[f"{BEHIND_API[0]}Aliascurrent"]
    assert versions(Canaries="false") == versions()


@pytest.mark.parametrize("name", BEHIND_API)
def test_snapstart_is_a_parameter_and_off_by_default(name: str) -> None:
    applied = {"ApplyOn": {"Fn::If": ["HasSnapStart", "PublishedVersions", "None"]}}
    assert properties(name)["SnapStart"] == applied
    assert TEMPLATE.parameters()["SnapStart"] == "off"


def test_snapstart_applies_to_run_worker_and_the_functions_behind_the_api() -> None:
    functions = {name for name, each in resources().items() if "SnapStart" in each["Properties"]}
    assert functions == {*BEHIND_API, "RunWorker"}
