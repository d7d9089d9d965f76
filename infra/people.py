"""The policies of the two people of a stage: who deploys it, and who operates it.

`operator`, `deployer` and `stacks`, as IAM takes only so much text in one, and `waf` and `cdn` for what a firewall and
CloudFront need besides;

    python -m infra.people --stage prod --region eu-central-1 --account 123456789012 deployer

prints one for an account. Attach it to a user or role as a managed policy. A command that needs another action has it
in a line of a table here; a new kind of resource of the stacks has its actions in RESOURCES. Every resource is one of
the stage, but for what AWS lets nobody limit (ANYTHING), and REST APIs, whose ids are not known before.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from infra import APP
from infra.configuration import stages
from infra.iam import HERE, Place, text_of
from infra.template import whole_template

Grants = dict[str, tuple[str, ...]]
"""Resources, with a space between two -> actions. In a resource, {prefix} is `payment-requests-<stage>`."""

ANYTHING = "*"
_LAMBDA = f"arn:aws:lambda:{HERE}"
_FUNCTIONS = f"{_LAMBDA}:function:{{prefix}} {_LAMBDA}:function:{{prefix}}-*"
_ROLES = "arn:aws:iam::<account>:role/{prefix}-*"
_TABLES = f"arn:aws:dynamodb:{HERE}:table/{{prefix}}-*"
_QUEUES = f"arn:aws:sqs:{HERE}:{{prefix}}-*"
_STACKS = " ".join(f"arn:aws:cloudformation:{HERE}:stack/{{prefix}}{end}/*" for end in ("", "-*"))
_SECRETS = f"arn:aws:secretsmanager:{HERE}:secret:{{prefix}}-*"
_KEYS = f"arn:aws:kms:{HERE}:key/*"
_ALIASES = f"arn:aws:kms:{HERE}:alias/{{prefix}}-*"
_LOGS = " ".join(
    f"arn:aws:logs:{HERE}:log-group:/aws/{name}:*"
    for name in ("lambda/{prefix}", "lambda/{prefix}-*", "apigateway/{prefix}")
)
_ALARMS = f"arn:aws:cloudwatch:{HERE}:alarm:{{prefix}}-*"
_TOPIC = f"arn:aws:sns:{HERE}:{{prefix}}-*"
_MAIL = f"arn:aws:ses:{HERE}:configuration-set/{{prefix}}-mails"
_RULES = f"arn:aws:events:{HERE}:rule/{{prefix}}-*"
_MAPPINGS = f"{_LAMBDA}:event-source-mapping:*"
_DOMAINS = "arn:aws:apigateway:<region>::/domainnames*"
_DOMAINS_ROLE = (
    "arn:aws:iam::<account>:role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway"
)
_WAF = f"arn:aws:wafv2:{HERE}:regional/webacl/{{prefix}}/*"
_RULE_GROUPS = f"arn:aws:wafv2:{HERE}:regional/managedruleset/*"
_APIS = "arn:aws:apigateway:<region>::/restapis*"

RESOURCES: dict[str, Grants] = {
    "AWS::DynamoDB::Table": {
        _TABLES: (
            *("dynamodb:CreateTable", "dynamodb:UpdateTable", "dynamodb:DescribeTable", "dynamodb:DeleteTable"),
            *("dynamodb:DescribeTimeToLive", "dynamodb:UpdateTimeToLive"),
            *("dynamodb:DescribeContinuousBackups", "dynamodb:UpdateContinuousBackups"),
            *("dynamodb:TagResource", "dynamodb:ListTagsOfResource", "dynamodb:DescribeContributorInsights"),
            *("dynamodb:DescribeKinesisStreamingDestination", "dynamodb:GetResourcePolicy"),
        ),
    },
    "AWS::SQS::QueuePolicy": {_QUEUES: ("sqs:SetQueueAttributes",)},
    "AWS::SQS::Queue": {
        _QUEUES: (
            *("sqs:CreateQueue", "sqs:SetQueueAttributes", "sqs:GetQueueAttributes", "sqs:DeleteQueue"),
            *("sqs:GetQueueUrl", "sqs:ListQueueTags"),
        ),
    },
    "AWS::KMS::Key": {
        ANYTHING: ("kms:CreateKey",),
        _KEYS: (
            *("kms:DescribeKey", "kms:PutKeyPolicy", "kms:GetKeyPolicy", "kms:TagResource", "kms:ListResourceTags"),
            *("kms:EnableKeyRotation", "kms:GetKeyRotationStatus", "kms:UpdateKeyDescription"),
            *("kms:ScheduleKeyDeletion", "kms:CreateAlias", "kms:DeleteAlias", "kms:UpdateAlias"),
        ),
    },
    "AWS::KMS::Alias": {
        ANYTHING: ("kms:ListAliases",),
        _ALIASES: ("kms:CreateAlias", "kms:DeleteAlias", "kms:UpdateAlias"),
    },
    "AWS::SecretsManager::Secret": {
        ANYTHING: ("secretsmanager:GetRandomPassword",),
        _SECRETS: (
            *("secretsmanager:CreateSecret", "secretsmanager:DescribeSecret", "secretsmanager:UpdateSecret"),
            *("secretsmanager:DeleteSecret", "secretsmanager:TagResource"),
        ),
    },
    "AWS::Logs::LogGroup": {
        ANYTHING: ("logs:DescribeLogGroups",),
        _LOGS: (
            *("logs:CreateLogGroup", "logs:PutRetentionPolicy", "logs:DeleteLogGroup", "logs:ListTagsForResource"),
            *("logs:GetDataProtectionPolicy", "logs:DescribeIndexPolicies"),
        ),
    },
    "AWS::Logs::MetricFilter": {
        _LOGS: ("logs:PutMetricFilter", "logs:DescribeMetricFilters", "logs:DeleteMetricFilter"),
    },
    "AWS::CloudWatch::Alarm": {
        ANYTHING: ("cloudwatch:DescribeAlarms",),
        _ALARMS: ("cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms", "cloudwatch:ListTagsForResource"),
    },
    "AWS::CloudWatch::Dashboard": {
        "arn:aws:cloudwatch::<account>:dashboard/{prefix}": (
            *("cloudwatch:PutDashboard", "cloudwatch:GetDashboard", "cloudwatch:DeleteDashboards"),
        ),
    },
    "AWS::SNS::Topic": {
        _TOPIC: (
            *("sns:CreateTopic", "sns:GetTopicAttributes", "sns:SetTopicAttributes", "sns:DeleteTopic"),
            *("sns:ListTagsForResource", "sns:ListSubscriptionsByTopic", "sns:GetDataProtectionPolicy"),
        ),
    },
    "AWS::SNS::TopicPolicy": {_TOPIC: ("sns:SetTopicAttributes",)},
    "AWS::SNS::Subscription": {
        _TOPIC: (
            *("sns:Subscribe", "sns:Unsubscribe", "sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes"),
        ),
    },
    "AWS::SES::ConfigurationSet": {
        _MAIL: (
            *("ses:CreateConfigurationSet", "ses:GetConfigurationSet", "ses:DeleteConfigurationSet"),
            *("ses:PutConfigurationSetReputationOptions", "ses:PutConfigurationSetSendingOptions"),
            "ses:PutConfigurationSetSuppressionOptions",
        ),
    },
    "AWS::SES::ConfigurationSetEventDestination": {
        _MAIL: (
            *("ses:CreateConfigurationSetEventDestination", "ses:UpdateConfigurationSetEventDestination"),
            *("ses:DeleteConfigurationSetEventDestination", "ses:GetConfigurationSetEventDestinations"),
        ),
    },
    "AWS::S3::Bucket": {
        "arn:aws:s3:::{prefix}-*": (
            *("s3:CreateBucket", "s3:DeleteBucket", "s3:ListBucket", "s3:PutEncryptionConfiguration"),
            *("s3:PutBucketPublicAccessBlock", "s3:GetEncryptionConfiguration", "s3:GetBucketPublicAccessBlock"),
        ),
        "arn:aws:s3:::{prefix}-*/*": ("s3:GetObject", "s3:PutObject", "s3:DeleteObject"),
    },
    "AWS::ApiGateway::DomainName": {
        _DOMAINS: ("apigateway:GET", "apigateway:POST", "apigateway:PATCH", "apigateway:DELETE"),
        _DOMAINS_ROLE: ("iam:CreateServiceLinkedRole",),  # API Gateway makes it for the first domain of an account
    },
    "AWS::Route53::RecordSet": {
        ANYTHING: ("route53:GetChange",),
        "arn:aws:route53:::hostedzone/*": (
            *("route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets", "route53:GetHostedZone"),
        ),
    },
}
"""What CloudFormation does in the name of whoever deploys, by the type of a resource of a stack. It reads
what it has made, so there are reads that no command of ours makes."""

_OF_HOSTS = {"AWS::ApiGateway::DomainName", "AWS::Route53::RecordSet"}
"""What the stack of the hosts makes, beside mappings, which are below the domains (infra/hosts.py)."""

READS: Grants = {
    ANYTHING: (
        *("lambda:ListFunctions", "lambda:ListLayers", "lambda:ListLayerVersions", "lambda:ListEventSourceMappings"),
        *("lambda:GetEventSourceMapping", "lambda:GetAccountSettings", "events:ListRules"),
        *("events:ListRuleNamesByTarget", "cloudformation:DescribeStackDriftDetectionStatus", "kms:ListAliases"),
    ),
    _KEYS: ("kms:DescribeKey",),
    _RULES: ("events:DescribeRule",),
    _STACKS: (
        *("cloudformation:DetectStackDrift", "cloudformation:DescribeStackResourceDrifts"),
        *("cloudformation:DescribeStacks", "cloudformation:DescribeStackEvents"),
        *("cloudformation:DescribeStackResources", "cloudformation:GetTemplate"),
    ),
    _FUNCTIONS: (
        *("lambda:GetFunction", "lambda:GetFunctionConfiguration", "lambda:GetFunctionRecursionConfig"),
        *("lambda:GetPolicy", "lambda:ListTags"),
    ),
    f"{_LAMBDA}:layer:{{prefix}}-*": ("lambda:GetLayerVersion", "lambda:ListLayerVersions"),
    _ROLES: ("iam:GetRole", "iam:ListRolePolicies", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies"),
    _APIS: ("apigateway:GET",),
    "arn:aws:s3:::{prefix}-*": ("s3:ListBucket",),
    "arn:aws:s3:::{prefix}-*/*": ("s3:GetObject",),
}
"""What `make verify` reads, and every other command to know what a stage has."""

DEPLOYER: Grants = {
    _STACKS: (
        *("cloudformation:CreateStack", "cloudformation:UpdateStack", "cloudformation:DeleteStack"),
        "cloudformation:ContinueUpdateRollback",
    ),
    _FUNCTIONS: (
        *("lambda:CreateFunction", "lambda:UpdateFunctionCode", "lambda:UpdateFunctionConfiguration"),
        *("lambda:DeleteFunction", "lambda:AddPermission", "lambda:RemovePermission", "lambda:TagResource"),
        *("lambda:UntagResource", "lambda:PutFunctionConcurrency", "lambda:DeleteFunctionConcurrency"),
        *("lambda:PutFunctionRecursionConfig", "lambda:InvokeFunction"),
    ),
    f"{_LAMBDA}:layer:{{prefix}}-*": ("lambda:PublishLayerVersion", "lambda:DeleteLayerVersion"),
    _MAPPINGS: ("lambda:UpdateEventSourceMapping", "lambda:DeleteEventSourceMapping"),
    _ROLES: (
        *("iam:CreateRole", "iam:UpdateAssumeRolePolicy", "iam:PutRolePolicy", "iam:DeleteRolePolicy"),
        *("iam:DeleteRole", "iam:PassRole"),
    ),
    _RULES: (
        *("events:PutRule", "events:PutTargets", "events:RemoveTargets", "events:DeleteRule"),
        *("events:DescribeRule", "events:ListTargetsByRule", "events:EnableRule", "events:DisableRule"),
    ),
    _APIS: ("apigateway:POST", "apigateway:PUT", "apigateway:PATCH", "apigateway:DELETE"),
    ANYTHING: ("dynamodb:ListTables", "lambda:CreateEventSourceMapping"),
    _TABLES: (
        *("dynamodb:RestoreTableToPointInTime", "dynamodb:Scan", "dynamodb:Query", "dynamodb:GetItem"),
        *("dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"),
        "dynamodb:BatchWriteItem",
    ),
}
"""What `make deploy`, `rollback`, `restore` and `destroy` do, beside RESOURCES and READS."""

OPERATOR: Grants = {
    _TABLES: (
        *("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:PutItem"),
        *("dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem", "dynamodb:BatchWriteItem"),
    ),
    _QUEUES: (
        *("sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage"),
        *("sqs:StartMessageMoveTask", "sqs:ListMessageMoveTasks", "sqs:CancelMessageMoveTask"),
    ),
    _SECRETS: (
        *("secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue"),
        "secretsmanager:UpdateSecretVersionStage",
    ),
    _KEYS: ("kms:GetPublicKey", "kms:Encrypt"),
    _WAF: ("wafv2:GetWebACL",),
    _APIS: ("wafv2:GetWebACLForResource",),
    _LOGS: ("logs:FilterLogEvents", "logs:GetLogEvents", "logs:StartQuery"),
    _TOPIC: ("sns:Subscribe", "sns:ListSubscriptionsByTopic"),
    ANYTHING: (
        *("logs:DescribeLogGroups", "logs:GetQueryResults", "cloudwatch:DescribeAlarms", "cloudwatch:GetMetricData"),
        *("sqs:ListQueues", "sns:ListTopics"),
    ),
}
"""What `python -m infra.admin` and the commands of infra/runbook.md do, beside READS."""

WAF: Grants = {
    _WAF: (
        *("wafv2:CreateWebACL", "wafv2:GetWebACL", "wafv2:UpdateWebACL", "wafv2:DeleteWebACL"),
        *("wafv2:ListTagsForResource", "wafv2:TagResource", "wafv2:AssociateWebACL"),
    ),
    _RULE_GROUPS: ("wafv2:CreateWebACL", "wafv2:UpdateWebACL"),
    _APIS: (
        *("wafv2:AssociateWebACL", "wafv2:DisassociateWebACL", "wafv2:GetWebACLForResource"),
        "apigateway:SetWebACL",
    ),
}
"""What `make deploy` and `destroy` do for the firewall of a stage, and `make verify` reads (infra/waf.py)."""

_CLOUDFRONT = "arn:aws:cloudfront::<account>"
CDN: Grants = {
    f"{_CLOUDFRONT}:distribution/*": (
        *("cloudfront:CreateDistribution", "cloudfront:GetDistribution", "cloudfront:GetDistributionConfig"),
        *("cloudfront:UpdateDistribution", "cloudfront:DeleteDistribution", "cloudfront:TagResource"),
        "cloudfront:ListTagsForResource",
    ),
    f"{_CLOUDFRONT}:function/{{prefix}}-*": (
        *("cloudfront:CreateFunction", "cloudfront:DescribeFunction", "cloudfront:GetFunction"),
        *("cloudfront:UpdateFunction", "cloudfront:PublishFunction", "cloudfront:DeleteFunction"),
    ),
    f"{_CLOUDFRONT}:cache-policy/*": (
        *("cloudfront:CreateCachePolicy", "cloudfront:GetCachePolicy", "cloudfront:UpdateCachePolicy"),
        "cloudfront:DeleteCachePolicy",
    ),
}
"""What CloudFormation does in their name for CloudFront before the page (infra/cdn.py)."""

UNNAMED = (
    *("lambda:CreateFunction", "lambda:CreateEventSourceMapping", "lambda:UpdateEventSourceMapping"),
    *("lambda:DeleteEventSourceMapping", "events:PutTargets", "events:RemoveTargets", "events:ListTargetsByRule"),
    *("lambda:GetLayerVersion", "lambda:DeleteLayerVersion", "dynamodb:RestoreTableToPointInTime"),
    *("sqs:StartMessageMoveTask", "sqs:ListMessageMoveTasks", "sqs:CancelMessageMoveTask"),
    *("wafv2:AssociateWebACL", "wafv2:DisassociateWebACL", "wafv2:GetWebACLForResource"),
)
"""What the local cloud checks without a resource, and AWS with one. It also checks a key by its alias, names the
bus of a rule, and a log group without `:*`."""

_CONDITIONS: dict[str, dict[str, Any]] = {
    "iam:PassRole": {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}},
    "iam:CreateServiceLinkedRole": {"StringEquals": {"iam:AWSServiceName": "ops.apigateway.amazonaws.com"}},
    "lambda:CreateEventSourceMapping": {"ArnLike": {"lambda:FunctionArn": f"{_LAMBDA}:function:{{prefix}}-*"}},
    "kms:CreateKey": {"StringEquals": {"aws:RequestTag/owner": "{prefix}"}},
    "kms:TagResource": {  # a key that is being made has no tags yet
        "StringEquals": {"aws:RequestTag/owner": "{prefix}"},
        "StringEqualsIfExists": {"aws:ResourceTag/owner": "{prefix}"},
    },
    _KEYS: {"StringEquals": {"aws:ResourceTag/owner": "{prefix}"}},
    _MAPPINGS: {"ArnLike": {"lambda:FunctionArn": f"{_LAMBDA}:function:{{prefix}}-*"}},
}
"""What an action, or every action on a resource, is limited by beside the resource."""
MOST_CHARACTERS = 6_144
"""The longest managed policy that IAM takes, without white space."""


def deployer(stage: str) -> dict[str, Any]:
    """One of the two policies of who runs `make deploy`, `record`, `rollback`, `restore`, `destroy` and `verify`."""
    return _policy(stage, [DEPLOYER, READS])


def stacks(stage: str) -> dict[str, Any]:
    """The other one: what those commands, and CloudFormation for them, do to the resources of the stacks."""
    types = {each["Type"] for each in whole_template()["Resources"].values()} | _OF_HOSTS
    return _policy(stage, [RESOURCES[each] for each in sorted(types)])


def operator(stage: str) -> dict[str, Any]:
    """The policy of who runs `python -m infra.admin`, the commands of the runbook and `make verify`."""
    return _policy(stage, [OPERATOR, READS])


def waf(stage: str) -> dict[str, Any]:
    """What whoever deploys a stage with a firewall has besides."""
    return _policy(stage, [WAF])


def cdn(stage: str) -> dict[str, Any]:
    """What whoever deploys or destroys a stage with CloudFront before its page has besides."""
    return _policy(stage, [CDN])


PEOPLE = {"deployer": deployer, "stacks": stacks, "operator": operator, "waf": waf, "cdn": cdn}
"""The policies by name."""
POLICIES = {"deployer": ("deployer", "stacks"), "operator": ("operator",)}
"""Those of each person."""


def _policy(stage: str, tables: Iterable[Grants]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(_statements(stage, tables))}


def _statements(stage: str, tables: Iterable[Grants]) -> Iterator[dict[str, Any]]:
    granted: dict[str, set[str]] = defaultdict(set)
    for table in tables:
        for resource, listed in table.items():
            granted[resource] |= set(listed)
    if stage == "local":
        granted[ANYTHING] |= {each for actions in list(granted.values()) for each in actions} & set(UNNAMED)
        granted[_RULES.replace("rule/", "rule/default/")] = granted[_RULES]
        granted[_ALIASES] |= granted[_KEYS]
        granted[_LOGS.replace(":*", "")] = granted[_LOGS]
    for resource, actions in granted.items():
        alone = sorted(actions & set(_CONDITIONS))
        for some in [*([each] for each in alone), sorted(actions - set(alone))]:
            if some:
                unknown = stage == "local" and some[0] in UNNAMED
                condition = None if unknown else _CONDITIONS.get(some[0]) or _CONDITIONS.get(resource)
                statement = {"Effect": "Allow", "Action": some, "Resource": resource.split()}
                text = json.dumps({**statement, **({"Condition": condition} if condition else {})})
                yield json.loads(text.replace("{prefix}", f"{APP}-{stage}"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.people", description="Print the policy of a person.")
    parser.add_argument("--stage", choices=stages(), required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--account", required=True)
    parser.add_argument("person", choices=PEOPLE)
    given = parser.parse_args()
    print(text_of(Place(given.region, given.account).fill(PEOPLE[given.person](given.stage))), end="")


if __name__ == "__main__":
    main()
