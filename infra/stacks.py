"""The stacks that one template makes, as CloudFormation takes 51,200 bytes of each: what holds data, and two of alarms.

    payment-requests-<stage>            tables, queues, keys, secrets, logs, the topics of the alarms
    payment-requests-<stage>-alarms     alarms by metrics of AWS
    payment-requests-<stage>-metrics    alarms by metrics of our own and of queues, and the dashboard

Those of alarms name what the first one holds, so they are made after it.
"""

from typing import Any

from infra.alarms import SQS
from infra.indexes import Template

_ALARM, _DASHBOARD = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"
_NAMES = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Logs::LogGroup": "LogGroupName",
}
_TOPIC = "AWS::SNS::Topic"


def split_into_stacks(template: Template) -> dict[str, Template]:
    """The template of each stack, by the end of its name, in the order in which they are made."""
    found: dict[str, dict[str, Any]] = {"": {}, "-alarms": {}, "-metrics": {}}
    for name, each in template["Resources"].items():
        found[_stack_of(each)][name] = each
    first = found.pop("")
    shared = {name: template[name] for name in ("AWSTemplateFormatVersion", "Parameters")}
    alarms = {end: {**shared, "Resources": _name_references(resources, first)} for end, resources in found.items()}
    return {"": {**template, "Resources": first}, **alarms}


def _stack_of(resource: dict[str, Any]) -> str:
    """The end of the name of the stack that a resource is in."""
    if resource["Type"] == _DASHBOARD or resource["Properties"].get("Namespace") in ({"Ref": "Prefix"}, SQS):
        return "-metrics"
    return "-alarms" if resource["Type"] == _ALARM else ""


def _name_references(value: Any, others: dict[str, Any]) -> Any:
    """The value with the name of each resource of the first stack in place of a reference to it."""
    if isinstance(value, list):
        return [_name_references(each, others) for each in value]
    if not isinstance(value, dict):
        return value
    referred = value.get("Ref") or value.get("Fn::GetAtt", [None])[0]
    if len(value) == 1 and referred in others:
        return _name(others[referred])
    return {name: _name_references(each, others) for name, each in value.items()}


def _name(resource: dict[str, Any]) -> Any:
    """What a reference to a resource of the first stack is: its name, for a topic its ARN."""
    if resource["Type"] == _TOPIC:
        name = resource["Properties"]["TopicName"]["Fn::Sub"]
        return {"Fn::Sub": f"arn:${{AWS::Partition}}:sns:${{AWS::Region}}:${{AWS::AccountId}}:{name}"}
    return resource["Properties"][_NAMES[resource["Type"]]]
