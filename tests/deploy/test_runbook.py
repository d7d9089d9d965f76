"""infra/runbook.md: it names every command and alarm, as they are. tests/docs/test_runbook_commands.py runs the commands."""

import os
import re
import shlex
import subprocess

import pytest

from chalicelib.base import records as base_records
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.platform.settings import Settings
from infra import admin
from infra.configuration import ROOT, variables_of
from infra.iam import ACCESS
from infra.template import whole_template

RUNBOOK = (ROOT / "infra" / "runbook.md").read_text()
COMMANDS = re.findall(r"^    (?:.*\| )?\.venv/bin/python -m infra\.admin (.*)$", RUNBOOK, re.MULTILINE)


def block(first_words: str) -> str:
    """A command that may go on over lines, as it is written there."""
    found = re.search(rf"^    {re.escape(first_words)}(.*\n(?:    .*\n)*)", RUNBOOK, re.MULTILINE)
    assert found
    return first_words + re.sub(r"^    ", "", found[1], flags=re.MULTILINE)


def shell(script: str, **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_it_names_every_command_of_the_operator() -> None:
    (choices,) = re.findall(r"\{([a-z,-]+)\}", admin._parser().format_usage().replace("\n", ""))
    assert {command.split()[0] for command in COMMANDS} == set(choices.split(","))


def test_its_table_has_every_alarm_and_no_other() -> None:
    resources = whole_template()["Resources"].values()
    alarms = [each["Properties"]["AlarmName"] for each in resources if each["Type"] == "AWS::CloudWatch::Alarm"]
    places = {
        "<function>": ACCESS,
        "<schedule>": [each for each, access in ACCESS.items() if not access.consumes and each != "api_handler"],
        "<network>": [network.name for network in ALL_NETWORKS],
        "<table>": (base_records.PAYMENTS, base_records.IDENTITY, base_records.SESSIONS, base_records.WEBHOOKS, base_records.MAILS, base_records.OPS, base_records.KEYS),
    }
    rows = re.findall(r"^\| (`.*?) \|", RUNBOOK.split("## Alarms")[1].split("## Dead letters")[0], re.MULTILINE)
    explained = set()
    for name in re.findall(r"`([^`]+)`", " ".join(rows)):
        place = next((place for place in places if place in name), name)
        explained |= {name.replace(place, value) for value in places.get(place, (name,))}
    assert explained == {alarm["Fn::Sub"].removeprefix("${Prefix}-") for alarm in alarms}


def test_it_names_the_alarms_that_wake_a_person() -> None:
    resources = whole_template()["Resources"].values()
    woken = {
        each["Properties"]["AlarmName"]["Fn::Sub"].removeprefix("${Prefix}-")
        for each in resources
        if each["Type"] == "AWS::CloudWatch::Alarm" and each["Properties"]["AlarmActions"] == [{"Ref": "AlarmTopic"}]
    }
    listed = RUNBOOK.split("These wake a person")[1].split("All others go")[0].split(":", 1)[1]
    lags = {f"lag-{network.name}" for network in ALL_NETWORKS if network.name != "sepolia"}
    assert woken == set(re.findall(r"`([^`]+)`", listed)) - {"lag-<network>"} | lags


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_one_that_is_understood(command: str) -> None:
    assert admin._parser().parse_args(shlex.split(command, comments=True)).command == command.split()[0]


def test_the_variables_of_a_stage_are_all_that_the_commands_need(monkeypatch: pytest.MonkeyPatch) -> None:
    script = block('eval "$(python3 -c').split(".venv/bin/python -m infra.admin")[0]
    wanted = variables_of("prod")
    found = dict(line.split("=", 1) for line in shell(f"{script}\nenv").splitlines())
    assert wanted.items() <= found.items()
    for name in Settings.variables() & found.keys():
        monkeypatch.setenv(name, found[name])
    assert Settings.read().resource_prefix == "payment-requests-prod"
