"""The two stacks that one template makes, as CloudFormation takes 51,200 bytes of each: the alarms are in the second.

The second stack names what the first one holds, so it is made after it.
"""

from typing import Any

from infra.indexes import Template

ALARM_KINDS = ("AWS::CloudWatch::Alarm", "AWS::Logs::MetricFilter")
_NAMES = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Logs::LogGroup": "LogGroupName",
}
_TOPIC = "AWS::SNS::Topic"


def parts(template: Template) -> tuple[Template, Template]:
    """The template without the alarms and their metrics, and the template of these, with the same parameters."""
    resources = template["Resources"]
    alarms = {name: each for name, each in resources.items() if each["Type"] in ALARM_KINDS}
    others = {name: each for name, each in resources.items() if name not in alarms}
    named = _named(alarms, others)
    second = {name: template[name] for name in ("AWSTemplateFormatVersion", "Parameters")}
    description = f"{template['Description'].split(' - ')[0]} - alarms of one stage"
    return {**template, "Resources": others}, {**second, "Description": description, "Resources": named}


def _named(value: Any, others: dict[str, Any]) -> Any:
    """The value with the name of each resource of the first stack in place of a reference to it."""
    if isinstance(value, list):
        return [_named(each, others) for each in value]
    if not isinstance(value, dict):
        return value
    referred = value.get("Ref") or value.get("Fn::GetAtt", [None])[0]
    if len(value) == 1 and referred in others:
        return _name(others[referred])
    return {name: _named(each, others) for name, each in value.items()}


def _name(resource: dict[str, Any]) -> Any:
    """What a reference to a resource of the first stack is: its name, for the topic its ARN."""
    if resource["Type"] == _TOPIC:
        name = resource["Properties"]["TopicName"]["Fn::Sub"]
        return {"Fn::Sub": f"arn:${{AWS::Partition}}:sns:${{AWS::Region}}:${{AWS::AccountId}}:{name}"}
    return resource["Properties"][_NAMES[resource["Type"]]]
