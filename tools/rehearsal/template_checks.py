"""Assertions on the built template about what the emulator ignores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.template import Template

FUNCTION = "AWS::Serverless::Function"

NOT_SHOWN = (
    "IAM: the emulator lets every function call everything (tests: PermittedTable, permissions)",
    "RecursiveLoop and Lambda's limit of 16 invocations in one lineage (tests/faults)",
    "vector indexes and canaries, whose declaration alone was checked",
    "AppConfig's validation and roll-back, if the template has it",
    "quotas, throttling, concurrency, cold starts and costs of AWS",
    "the processor of the functions (arm64) on another machine, and Amazon Linux",
    "Twilio's and the model provider's real answers, carriers and registrations",
    "alarms: their declaration is deployed, and nothing raises them",
)


class WrongTemplateError(Exception):
    """The template lacks something that AWS needs and the emulator does not."""


def check(path: Path) -> str:
    """Check a built template; return what was found.

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
    return f"recursion allowed for {', '.join(recursive)}; a vector index; kept tables"
