"""infra/waf.py: the firewall in front of a stage, in the local cloud."""

import json
import re
from collections.abc import Iterator

import pytest

from chalicelib.offramp.routes import ROUTES
from infra.iam import Place
from infra.local.cloud import REGION, Cloud
from infra.people import PEOPLE
from infra.stack import DeploymentStopped, has_stack
from infra.target import Target
from infra.waf import PROVIDER_EVENTS, REQUESTS, apply_waf, has_waf, resource_of, stack_of, template_of, waf_differences
from tests.deploy.people import target_as

pytestmark = pytest.mark.xdist_group("deployment")


@pytest.fixture
def api(cloud: Cloud) -> Iterator[str]:
    """A REST API of another name, as what is deployed is not touched."""
    made = cloud.client("apigateway").create_rest_api(name="behind a firewall")["id"]
    yield made
    cloud.client("apigateway").delete_rest_api(restApiId=made)


def deployer(cloud: Cloud) -> Target:
    """Who deploys a stage with a firewall has two policies."""
    target, iam = target_as(cloud, "deployer"), cloud.client("iam")
    account = cloud.client("sts").get_caller_identity()["Account"]
    iam.put_user_policy(
        UserName="deployer",
        PolicyName="waf",
        PolicyDocument=json.dumps(Place(REGION, account).fill(PEOPLE["waf"]("local"))),
    )
    return target


def test_a_firewall_is_put_before_the_api_changed_in_place_and_removed(cloud: Cloud, api: str) -> None:
    client, operator = deployer(cloud).client, target_as(cloud, "operator").client
    for _ in range(2):
        apply_waf(client, True, api, "local")
        assert list(waf_differences(operator, True, api, "local")) == []
    (line,) = waf_differences(operator, False, api, "local")
    assert line == "API: its firewall is 'payment-requests-local', and None here"
    found = cloud.client("wafv2").get_web_acl_for_resource(ResourceArn=resource_of(client, api, "local"))["WebACL"]
    assert [rule["Name"] for rule in found["Rules"]] == ["provider-events", "rate-per-address", "common-rules"]
    for _ in range(2):
        apply_waf(client, False, api, "local")
        assert list(waf_differences(operator, False, api, "local")) == []
        assert not has_stack(cloud.client("cloudformation"), stack_of("local"))
    (line,) = waf_differences(deployer(cloud).client, True, api, "local")
    assert line == "API: its firewall is None, and 'payment-requests-local' here"


def test_large_bodies_pass_and_so_do_events_of_providers() -> None:
    first, rate, common = template_of("prod")["Resources"]["Waf"]["Properties"]["Rules"]
    assert first["Action"] == {"Allow": {}}
    pattern = first["Statement"]["RegexMatchStatement"]["RegexString"]
    paths = (PROVIDER_EVENTS, f"/prod{PROVIDER_EVENTS}", f"{PROVIDER_EVENTS}/x", f"/v2/x{PROVIDER_EVENTS}")
    assert [bool(re.search(pattern, path)) for path in paths] == [True, True, False, False]
    assert rate["Action"] == {"Block": {}}
    assert rate["Statement"]["RateBasedStatement"]["Limit"] == REQUESTS
    counted = common["Statement"]["ManagedRuleGroupStatement"]["RuleActionOverrides"]
    assert {"Name": "SizeRestrictions_BODY", "ActionToUse": {"Count": {}}} in counted
    assert [first["Priority"], rate["Priority"], common["Priority"]] == [0, 1, 2]


def test_the_path_of_events_of_providers_is_that_of_the_api() -> None:
    assert PROVIDER_EVENTS in {operation.path for operation in ROUTES["service.api"]}


def test_a_stage_has_a_firewall_only_if_it_says_so() -> None:
    assert not has_waf({"stages": {"prod": {}}}, "prod")
    assert has_waf({"stages": {"prod": {"waf": True}}}, "prod")
    with pytest.raises(DeploymentStopped, match='Set "waf" of stage prod in .chalice/config.json to true or false'):
        has_waf({"stages": {"prod": {"waf": "yes"}}}, "prod")
