"""The hosts of a stage: what is refused before anything is made, and a stage at hosts of its own in the local cloud."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from infra.account import rest_api_id
from infra.deploy import deploy, finish
from infra.hosts import Hosts, apply_hosts, check_hosts, hosts_of, template_of, wait_for_hosts
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from infra.stack import DeploymentStopped
from infra.target import Target, target_of
from infra.verify import domain_differences
from tests.deploy.faults import door
from tests.deploy.nodes import nodes_from_the_start
from tests.support.paid_in_browser import pay_in_browser
from tests.support.patience import patience
from tests.support.running_browser import running_browser

pytestmark = pytest.mark.xdist_group("deployment")

REGION = "us-east-1"
ARN = f"arn:aws:acm:{REGION}:000000000000:certificate/00000000-0000-0000-0000-000000000000"
OURS = {
    "API_URL": "https://api.dev.shop-pays.com",
    "AUTH_URL": "https://auth.dev.shop-pays.com",
    "PAY_URL": "https://pay.shop-pays.com",
    "EXPLORER_URL": "https://explorer.shop-pays.com",
    "SESSION_DOMAIN": "dev.shop-pays.com",
}
PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
NATIVE = "ETH-sepolia-sepolia"


def read(hosts: Any = None, **variables: str) -> tuple[Hosts | None, dict[str, str]]:
    said = {"certificate": ARN, "hosted_zone": ""} if hosts is None else hosts
    own = {**OURS, **variables}
    return hosts_of({"stages": {"prod": {"hosts": said, "environment_variables": own}}}, "prod"), own


def check(hosts: Any = None, **variables: str) -> None:
    found, own = read(hosts, **variables)
    check_hosts(found, "prod", own, REGION)


def test_hosts_of_ones_own_are_taken() -> None:
    check()
    check(API_URL="https://pay.shop-pays.com", AUTH_URL="https://pay.shop-pays.com", SESSION_DOMAIN="")
    check("none", API_URL="https://api.example.com", AUTH_URL="http://localhost")
    check({"certificate": ARN, "cdn": ARN}, TRUSTED_PROXY_HEADER=f"x-{'0f' * 16}")


@pytest.mark.parametrize(
    ("hosts", "variables", "said"),
    [
        (None, {"API_URL": "https://api.example.com"}, "Set API_URL of stage prod in .chalice/config.json to hosts of yours"),
        (None, {"PAY_URL": "https://pay.shop.example"}, "Set PAY_URL of"),
        (None, {"AUTH_URL": "https://localhost"}, "Set AUTH_URL of"),
        (None, {"AUTH_URL": "https://10.0.0.1", "PAY_URL": "https://a.test"}, "Set AUTH_URL and PAY_URL of"),
        ("none", {"EXPLORER_URL": "https://explorer.example.com"}, "Set EXPLORER_URL of"),
        (None, {"API_URL": "http://api.dev.shop-pays.com"}, "to https:// and a host, without a path"),
        (None, {"PAY_URL": "https://pay.shop-pays.com/pay"}, "to https:// and a host, without a path"),
        ({"hosted_zone": "Z1"}, {}, 'Set "certificate" in "hosts" of stage prod in .chalice/config.json to the ARN'),
        ({"certificate": ARN.replace(REGION, "eu-west-1")}, {}, f"a certificate of ACM in {REGION} for"),
        (None, {"SESSION_DOMAIN": "example.com"}, "Set SESSION_DOMAIN of stage prod"),
        ({"certificate": ARN, "cdn": ARN.replace(REGION, "eu-west-1")}, {}, 'Set "cdn" in "hosts" of stage prod'),
        ({"certificate": ARN, "cdn": ARN}, {}, "Set TRUSTED_PROXY_HEADER of stage prod in .chalice/config.json to x-"),
        ({"certificate": ARN, "cdn": ARN}, {"TRUSTED_PROXY_HEADER": "CloudFront-Viewer-Address"}, "openssl rand -hex 16"),
        ("", {}, 'Set "hosts" of stage prod in .chalice/config.json'),
        ({}, {}, 'Set "certificate" in "hosts"'),
    ],
)
def test_what_leads_nowhere_is_refused_with_what_to_set(hosts: Any, variables: dict[str, str], said: str) -> None:
    with pytest.raises(DeploymentStopped) as stopped:
        check(hosts, **variables)
    assert said in str(stopped.value)
    assert "\n" not in str(stopped.value)


def test_a_host_whose_setting_is_mistyped_is_refused_with_what_to_set() -> None:
    own = {name.replace("PAY_URL", "PAY_ULR"): value for name, value in OURS.items()}
    hosts = hosts_of({"stages": {"prod": {"hosts": {"certificate": ARN}, "environment_variables": own}}}, "prod")
    with pytest.raises(DeploymentStopped, match=r"^Set PAY_URL of stage prod in \.chalice/config\.json to hosts of yours"):
        check_hosts(hosts, "prod", own, REGION)


def test_each_host_has_one_domain_with_tls_1_2_a_mapping_and_records_if_there_is_a_zone() -> None:
    hosts, _ = read({"certificate": ARN, "hosted_zone": "Z1"}, AUTH_URL=OURS["API_URL"])
    assert hosts is not None
    made = template_of(hosts, "api1", "prod")["Resources"]
    kinds = ("Domain", "Mapping", "ARecord", "AAAARecord")
    assert made.keys() == {f"{role}{kind}" for role in ("Api", "Pay") for kind in kinds}
    assert {made[f"{role}Domain"]["Properties"]["SecurityPolicy"] for role in ("Api", "Pay")} == {"TLS_1_2"}
    assert template_of(replace(hosts, hosted_zone=""), "api1", "prod")["Resources"].keys() == {
        f"{role}{kind}" for role in ("Api", "Pay") for kind in kinds[:2]
    }


def test_a_host_that_dns_does_not_know_is_named_with_the_records_to_create() -> None:
    hosts = Hosts(dict.fromkeys(("API_URL", "AUTH_URL", "PAY_URL"), "https://pay.no-such-host.invalid"), ARN, "")
    with pytest.raises(DeploymentStopped) as stopped:
        wait_for_hosts(hosts, {"pay.no-such-host.invalid": "d-1.execute-api.us-east-1.amazonaws.com"}, "prod")
    assert str(stopped.value) == (
        "DNS does not know pay.no-such-host.invalid yet: create these records, then run the command again:"
        " pay.no-such-host.invalid CNAME d-1.execute-api.us-east-1.amazonaws.com"
    )


def test_a_host_that_is_new_is_waited_for_and_then_the_command_that_goes_on_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("infra.hosts.ANSWERING_WITHIN_SECONDS", 1)
    monkeypatch.setattr("infra.hosts.SAID_EVERY_SECONDS", 0)
    hosts = Hosts(dict.fromkeys(("API_URL", "AUTH_URL", "PAY_URL"), "https://pay.no-such-host.invalid"), ARN, "Z1")
    with pytest.raises(DeploymentStopped, match=r"does not answer: .* When it does, run `make finish STAGE=prod`\."):
        wait_for_hosts(hosts, {}, "prod")
    assert capsys.readouterr().err.startswith("pay.no-such-host.invalid does not answer yet: ")


@dataclass(frozen=True)
class Placed:
    """A stage at hosts of its own, and how its API is called."""

    target: Target
    hosts: Hosts
    cloud: Cloud

    def call(self, variable: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
        """Sends a request to the cloud, for the host of that setting, as DNS does not know it."""
        sent = {"content-type": "application/json", "host": urlsplit(self.hosts.urls[variable]).netloc, **headers}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.cloud.url}{path}", data, sent, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=patience(2))
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            text = answer.read().decode()
            return answer.status, answer.headers, json.loads(text) if text.startswith("{") else text


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with Chain.start("sepolia") as running:
        yield running


@pytest.fixture(scope="module")
def placed(cloud: Cloud, chain: Chain) -> Iterator[Placed]:
    """The stage at api., auth. and pay.shop.localhost, which browsers look for on this machine."""
    port = urlsplit(cloud.url).port
    urls = {f"{name.upper()}_URL": f"http://{name}.shop.localhost:{port}" for name in ("api", "auth", "pay")}
    certificate = cloud.client("acm").request_certificate(DomainName="*.shop.localhost")["CertificateArn"]
    zone = cloud.client("route53").create_hosted_zone(Name="shop.localhost", CallerReference="1")["HostedZone"]["Id"]
    hosts = Hosts(urls, certificate, zone.rpartition("/")[2])
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", cloud.url)
        target = replace(target_of("local"), hosts=hosts)
        with nodes_from_the_start(cloud, "payment-requests-local", {"sepolia": chain.url}):
            assert deploy(target) == urls["API_URL"]
        yield Placed(target, hosts, cloud)


def test_a_stage_at_hosts_of_its_own_is_paid_in_a_browser(placed: Placed, chain: Chain, browser: Browser) -> None:
    user = {"email": "hosts@example.com", "password": "correct horse"}
    assert placed.call("AUTH_URL", "POST", "/v1/auth/register", user)[0] == 201
    _, headers, _ = placed.call("AUTH_URL", "POST", "/v1/auth/login", user)
    cookie, _, attributes = headers["set-cookie"].partition(";")
    assert "Path=/;" in attributes
    key = placed.call("AUTH_URL", "POST", "/v1/api-keys", {"label": "shop"}, cookie=cookie)[2]["key"]
    item = {"amount": "0.5", "payee": PAYEE, "invoiceCurrency": NATIVE, "paymentCurrency": NATIVE}
    made = placed.call("API_URL", "POST", "/v2/secure-payments", {"requests": [item]}, **{"x-api-key": key})[2]
    assert made["securePaymentUrl"] == f"{placed.hosts.urls['PAY_URL']}/?token={made['token']}"
    assert placed.call("API_URL", "GET", "/")[0] == 404
    assert len(pay_in_browser(browser, made["securePaymentUrl"], chain)) == 1


def test_a_deployment_without_its_domains_names_the_step(placed: Placed) -> None:
    with door(placed.cloud.url, lambda _method, _path, body: b"payment-requests-local-hosts" in body) as url:
        target = replace(placed.target, environment={**placed.target.environment, "AWS_ENDPOINT_URL": url})
        with pytest.raises(DeploymentStopped, match="^The domains: "):
            finish(target)


def test_a_mapping_that_was_made_for_another_host_is_found(placed: Placed) -> None:
    others = replace(placed.hosts, urls={**placed.hosts.urls, "PAY_URL": "http://other.shop.localhost"})
    api = str(rest_api_id(placed.cloud.client, "local"))
    assert list(domain_differences(placed.target, api)) == []
    (line,) = domain_differences(replace(placed.target, hosts=others), api)
    assert line.startswith("the stack payment-requests-local-hosts was made for other hosts: PayAAAARecord, PayARecord")


def test_a_stage_that_has_no_dns_any_more_loses_its_domains(placed: Placed) -> None:
    apply_hosts(placed.cloud.client("cloudformation"), None, "", "local")
    assert placed.cloud.client("apigateway").get_domain_names().get("items", []) == []
    assert list(domain_differences(replace(placed.target, hosts=None), "")) == []
