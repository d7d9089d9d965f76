"""Finds keys of a stage that a person has disabled, of which CloudFormation finds no difference from a template."""

from collections.abc import Iterator
from typing import Any

from infra import APP


def find_disabled_keys(kms: Any, stage: str) -> Iterator[str]:
    """Names the keys with which nothing can be read or signed now."""
    for page in kms.get_paginator("list_aliases").paginate():
        for each in page["Aliases"]:
            if each["AliasName"].startswith(f"alias/{APP}-{stage}-"):
                state = kms.describe_key(KeyId=each["TargetKeyId"])["KeyMetadata"]["KeyState"]
                if state != "Enabled":
                    yield f"{each['AliasName']}: its key is {state}, so that nothing can be read or signed with it"
