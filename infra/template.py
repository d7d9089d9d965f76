"""The template of a stage: template.yaml, and what repeats by table, queue, function and network.

infra/stacks.py makes the stacks of it, as CloudFormation takes only so much in one.
"""

from functools import cache
from pathlib import Path

import yaml

from infra.alarm_resources import alarms
from infra.dashboard import dashboard
from infra.indexes import Template
from infra.resources import log_groups, queues, tables

_ONCE = Path(__file__).with_name("template.yaml")


@cache
def whole_template() -> Template:
    """All resources of a stage in one template. Callers change a copy of it."""
    read: Template = yaml.safe_load(_ONCE.read_text())
    resources = [read["Resources"], tables(), queues(), log_groups(), alarms(), dashboard()]
    return {**read, "Resources": {name: each for some in resources for name, each in some.items()}}
