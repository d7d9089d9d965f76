"""The web application firewall (AWS WAF) of a stage: `"waf": true` of the stage in .chalice/config.json.

Off unless that is set, as it costs 8 USD a month and 0.60 USD for a million requests. The access control list is a
stack of its own, `payment-requests-<stage>-waf`, which is made after the API and put in front of the API's stage.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from infra import APP
from infra.indexes import Template
from infra.stack import DeploymentStopped, apply_template, delete_stack, has_stack, read_deployed_template

REQUESTS, SECONDS = 6_000, 300
"""How many requests one address may send in that time: 20 a second, as many as a credential may at most."""
PROVIDER_EVENTS = "/v2/provider-events"
"""Where providers send their events: signed, from a few addresses, with content that rules may take for an attack."""
COUNTED = ("SizeRestrictions_BODY", "NoUserAgent_HEADER")
"""Common rules that only count: multicalls are larger than 8 KB, and programs of merchants may not name themselves."""
READY_WITHIN_SECONDS = 60


def has_waf(config: Mapping[str, Any], stage: str) -> bool:
    """What `.chalice/config.json` says. Raises DeploymentStopped if that is neither true nor false."""
    said = config["stages"][stage].get("waf", False)
    if not isinstance(said, bool):
        raise DeploymentStopped(f'Set "waf" of stage {stage} in .chalice/config.json to true or false, not {said!r}.')
    return said


def template_of(stage: str, caller_header: str = "") -> Template:
    """The access control list, whose ARN is the output `Waf`. With CloudFront before the page, what comes from there
    states the address of its caller in `caller_header`."""
    provider = {
        "RegexMatchStatement": {
            "FieldToMatch": {"UriPath": {}},
            "RegexString": f"^(/{stage})?{PROVIDER_EVENTS}$",  # at the API's own URL the stage stands before it
            "TextTransformations": [{"Priority": 0, "Type": "NONE"}],
        }
    }
    rate = {"RateBasedStatement": {"AggregateKeyType": "IP", "Limit": REQUESTS, "EvaluationWindowSec": SECONDS}}
    common = {
        "ManagedRuleGroupStatement": {
            "VendorName": "AWS",
            "Name": "AWSManagedRulesCommonRuleSet",
            "RuleActionOverrides": [{"Name": name, "ActionToUse": {"Count": {}}} for name in COUNTED],
        }
    }
    rates = [{"Name": "rate-per-address", "Statement": rate, "Action": {"Block": {}}}]
    if caller_header:
        rates = _rates_behind_cdn(rate, caller_header)
    rules = [
        {"Name": "provider-events", "Statement": provider, "Action": {"Allow": {}}},
        *rates,
        {"Name": "common-rules", "Statement": common, "OverrideAction": {"None": {}}},
    ]
    listed = [
        {**rule, "Priority": number, "VisibilityConfig": _visible(str(rule["Name"]))}
        for number, rule in enumerate(rules)
    ]
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"The web application firewall of the payment request service in stage {stage}.",
        "Resources": {
            "Waf": {
                "Type": "AWS::WAFv2::WebACL",
                "Properties": {
                    "Name": f"{APP}-{stage}",
                    "Scope": "REGIONAL",
                    "DefaultAction": {"Allow": {}},
                    "VisibilityConfig": _visible(f"{APP}-{stage}"),
                    "Rules": listed,
                },
            }
        },
        "Outputs": {"Waf": {"Value": {"Fn::GetAtt": ["Waf", "Arn"]}}},
    }


def stack_of(stage: str) -> str:
    """The name of the stack that holds the access control list."""
    return f"{APP}-{stage}-waf"


def apply_waf(client: Callable[[str], Any], wanted: bool, api: str | None, stage: str, caller_header: str = "") -> None:
    """Puts the firewall in front of the stage of the REST API `api`, or removes the one that it had.

    `client` makes a client of a service. Raises DeploymentStopped.
    """
    cloudformation, name = client("cloudformation"), stack_of(stage)
    if wanted and api:
        made = apply_template(cloudformation, name, stage, template_of(stage, caller_header))
        _put_before(client("wafv2"), made["Waf"], resource_of(client, api, stage))
    elif has_stack(cloudformation, name):
        if api:
            client("wafv2").disassociate_web_acl(ResourceArn=resource_of(client, api, stage))
        delete_stack(cloudformation, name)


def waf_before(client: Callable[[str], Any], api: str, stage: str) -> str | None:
    """The name of the access control list in front of the stage of the REST API `api`, if there is one."""
    try:
        found = client("wafv2").get_web_acl_for_resource(ResourceArn=resource_of(client, api, stage))
    except ClientError as error:
        if error.response["Error"]["Code"] == "WAFNonexistentItemException":
            return None
        raise
    name: str | None = found.get("WebACL", {}).get("Name")
    return name


def waf_differences(
    client: Callable[[str], Any], wanted: bool, api: str, stage: str, caller_header: str = ""
) -> Iterator[str]:
    """Yields a line if another firewall, or none, is in front of the stage, and one if it was made by other rules."""
    cloudformation, name = client("cloudformation"), stack_of(stage)
    has = has_stack(cloudformation, name)
    here = template_of(stage, caller_header)["Resources"]
    if wanted and has and read_deployed_template(cloudformation, name)["Resources"] != here:
        yield f"the stack {name} was made from another template"
    ours = f"{APP}-{stage}" if wanted else None
    there = waf_before(client, api, stage) if wanted or has else None
    if ours != there:
        yield f"API: its firewall is {there!r}, and {ours!r} here"


def resource_of(client: Callable[[str], Any], api: str, stage: str) -> str:
    """The ARN of the stage of the REST API `api`."""
    return f"arn:aws:apigateway:{client('apigateway').meta.region_name}::/restapis/{api}/stages/{stage}"


def _rates_behind_cdn(rate: Mapping[str, Any], header: str) -> list[dict[str, Any]]:
    """One rule for what has the header, by the address in it, and one for the rest: whoever calls the API itself."""
    limits = rate["RateBasedStatement"]
    stated = {"HeaderName": header, "FallbackBehavior": "MATCH"}
    has_header = {
        "SizeConstraintStatement": {
            "FieldToMatch": {"SingleHeader": {"Name": header}},
            "ComparisonOperator": "GT",
            "Size": 0,
            "TextTransformations": [{"Priority": 0, "Type": "NONE"}],
        }
    }
    behind = {**limits, "AggregateKeyType": "FORWARDED_IP", "ForwardedIPConfig": stated}
    direct = {**limits, "ScopeDownStatement": {"NotStatement": {"Statement": has_header}}}
    return [
        {"Name": name, "Statement": {"RateBasedStatement": each}, "Action": {"Block": {}}}
        for name, each in (("rate-per-address", direct), ("rate-per-address-behind-cdn", behind))
    ]


def _put_before(wafv2: Any, waf: str, resource: str) -> None:
    """A list that was just made may not be known everywhere yet."""
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while True:
        try:
            wafv2.associate_web_acl(WebACLArn=waf, ResourceArn=resource)
            return
        except ClientError as error:
            if error.response["Error"]["Code"] != "WAFUnavailableEntityException" or time.monotonic() > deadline:
                raise
        time.sleep(2)


def _visible(name: str) -> dict[str, Any]:
    return {"SampledRequestsEnabled": False, "CloudWatchMetricsEnabled": True, "MetricName": name}
