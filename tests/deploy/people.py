"""The two people of a stage as users of a local cloud that enforces IAM, each with the policies of infra/people.py."""

import json
from dataclasses import replace
from functools import cache

import pytest

from infra.iam import Place
from infra.local.cloud import REGION, Cloud
from infra.people import PEOPLE, POLICIES
from infra.target import Target, target_of


def target_as(cloud: Cloud, person: str) -> Target:
    """Stage local of a cloud, for the commands that the person runs."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", cloud.url)
        target = target_of("local")
    return replace(target, environment={**target.environment, **key_of(cloud, person)})


@cache
def key_of(cloud: Cloud, person: str) -> dict[str, str]:
    """The credentials of the person, who is made by the first call."""
    iam, place = cloud.client("iam"), Place(REGION, cloud.client("sts").get_caller_identity()["Account"])
    iam.create_user(UserName=person)
    for name in POLICIES[person]:
        document = json.dumps(place.fill(PEOPLE[name]("local")))
        policy = iam.create_policy(PolicyName=name, PolicyDocument=document)["Policy"]["Arn"]
        iam.attach_user_policy(UserName=person, PolicyArn=policy)
    key = iam.create_access_key(UserName=person)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
