"""Checks of the template for what AWS requires and an emulator of AWS ignores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.template import Template
from tools.deployment.expansion import expand

FUNCTION = "AWS::Serverless::Function"
ALIAS, GROUP = "AWS::Lambda::Alias", "AWS::CodeDeploy::DeploymentGroup"
PERMISSION = "AWS::Lambda::Permission"


class WrongTemplateError(Exception):
    """The template lacks something that AWS requires and an emulator ignores."""


def check(path: Path) -> str:
    """Check a template; return the findings in words.

    Raises:
        WrongTemplateError: Something is missing.
    """
    template = Template.load(path)
    resources: Mapping[str, Any] = template.document["Resources"]
    functions = {name: each for name, each in resources.items() if each["Type"] == FUNCTION}
    shared = template.document["Globals"]["Function"]
    recursive = sorted(
        name
        for name, each in functions.items()
        if (each["Properties"].get("RecursiveLoop") or shared.get("RecursiveLoop")) == "Allow"
    )
    if "RunWorker" not in recursive:
        raise WrongTemplateError("RunWorker does not allow recursion: AWS would drop its messages")
    tables = [each for each in resources.values() if each["Type"] == "AWS::DynamoDB::Table"]
    if not any("VectorIndexes" in each["Properties"] for each in tables):
        raise WrongTemplateError("no table has a vector index")
    for table in tables:
        if table.get("DeletionPolicy") not in {"Retain", "RetainExceptOnCreate"}:
            raise WrongTemplateError("a table would go with the stack")
    guarded = canaries(template)
    return (
        f"recursion allowed for {', '.join(recursive)}; a vector index; kept tables; "
        f"canaries of {len(guarded)} functions, each with an alarm"
    )


def canaries(template: Template) -> list[str]:
    """Return the functions whose new versions first get only a part of the requests, sorted.

    Raises:
        WrongTemplateError: A function behind the HTTP API has no canary or no alarm that stops one,
            or its requests don't go to its alias, or `Canaries=false` leaves a canary.
    """
    expanded = expand(template, Canaries="true", Release="a" * 40)
    names = sorted(function.logical_id for function in template.functions if function.routes)
    permitted = [
        each["Properties"]["FunctionName"].get("Ref")
        for each in expanded.values()
        if each["Type"] == PERMISSION
    ]
    for name in names:
        alias = f"{name}Aliascurrent"
        if expanded.get(alias, {}).get("Type") != ALIAS or name in permitted:
            raise WrongTemplateError(f"requests do not go to an alias of {name}")
        group = expanded.get(f"{name}DeploymentGroup", {}).get("Properties", {})
        if not group.get("AlarmConfiguration", {}).get("Alarms"):
            raise WrongTemplateError(f"no alarm stops a bad version of {name}")
        if "CodeDeployLambdaAliasUpdate" not in expanded[alias].get("UpdatePolicy", {}):
            raise WrongTemplateError(f"{name} has no canary")
    without = expand(template, Canaries="false").values()
    if any(each["Type"] == GROUP for each in without):
        raise WrongTemplateError("Canaries=false leaves canaries")
    return names
