"""Policy of the role with which a stack is deployed: what CloudFormation may do in its name.

`python -m tools.deployment.policy [--stack NAME]` prints it as JSON. The policy covers the types of
resources in the templates. A test fails if a type has no grant in this module.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tools.deployment.deploy import Target


class Grant(NamedTuple):
    """What the role may do with resources of certain types.

    Attributes:
        types: Prefixes of the resource types, such as `AWS::SQS::`.
        actions: The allowed IAM actions.
        resources: ARNs without `arn:aws:`. `{stack}` stands for the stack's name, `{lower_stack}`
            for the name in lower case.
        unnamed: Further actions that IAM does not limit to resources. They need a grant on all
            resources: a grant on ARNs never allows them, even with `*` as the action.
    """

    types: tuple[str, ...]
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    unnamed: tuple[str, ...] = ()


MAPPING = "lambda:CreateEventSourceMapping"  # takes no resource; a condition names the function

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
        (MAPPING,),
    ),
    # The access log of a stage is a delivery of logs, which API Gateway sets up for the caller.
    Grant(
        ("AWS::ApiGatewayV2::",),
        ("apigateway:*",),
        ("apigateway:*::/*",),
        (
            "logs:*LogDelivery",
            "logs:ListLogDeliveries",
            "logs:PutResourcePolicy",
            "logs:DescribeResourcePolicies",
        ),
    ),
    Grant(
        ("AWS::ApiGatewayV2::DomainName",), ("acm:DescribeCertificate",), ("acm:*:*:certificate/*",)
    ),
    Grant(("AWS::DynamoDB::",), ("dynamodb:*",), ("dynamodb:*:*:table/{stack}-*",)),
    # Targets have ids of their own. Their alarms are made with the caller's rights.
    Grant(
        ("AWS::ApplicationAutoScaling::",),
        ("application-autoscaling:*",),
        ("application-autoscaling:*:*:scalable-target/*",),
        ("application-autoscaling:Describe*", "cloudwatch:GetMetricData"),
    ),
    Grant((), ("cloudwatch:*",), ("cloudwatch:*:*:alarm:TargetTracking-table/{stack}-*",)),
    # Buckets and their settings, but not the files in them. S3 has no capital letters in names.
    Grant(
        ("AWS::S3::",),
        ("s3:*Bucket*", "s3:*Configuration", "s3:*TagResource", "s3:ListTagsForResource"),
        ("s3:::{lower_stack}-*",),
    ),
    Grant(("AWS::SQS::",), ("sqs:*",), ("sqs:*:*:{stack}-*",)),
    Grant(
        ("AWS::SNS::",),
        ("sns:*",),
        ("sns:*:*:{stack}-*",),
        ("sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes", "sns:Unsubscribe"),
    ),
    Grant(
        ("AWS::Events::",),
        ("events:*",),
        (
            "events:*:*:rule/{stack}-*",
            "events:*:*:connection/{stack}-*",
            "events:*:*:api-destination/{stack}-*",
        ),
    ),
    Grant(
        ("AWS::Logs::",),
        ("logs:*",),
        ("logs:*:*:log-group:{stack}-*",),
        ("logs:DescribeLogGroups",),
    ),
    Grant(
        ("AWS::CloudWatch::",),
        ("cloudwatch:*",),
        ("cloudwatch:*:*:alarm:{stack}-*", "cloudwatch::*:dashboard/*"),
        ("cloudwatch:DescribeAlarms",),  # deploy.yml lists them by the start of their names
    ),
    Grant(
        ("AWS::IAM::",),
        (
            "iam:*Role",
            "iam:*RoleDescription",
            "iam:*RolePermissionsBoundary",
            "iam:*RolePolicy",
            "iam:*RolePolicies",
            "iam:*RoleTags",
            "iam:*Policy",
            "iam:*PolicyVersion*",
        ),
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
        ("codedeploy:StopDeployment",),
    ),
    Grant(("AWS::Backup::",), ("backup:*",), ("backup:*:*:*",)),
    Grant(("AWS::Budgets::",), ("budgets:*",), ("budgets::*:budget/{stack}-*",)),
    Grant(
        ("AWS::CloudFront::",),
        ("cloudfront:*",),
        ("cloudfront::*:distribution/*",),
        ("cloudfront:CreateDistribution",),
    ),
    Grant(("AWS::CloudFront::",), ("wafv2:GetWebACL",), ("wafv2:us-east-1:*:global/webacl/*",)),
    Grant(
        ("AWS::SecretsManager::",),
        ("secretsmanager:*",),
        ("secretsmanager:*:*:secret:{stack}-*",),
        ("secretsmanager:GetRandomPassword",),
    ),
)

# Calls of `sam deploy` and `make deploy-checks` that belong to no resource of the stack.
BESIDES = (
    Grant((), ("s3:*",), ("s3:::aws-sam-cli-managed-default-*",)),
    # AWS uses the key of `KeyArn` for the role that creates the tables.
    Grant(
        (),
        (
            "kms:*Grant",
            "kms:Decrypt",
            "kms:DescribeKey",
            "kms:Encrypt",
            "kms:GenerateDataKey*",
            "kms:ReEncrypt*",
        ),
        ("kms:*:*:key/*",),
    ),
    # EventBridge keeps a secret for the connection of the smoke test, by a role of its own.
    Grant((), ("iam:CreateServiceLinkedRole",), ("iam::*:role/aws-service-role/*",)),
    Grant((), ("secretsmanager:*",), ("secretsmanager:*:*:secret:events!connection/{stack}-*",)),
    Grant(
        (),
        (),
        (),
        (
            "cloudformation:ValidateTemplate",
            "lambda:GetAccountSettings",
            "sts:GetCallerIdentity",
            "dynamodb:DescribeLimits",
            "backup-storage:MountCapsule",
        ),
    ),
)


def policy(stack: str) -> dict[str, Any]:
    """Return the policy of the role that deploys a stack."""
    grants = (*GRANTS, *BESIDES)
    unnamed = sorted({action for grant in grants for action in grant.unnamed} - {MAPPING})
    functions = f"arn:aws:lambda:*:*:function:{stack}-*"
    return {
        "Version": "2012-10-17",
        "Statement": [
            *(_statement(grant, stack) for grant in grants if grant.resources),
            {"Effect": "Allow", "Action": unnamed, "Resource": "*"},
            {
                "Effect": "Allow",
                "Action": [MAPPING],
                "Resource": "*",
                "Condition": {"ArnLike": {"lambda:FunctionArn": functions}},
            },
        ],
    }


def unknown_types(resources: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the types of resources that no grant covers."""
    prefixes = tuple(prefix for grant in GRANTS for prefix in grant.types)
    return {each["Type"] for each in resources.values() if not each["Type"].startswith(prefixes)}


def _statement(grant: Grant, stack: str) -> dict[str, Any]:
    named = [
        f"arn:aws:{each.format(stack=stack, lower_stack=stack.lower())}" for each in grant.resources
    ]
    return {"Effect": "Allow", "Action": list(grant.actions), "Resource": named}


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
