"""docs/workflows.arazzo.yaml: its steps are operations of the document, and what they pass on is there."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from chalicelib.platform.http.documents import FOLDER, OPENAPI, WORKFLOWS
from tests.support.browser import get
from tests.support.client import Api

ARAZZO: dict[str, Any] = yaml.safe_load((FOLDER / WORKFLOWS).read_text())
DOCUMENT: dict[str, Any] = json.loads((FOLDER / OPENAPI).read_text())
FLOWS: list[dict[str, Any]] = ARAZZO["workflows"]
STEPS = [(flow, step) for flow in FLOWS for step in flow["steps"]]
each_flow = pytest.mark.parametrize("flow", FLOWS, ids=[flow["workflowId"] for flow in FLOWS])
each_step = pytest.mark.parametrize(
    ("flow", "step"), STEPS, ids=[f"{flow['workflowId']}-{step['stepId']}" for flow, step in STEPS]
)


def texts(value: Any) -> Iterator[str]:
    """Every text in a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def operation_of(step: dict[str, Any]) -> dict[str, Any]:
    operations = [each for methods in DOCUMENT["paths"].values() for each in methods.values()]
    (found,) = [each for each in operations if each["operationId"] == step["operationId"]]
    return dict(found)


def schema_of(schema: dict[str, Any]) -> dict[str, Any]:
    return DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to. Raises KeyError, IndexError."""
    for name in pointer.split("/")[1:]:
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


@each_step
def test_a_step_calls_an_operation_with_its_own_parameters(flow: dict[str, Any], step: dict[str, Any]) -> None:
    operation = operation_of(step)
    known = {(each["name"], each["in"]): each.get("required", False) for each in operation.get("parameters", ())}
    given = {(each["name"], each["in"]) for each in step["parameters"]}
    assert given - {*known} == {("x-api-key", "header")}
    assert {name for name, is_required in known.items() if is_required} <= given
    assert any("apiKey" in each for each in operation["security"])


@each_step
def test_a_body_has_fields_of_its_model_and_all_that_it_requires(flow: dict[str, Any], step: dict[str, Any]) -> None:
    body = step.get("requestBody", {})
    models = operation_of(step).get("requestBody", {}).get("content", {}).get("application/json", {})
    if body or models:
        model = schema_of(models["schema"])
        assert {*model.get("required", ())} <= {*body["payload"]} <= {*model["properties"]}


@each_step
def test_an_output_is_in_the_example_of_the_answer(flow: dict[str, Any], step: dict[str, Any]) -> None:
    status = step["successCriteria"][0]["condition"].removeprefix("$statusCode == ")
    content = operation_of(step)["responses"][status]["content"]["application/json"]
    examples = [each["value"] for each in content.get("examples", {"only": {"value": content.get("example")}}).values()]
    for text in texts([step["outputs"], step["successCriteria"]]):
        pointer = text.partition("#")[2].split(" ")[0]
        assert any(at(example, pointer) is not None for example in examples), pointer


@each_flow
def test_a_workflow_uses_its_inputs_and_what_earlier_steps_give(flow: dict[str, Any]) -> None:
    assert flow["inputs"]["required"] == [*flow["inputs"]["properties"]]
    known = set[str]()
    for step in flow["steps"]:
        sent = [step["parameters"], step.get("requestBody", {})]
        assert {each for text in texts(sent) for each in re.findall(r"\$steps\.\w+\.outputs\.\w+", text)} <= known
        known |= {f"$steps.{step['stepId']}.outputs.{name}" for name in step["outputs"]}
    assert {*flow["outputs"].values()} <= known
    inputs = {each for text in texts(flow["steps"]) for each in re.findall(r"\$inputs\.(\w+)", text)}
    assert inputs == {*flow["inputs"]["properties"]}


def test_the_service_shows_the_workflows_beside_the_document_that_they_name(api: Api) -> None:
    reply = get(api, f"/{WORKFLOWS}")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/yaml; charset=utf-8")
    served = yaml.safe_load(reply.body)
    assert served == ARAZZO
    assert get(api, f"/{served['sourceDescriptions'][0]['url']}").status == 200
