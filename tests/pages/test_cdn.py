"""CloudFront before the payment page: what its template keeps and passes on, played through to the service."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from chalicelib.pages.assets import served_assets
from infra import cdn
from infra.hosts import Hosts, template_of
from infra.page_hash import hashes
from infra.waf import template_of as firewall_of
from tests.oracles.node import served as served_by
from tests.support.api import Clock, Configured
from tests.support.browser import BY_PAGE, facts, get, words
from tests.support.client import Api, Reply, Shop

HEADER = f"x-{'0f' * 16}"
CERTIFICATE = "arn:aws:acm:us-east-1:000000000000:certificate/1"
HOSTS = Hosts(
    {"API_URL": "https://api.shop.com", "AUTH_URL": "https://api.shop.com", "PAY_URL": "https://pay.shop.com"},
    *("arn:aws:acm:eu-west-1:000000000000:certificate/2", "Z1", CERTIFICATE, HEADER),
)
MADE = template_of(HOSTS, "api1", "prod")
RESOURCES: dict[str, Any] = MADE["Resources"]
SETTINGS: dict[str, Any] = RESOURCES["Cdn"]["Properties"]["DistributionConfig"]


class Edge:
    """A distribution as the template has it, before a service; one place of CloudFront, with what it keeps."""

    def __init__(self, api: Api, folder: Path) -> None:
        self._api, self._script, self._kept = api, folder / "edge.js", dict[str, Reply]()
        self.asked: list[str] = []
        code = RESOURCES["CdnCaller"]["Properties"]["FunctionCode"]
        answer = "(line) => console.log(JSON.stringify(JSON.parse(line).map(handler)))"
        self._script.write_text(f"{code}require('readline').createInterface({{ input: process.stdin }}).on('line', {answer});")

    def get(self, path: str, viewer: str, headers: dict[str, str] | None = None) -> Reply:
        if path in self._kept:
            return self._kept[path]
        matching = [each for each in SETTINGS["CacheBehaviors"] if fnmatchcase(path.partition("?")[0], each["PathPattern"])]
        behavior = matching[0] if matching else SETTINGS["DefaultCacheBehavior"]
        assert behavior["OriginRequestPolicyId"] == cdn.PASSED_ON
        assert [each["EventType"] for each in behavior["FunctionAssociations"]] == ["viewer-request"]
        sent = self._run({name.lower(): value for name, value in (headers or {}).items()}, viewer)
        self.asked.append(path)
        reply = get(self._api, path, sent)
        if matching and "max-age" in reply.headers.get("cache-control", ""):
            self._kept[path] = reply
        return reply

    def _run(self, headers: dict[str, str], viewer: str) -> dict[str, str]:
        event = {"viewer": {"ip": viewer}, "request": {"headers": {name: {"value": text} for name, text in headers.items()}}}
        (request,) = served_by(str(self._script), [event])
        return {name: each["value"] for name, each in request["headers"].items()}


@pytest.fixture
def edge(api: Api, tmp_path: Path) -> Edge:
    return Edge(api, tmp_path)


def test_files_are_kept_and_nothing_else() -> None:
    def is_kept(path: str) -> bool:
        return any(fnmatchcase(path, each["PathPattern"]) for each in SETTINGS["CacheBehaviors"])

    assert all(is_kept(f"/pages/{path}") for path in served_assets())
    others = ("/", "/pages/qr.svg", "/pages/logos/1", "/v2/health", "/v2/secure-payments/x", "/v1/auth/me", "/docs")
    assert not any(is_kept(path) for path in others)
    policy = RESOURCES["CdnFiles"]["Properties"]["CachePolicyConfig"]
    assert (policy["MinTTL"], policy["DefaultTTL"], policy["MaxTTL"]) == (0, 0, 31_536_000), "as the service says"
    key = policy["ParametersInCacheKeyAndForwardedToOrigin"]
    assert [key[f"{each}sConfig"][f"{each}Behavior"] for each in ("Header", "Cookie", "QueryString")] == ["none"] * 3
    assert SETTINGS["DefaultCacheBehavior"]["CachePolicyId"] == cdn.NEVER_KEPT
    assert {each["ErrorCachingMinTTL"] for each in SETTINGS["CustomErrorResponses"]} == {0}
    assert {403, 404, 500, 502, 503, 504} <= {each["ErrorCode"] for each in SETTINGS["CustomErrorResponses"]}


def test_the_host_of_the_page_leads_to_cloudfront_and_the_others_to_the_api() -> None:
    assert SETTINGS["Aliases"] == ["pay.shop.com"]
    assert SETTINGS["ViewerCertificate"]["AcmCertificateArn"] == CERTIFICATE
    (origin,) = SETTINGS["Origins"]
    assert origin["DomainName"] == {"Fn::GetAtt": ["PayDomain", "RegionalDomainName"]}
    assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"
    assert MADE["Outputs"]["Pay"]["Value"] == {"Fn::GetAtt": ["Cdn", "DomainName"]}
    assert MADE["Outputs"]["Api"]["Value"] == {"Fn::GetAtt": ["ApiDomain", "RegionalDomainName"]}
    records = {name: each["Properties"]["AliasTarget"] for name, each in RESOURCES.items() if name.endswith("Record")}
    assert records["PayARecord"] == {"DNSName": {"Fn::GetAtt": ["Cdn", "DomainName"]}, "HostedZoneId": cdn.HOSTED_ZONE}
    assert records["ApiARecord"]["DNSName"] == {"Fn::GetAtt": ["ApiDomain", "RegionalDomainName"]}


def test_every_method_host_and_header_passes_and_no_response_is_changed() -> None:
    behaviors = [SETTINGS["DefaultCacheBehavior"], *SETTINGS["CacheBehaviors"]]
    assert {each["OriginRequestPolicyId"] for each in behaviors} == {cdn.PASSED_ON}
    assert not any("ResponseHeadersPolicyId" in each for each in behaviors)
    assert {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} < {*SETTINGS["DefaultCacheBehavior"]["AllowedMethods"]}


def test_the_page_is_the_same_behind_it_and_its_files_are_asked_for_once(api: Api, shop: Shop, edge: Edge) -> None:
    path, host = f"/?token={shop.link()}", {"Host": "pay.test"}
    for _ in range(2):
        page = edge.get(path, "203.0.113.7", host)
        direct = get(api, path, host)
        assert page.body == direct.body
        for name in ("content-security-policy", "cache-control", "x-content-type-options", "cross-origin-opener-policy"):
            assert page.headers[name] == direct.headers[name]
        for name in served_assets():
            assert edge.get(f"/pages/{name}", "203.0.113.7", host).body == get(api, f"/pages/{name}", host).body
    assert edge.asked == [path, *(f"/pages/{name}" for name in served_assets()), path]
    pages = {"/", "/?connect=walletconnect"}
    assert hashes().keys() == pages | {f"/pages/{name}" for name in served_assets()}
    assert edge.get("/?token=x", "203.0.113.7", {"Host": "api.test"}).status == 404


def test_a_file_that_is_missing_for_a_moment_is_there_a_moment_later(api: Api, edge: Edge) -> None:
    for _ in range(2):
        assert edge.get("/pages/page.0000000000000000.js", "203.0.113.7").status == 404
    assert len(edge.asked) == 2


def test_a_caller_is_counted_by_his_own_address_whatever_he_says_it_is(
    api: Api, new_shop: Shop, configured: Configured, clock: Clock, edge: Edge
) -> None:
    path = f"/?token={new_shop.link()}"
    with configured(TRUSTED_PROXY_HEADER=HEADER):
        for number in range(31):
            edge.get(f"/?token=guess{number}", "203.0.113.7", {HEADER: f"198.51.100.{number}"})
            clock.advance(1)
        assert "12.5 fUSDC" not in words(facts(edge.get(path, "203.0.113.7", {HEADER: "198.51.100.99"})))
        assert "12.5 fUSDC" in words(facts(edge.get(path, "203.0.113.8")))
        assert "12.5 fUSDC" in words(facts(get(api, path, BY_PAGE)))
    clock.advance(300)


def test_a_firewall_counts_what_comes_from_cloudfront_by_the_address_that_it_states() -> None:
    rules = {each["Name"]: each for each in firewall_of("prod", HEADER)["Resources"]["Waf"]["Properties"]["Rules"]}
    assert [each["Priority"] for each in rules.values()] == [0, 1, 2, 3]
    behind = rules["rate-per-address-behind-cdn"]["Statement"]["RateBasedStatement"]
    assert behind["ForwardedIPConfig"]["HeaderName"] == HEADER
    direct = rules["rate-per-address"]["Statement"]["RateBasedStatement"]
    has_header = direct["ScopeDownStatement"]["NotStatement"]["Statement"]["SizeConstraintStatement"]
    assert (direct["AggregateKeyType"], has_header["FieldToMatch"]) == ("IP", {"SingleHeader": {"Name": HEADER}})
