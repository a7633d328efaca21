"""Policy of the role that deploys a stack: what CloudFormation may do with the caller's rights.

`python -m tools.deployment.policy [--stack NAME]` prints it as JSON. It follows the types of the
resources in the templates; a type without actions here fails a test.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tools.deployment.deploy import Target


class Grant(NamedTuple):
    """What the role may do with resources of some types.

    Attributes:
        types: Prefixes of types of resources, such as `AWS::SQS::`.
        actions: The actions of IAM.
        resources: ARNs without `arn:aws:`; `{stack}` is the stack's name, `{lower_stack}` in small
            letters.
    """

    types: tuple[str, ...]
    actions: tuple[str, ...]
    resources: tuple[str, ...]


# CloudFormation names most resources after the stack. Some services have ids of their own.
GRANTS = (
    Grant(
        ("AWS::CloudFormation::", "AWS::Serverless::"),
        ("cloudformation:*",),
        (
            "cloudformation:*:*:stack/{stack}/*",
            "cloudformation:*:*:stack/{stack}-*/*",
            "cloudformation:*:*:stack/aws-sam-cli-managed-default/*",
            "cloudformation:*:aws:transform/*",
        ),
    ),
    Grant(
        ("AWS::Lambda::",),
        ("lambda:*",),
        (
            "lambda:*:*:function:{stack}-*",
            "lambda:*:*:layer:SkeinLayer*",
            "lambda:*:*:event-source-mapping:*",
        ),
    ),
    Grant(("AWS::ApiGatewayV2::",), ("apigateway:*",), ("apigateway:*::/*",)),
    Grant(("AWS::DynamoDB::",), ("dynamodb:*",), ("dynamodb:*:*:table/{stack}-*",)),
    # Buckets and their settings, but not the files in them. S3 has no capital letters in names.
    Grant(("AWS::S3::",), ("s3:*Bucket*", "s3:*Configuration"), ("s3:::{lower_stack}-*",)),
    Grant(("AWS::SQS::",), ("sqs:*",), ("sqs:*:*:{stack}-*",)),
    Grant(("AWS::SNS::",), ("sns:*",), ("sns:*:*:{stack}-*",)),
    Grant(
        ("AWS::Events::",),
        ("events:*",),
        (
            "events:*:*:rule/{stack}-*",
            "events:*:*:connection/{stack}-*",
            "events:*:*:api-destination/{stack}-*",
        ),
    ),
    Grant(("AWS::Logs::",), ("logs:*",), ("logs:*:*:log-group:{stack}-*",)),
    Grant(
        ("AWS::CloudWatch::",),
        ("cloudwatch:*",),
        ("cloudwatch:*:*:alarm:{stack}-*", "cloudwatch::*:dashboard/*"),
    ),
    Grant(
        ("AWS::IAM::",),
        ("iam:*Role", "iam:*RolePolicy", "iam:*RolePolicies", "iam:*Policy", "iam:*PolicyVersion*"),
        ("iam::*:role/{stack}-*", "iam::*:policy/{stack}-*"),
    ),
    Grant(
        ("AWS::CodeDeploy::",),
        ("codedeploy:*",),
        (
            "codedeploy:*:*:application:{stack}-*",
            "codedeploy:*:*:deploymentgroup:{stack}-*/*",
            "codedeploy:*:*:deploymentconfig:*",
        ),
    ),
    Grant(("AWS::Backup::",), ("backup:*",), ("backup:*:*:*",)),
    Grant(("AWS::Budgets::",), ("budgets:*",), ("budgets::*:budget/{stack}-*",)),
    Grant(("AWS::CloudFront::",), ("cloudfront:*",), ("cloudfront::*:distribution/*",)),
    Grant(
        ("AWS::SecretsManager::",),
        ("secretsmanager:*",),
        ("secretsmanager:*:*:secret:{stack}-*",),
    ),
)

# Calls of `sam deploy` and `make deploy-checks` that belong to no resource of the stack.
BESIDES = (
    Grant((), ("s3:*",), ("s3:::aws-sam-cli-managed-default-*",)),
    # AWS uses the key of `KeyArn` for the role that creates the tables.
    Grant(
        (),
        ("kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*"),
        ("kms:*:*:key/*",),
    ),
    # EventBridge keeps a secret for the connection of the smoke test, by a role of its own.
    Grant((), ("iam:CreateServiceLinkedRole",), ("iam::*:role/aws-service-role/*",)),
    Grant((), ("secretsmanager:*",), ("secretsmanager:*:*:secret:events!connection/{stack}-*",)),
    Grant(
        (),
        (
            "cloudformation:ValidateTemplate",
            "lambda:GetAccountSettings",
            "sts:GetCallerIdentity",
            "dynamodb:DescribeLimits",
            "backup-storage:MountCapsule",
        ),
        (),
    ),
)


def policy(stack: str) -> dict[str, Any]:
    """Return the policy of the role that deploys a stack."""
    return {
        "Version": "2012-10-17",
        "Statement": [_statement(grant, stack) for grant in (*GRANTS, *BESIDES)],
    }


def unknown_types(resources: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the types of resources that no grant covers."""
    prefixes = tuple(prefix for grant in GRANTS for prefix in grant.types)
    return {each["Type"] for each in resources.values() if not each["Type"].startswith(prefixes)}


def _statement(grant: Grant, stack: str) -> dict[str, Any]:
    named = [
        f"arn:aws:{each.format(stack=stack, lower_stack=stack.lower())}" for each in grant.resources
    ]
    return {"Effect": "Allow", "Action": list(grant.actions), "Resource": named or "*"}


def main(argv: Sequence[str]) -> int:
    """Print the policy and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.deployment.policy")
    parser.add_argument("--stack", default="")
    given = parser.parse_args(argv)
    stack = Target.of(stack=given.stack, confirm=False).stack
    json.dump(policy(stack), sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
