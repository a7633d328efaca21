"""The template as CloudFormation gets it, with each parameter at its default and at another value.

The expansion by SAM shows what the written template hides. A reference to a resource that the
chosen parameters leave out fails a deployment, and no linter finds it in combinations.
"""

import copy
import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from local.template import ROOT, Template
from skein.models.delivery.sms import CONNECTION_OVERRIDES
from tests.support.parameters import OTHER
from tests.support.template import deployed_stack, deployed_template
from tools.deployment.expansion import GIVEN, circular, expand, references

TEMPLATE = deployed_template()
DOCUMENT = TEMPLATE.document
PARAMETERS = DOCUMENT["Parameters"]
FUNCTIONS = {function.logical_id: function for function in TEMPLATE.functions}

WITHOUT_SMS = {"TwilioSecretArn": ""}
ALL_OTHER = {name: OTHER[name] for name in OTHER}
# Each parameter alone, all together, and all without the parts that hide others.
STACKS = {
    "defaults": {},
    "no SMS": WITHOUT_SMS,
    **{name: {name: value} for name, value in OTHER.items()},
    "all": ALL_OTHER,
    "all parts": {**ALL_OTHER, "Alarms": "on", "ServeConsole": "on", "Live": "on", "Recall": "on",
        "Services": "arn:aws:events:us-east-1:000000000000:event-bus/skein",
        "Bedrock": "arn:aws:bedrock:*::foundation-model/amazon.nova-lite-v1:0",
                  "Canaries": "true"},
}  # fmt: skip


@cache
def expanded() -> Mapping[str, Any]:
    return expand(TEMPLATE)


def stack_of(name: str) -> Mapping[str, Any]:
    return deployed_stack(**STACKS[name])


def test_every_parameter_has_another_value_that_its_declaration_accepts() -> None:
    assert OTHER.keys() == PARAMETERS.keys()
    for name, value in OTHER.items():
        declared = PARAMETERS[name]
        assert value != str(declared.get("Default"))
        assert re.fullmatch(declared.get("AllowedPattern", ".*"), value), name
        assert value in map(str, declared.get("AllowedValues", [value])), name


def test_template_has_at_most_45_parameters() -> None:
    assert len(PARAMETERS) <= 45


def with_other_parts() -> Iterator[str]:
    """Yield the first stack of each choice of conditions; the others have the same graph."""
    seen: list[dict[str, bool]] = []
    for name, parameters in STACKS.items():
        values = TEMPLATE.parameters({**GIVEN, **parameters})
        chosen = {
            each: bool(TEMPLATE.resolve({"Condition": each}, values))
            for each in DOCUMENT["Conditions"]
        }
        if chosen not in seen:
            seen.append(chosen)
            yield name


@pytest.mark.parametrize("value", ["{azure:https://a.example}", '{"azure": "a.example"}', "{}"])
def test_providers_that_are_no_json_of_urls_are_refused(value: str) -> None:
    assert not re.fullmatch(PARAMETERS["ModelProviders"]["AllowedPattern"], value)


CHOICES = list(with_other_parts())
ALONE = [name for name in CHOICES if name in OTHER]
SAMPLE = "sample"


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The name of a stack; a sample depends on the test and on the seed of the run."""
    if not request.param.startswith(SAMPLE):
        return str(request.param)
    seed = request.config.getoption("randomly_seed", default=0)
    return random.Random(f"{seed} {request.node.nodeid}").choice(ALONE)


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in CHOICES if name not in ALONE),
        *(f"{SAMPLE} {n}" for n in range(6)),
        *(pytest.param(name, marks=pytest.mark.check) for name in ALONE),
    ],
    indirect=True,
)
def test_stack_refers_only_to_what_it_has_and_nothing_depends_on_itself(name: str) -> None:
    document = stack_of(name)
    made = document["Resources"]
    known = made.keys() | PARAMETERS.keys()
    for part, each in {**made, **document["Outputs"]}.items():
        found = {one for one in references(each) if not one.startswith("AWS::")}
        assert found <= known, part
        needed = each.get("DependsOn", [])
        assert set([needed] if isinstance(needed, str) else needed) <= known, part
    assert not circular(made)
    assert len(made) < 500


def test_update_policy_that_leads_back_to_its_resource_is_circular() -> None:
    alias = {
        "UpdatePolicy": {"CodeDeployLambdaAliasUpdate": {"DeploymentGroupName": {"Ref": "Group"}}}
    }
    resources: dict[str, Any] = {
        "Alias": alias,
        "Group": {"Properties": {"Alarms": [{"Ref": "Alarm"}]}},
        "Alarm": {"Properties": {"ApiId": {"Ref": "Api"}}},
        "Api": {"Properties": {"Body": {"Fn::Sub": "${Alias}/invocations"}}},
        "Stage": {"Properties": {"ApiId": {"Ref": "Api"}}},
        "Role": {"Properties": {}},
    }
    assert circular(resources) == {"Alias", "Group", "Alarm", "Api"}
    resources["Alarm"] = {"Properties": {}, "DependsOn": "Role"}
    assert not circular(resources)


# A queue without a reader costs nothing. The route answers 404.
KEPT = {"PushesQueue", "MobileApiPostLivePermission"}


def test_optional_parts_leave_nothing_behind() -> None:
    off = WITHOUT_SMS | {"Live": "off", "Recall": "off", "Alarms": "off", "ServeConsole": "off",
                         "Services": "off", "Canaries": "false"}  # fmt: skip
    made = deployed_stack(**off)["Resources"]
    functions = {name for name in FUNCTIONS if name in made}
    assert FUNCTIONS.keys() - functions == {
        "SmsWebhook", "SmsStatus", "SmsDelivery", "Console", "PushWorker",
        "LiveConnect", "LiveDisconnect", "LiveFrames", "ServiceWebhook",
    }  # fmt: skip
    for word in (
        "Live",
        "Sms",
        "Console",
        "Push",
        "Service",
        "Canary",
        "Ops",
        "SearchRecall",
        "Connections",
    ):
        assert not [name for name in made if word in name and name not in KEPT], word


def test_canary_watches_the_new_version_alone_and_the_answers_of_the_api() -> None:
    alarm = stack_of("defaults")["Resources"]["CanaryAlarm"]
    metrics = {each["Id"]: each for each in alarm["Properties"]["Metrics"]}
    behind = [name for name, function in FUNCTIONS.items() if function.routes]
    watched = set()
    for each in metrics.values():
        stat = each.get("MetricStat", {}).get("Metric", {})
        if stat.get("MetricName") != "Errors":
            continue
        dimensions = {one["Name"]: list(references(one["Value"])) for one in stat["Dimensions"]}
        [function] = dimensions["FunctionName"]
        assert dimensions["Resource"] == [function]
        [version] = dimensions["ExecutedVersion"]
        assert expanded()[version]["Type"] == "AWS::Lambda::Version"
        assert expanded()[version]["Properties"]["FunctionName"] == {"Ref": function}
        watched.add(function)
    # The API's answers show the failures of functions that only serve files.
    assert watched == {*behind, "Authorizer"} - {"ApiDocs", "Console"}
    assert {"refused", "requests"} <= metrics.keys()
    assert len([each for each in metrics.values() if "MetricStat" in each]) <= 10


def test_sms_have_a_way_around_the_gateway() -> None:
    url = expanded()["SmsWebhookUrl"]
    assert url["Type"] == "AWS::Lambda::Url"
    assert url["Properties"]["AuthType"] == "NONE"
    permitted = [
        each["Properties"]
        for each in expanded().values()
        if each["Type"] == "AWS::Lambda::Permission"
        and each["Properties"].get("FunctionUrlAuthType") == "NONE"
    ]
    assert {one["FunctionName"]["Ref"] for one in permitted} == {"SmsWebhookAliascurrent"}
    outputs = DOCUMENT["Outputs"]
    first, second = (
        outputs["SmsWebhookUrl"]["Value"]["Fn::If"][1],
        outputs["SmsFallbackUrl"]["Value"],
    )
    path = f"webhooks/twilio/sms{CONNECTION_OVERRIDES}"
    assert first == {"Fn::Sub": f"${{PublicBaseUrl}}/{path}"}
    assert second == {"Fn::Sub": f"${{SmsWebhookUrl.FunctionUrl}}{path}"}


@pytest.mark.slow  # two seconds each; `make lint` checks the template itself
@pytest.mark.parametrize("name", STACKS)
def test_linter_finds_no_error_in_the_stack(name: str) -> None:
    from cfnlint.api import ManualArgs, lint  # noqa: PLC0415 - its import takes long

    document = copy.deepcopy(stack_of(name))
    for each in document["Resources"].values():
        if each["Type"] == "AWS::CloudFormation::Stack":
            each["Properties"]["TemplateURL"] = "https://bucket.example/nested"
    found = lint(json.dumps(document), config=ManualArgs(regions=["us-east-1"]))
    errors = [f"{one.rule.id} {one.message}" for one in found if one.rule.severity == "error"]
    assert not errors


@pytest.mark.parametrize("name", ["domains", "backups", "ops"])
def test_nested_stack_gets_exactly_its_parameters(name: str) -> None:
    nested = Template.load(ROOT / "deployment" / f"{name}.yaml").document
    resource = expanded()[name.capitalize()]["Properties"]
    assert resource["TemplateURL"] == f"deployment/{name}.yaml"
    assert resource["Parameters"].keys() == nested["Parameters"].keys()


def test_provisioned_capacity_scales_the_table_and_each_index() -> None:
    made = deployed_stack(Size="provisioned")["Resources"]
    table = made["Table"]["Properties"]
    indexes = [each["IndexName"] for each in table["GlobalSecondaryIndexes"]]
    assert table["BillingMode"] == "PROVISIONED"
    wanted = {
        (f"table/${{Table}}{suffix}", f"dynamodb:{kind}:{what}CapacityUnits")
        for suffix, kind in [("", "table"), *((f"/index/{name}", "index") for name in indexes)]
        for what in ("Read", "Write")
    }
    found = set()
    for each in made.values():
        if each["Type"] == "AWS::ApplicationAutoScaling::ScalingPolicy":
            target = made[each["Properties"]["ScalingTargetId"]["Ref"]]["Properties"]
            dimension = target["ScalableDimension"]
            units = dimension.split(":")[-1]
            found.add((target["ResourceId"]["Fn::Sub"], dimension))
            tracking = each["Properties"]["TargetTrackingScalingPolicyConfiguration"]
            metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
            assert metric == f"DynamoDB{units.removesuffix('Units')}Utilization"
            for part in (table, *table["GlobalSecondaryIndexes"]):
                first = part["ProvisionedThroughput"][units]
                assert target["MinCapacity"] <= first <= target["MaxCapacity"]
    assert found == wanted


@pytest.mark.parametrize(
    "parameters", [{"Size": "large"}, {"Size": "provisioned", "ExistingTable": "arn/stream"}]
)
def test_table_on_demand_or_of_another_stack_is_not_scaled(parameters: Mapping[str, str]) -> None:
    made = deployed_stack(**parameters)["Resources"]
    assert not [each for each in made.values() if "AutoScaling" in each["Type"]]
    assert made.get("Table", {}).get("Properties", {}).get("BillingMode") in {
        None,
        "PAY_PER_REQUEST",
    }
