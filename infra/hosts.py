"""The hosts at which a stage is called: custom domains of its API, or, without DNS, the API's own URL below /<stage>.

`.chalice/config.json` says which, for each stage:

    "hosts": {"certificate": "arn:aws:acm:...", "hosted_zone": "Z..."}    the hosts of API_URL, AUTH_URL and PAY_URL
    "hosts": "none"                                                       no DNS here: all three are the API's own URL

The domains are a stack of their own, `payment-requests-<stage>-hosts`, which is made after the API. `hosted_zone` may
be empty: then the operator creates the DNS records that the deployment names. With `"cdn"`, the ARN of a certificate in
us-east-1, CloudFront stands before the host of PAY_URL (infra/cdn.py).
"""

import re
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from infra import APP, cdn
from infra.indexes import Template
from infra.stack import DeploymentStopped, apply_template, delete_stack

ROLES = {"Api": "API_URL", "Auth": "AUTH_URL", "Pay": "PAY_URL"}
ANSWERING_WITHIN_SECONDS = 900
"""How long hosts are waited for: a new domain takes some minutes, and whoever has asked DNS before remembers for up to
fifteen that there was no record."""
SAID_EVERY_SECONDS = 30
_RESERVED = re.compile(
    r"(?:^|\.)(?:example(?:\.(?:com|net|org))?|test|invalid|localhost|local)$|^[0-9.]+$|^[^.]*$|[^a-z0-9.-]"
)
"""Names that never lead anywhere (RFC 2606, RFC 6761), addresses, and what is not a name of a host."""


@dataclass(frozen=True)
class Hosts:
    """`urls` by the setting that holds each: API_URL, AUTH_URL and PAY_URL, which may be the same. With `cdn`, a
    certificate, CloudFront is before PAY_URL and states callers in `caller_header`, TRUSTED_PROXY_HEADER."""

    urls: Mapping[str, str]
    certificate: str
    hosted_zone: str
    cdn: str = ""
    caller_header: str = ""

    @property
    def roles(self) -> dict[str, str]:
        """Each host once, with the first of ROLES that it has."""
        return {str(urlsplit(self.urls[variable]).hostname): role for role, variable in reversed(ROLES.items())}


def hosts_of(config: Mapping[str, Any], stage: str) -> Hosts | None:
    """What `.chalice/config.json` says; None without DNS. Raises DeploymentStopped if it is neither form."""
    own = config["stages"][stage]
    said = own.get("hosts")
    if said == "none":
        return None
    if not isinstance(said, dict):
        raise DeploymentStopped(
            f'Set "hosts" of stage {stage} in .chalice/config.json to {{"certificate": "<ARN>", "hosted_zone": "<id>"}}'
            ', or to "none" if it has no DNS.'
        )
    variables = own["environment_variables"]
    urls = {variable: variables.get(variable, "") for variable in ROLES.values()}
    header = variables.get("TRUSTED_PROXY_HEADER", "") if said.get("cdn") else ""
    return Hosts(urls, said.get("certificate", ""), said.get("hosted_zone", ""), said.get("cdn", ""), header)


def check_hosts(hosts: Hosts | None, stage: str, variables: Mapping[str, str], region: str) -> None:
    """Raises DeploymentStopped, which says what to set, if AWS or a payer could do nothing with these hosts.

    `variables` are the settings of the stage in .chalice/config.json.
    """
    urls = {**(hosts.urls if hosts else {}), "EXPLORER_URL": variables["EXPLORER_URL"]}
    wrong = [name for name, url in urls.items() if _RESERVED.search(urlsplit(url).hostname or "")]
    if wrong:
        otherwise = ', or its "hosts" to "none" to use the URL of API Gateway' if wrong != ["EXPLORER_URL"] else ""
        raise DeploymentStopped(
            f"Set {_join_names(wrong)} of stage {stage} in .chalice/config.json to hosts of yours{otherwise}:"
            f" {urls[wrong[0]]} is a placeholder."
        )
    if hosts is None:
        return
    odd = [name for name, url in hosts.urls.items() if url != f"https://{urlsplit(url).hostname}"]
    if odd:
        raise DeploymentStopped(
            f"Set {_join_names(odd)} of stage {stage} in .chalice/config.json to https:// and a host, without a path:"
            f" {hosts.urls[odd[0]]} is something else."
        )
    if not hosts.certificate.startswith(f"arn:aws:acm:{region}:"):
        raise DeploymentStopped(
            f'Set "certificate" in "hosts" of stage {stage} in .chalice/config.json to the ARN of a certificate of ACM'
            f" in {region} for {_join_names(list(hosts.roles))}."
        )
    if hosts.cdn and not hosts.cdn.startswith(f"arn:aws:acm:{cdn.REGION}:"):
        raise DeploymentStopped(
            f'Set "cdn" in "hosts" of stage {stage} in .chalice/config.json to the ARN of a certificate of ACM in'
            f" {cdn.REGION} for {urlsplit(hosts.urls['PAY_URL']).hostname}: CloudFront takes it from nowhere else."
        )
    if hosts.cdn and not cdn.SECRET_HEADER.fullmatch(hosts.caller_header):
        raise DeploymentStopped(
            f"Set TRUSTED_PROXY_HEADER of stage {stage} in .chalice/config.json to x- and what `openssl rand -hex 16`"
            " prints: CloudFront states callers' addresses in a header whose name only you know."
        )
    domain = variables.get("SESSION_DOMAIN", "")
    strange = [urlsplit(hosts.urls[name]).hostname for name in ("API_URL", "AUTH_URL")]
    if domain and not all(f".{host}".endswith(f".{domain}") for host in strange):
        raise DeploymentStopped(
            f"Set SESSION_DOMAIN of stage {stage} in .chalice/config.json to a domain that {_join_names(strange)}"
            f' share, or to "": they are not below {domain}.'
        )


def without_dns(url: str) -> dict[str, str]:
    """The settings of a stage that is called at the API's own URL. Its cookies are for that API alone."""
    return {**dict.fromkeys(ROLES.values(), url), "SESSION_DOMAIN": ""}


def template_of(hosts: Hosts, api: str, stage: str) -> Template:
    """A regional domain for each host, mapped to the stage of the REST API `api`; DNS records if there is a zone."""
    resources: dict[str, Any] = {}
    targets: dict[str, Any] = {}
    for host, role in hosts.roles.items():
        domain = {"Fn::GetAtt": [f"{role}Domain", "RegionalDomainName"]}
        zone: Any = {"Fn::GetAtt": [f"{role}Domain", "RegionalHostedZoneId"]}
        if hosts.cdn and host == urlsplit(hosts.urls["PAY_URL"]).hostname:
            resources |= cdn.resources(f"{APP}-{stage}", host, domain, hosts.cdn, hosts.caller_header)
            domain, zone = {"Fn::GetAtt": ["Cdn", "DomainName"]}, cdn.HOSTED_ZONE
        targets[role] = domain
        resources[f"{role}Domain"] = {
            "Type": "AWS::ApiGateway::DomainName",
            "Properties": {
                "DomainName": host,
                "EndpointConfiguration": {"Types": ["REGIONAL"]},
                "RegionalCertificateArn": hosts.certificate,
                "SecurityPolicy": "TLS_1_2",
            },
        }
        resources[f"{role}Mapping"] = {
            "Type": "AWS::ApiGateway::BasePathMapping",
            "Properties": {"DomainName": {"Ref": f"{role}Domain"}, "RestApiId": api, "Stage": stage},
        }
        for kind in ("A", "AAAA") if hosts.hosted_zone else ():
            resources[f"{role}{kind}Record"] = {
                "Type": "AWS::Route53::RecordSet",
                "Properties": {
                    "HostedZoneId": hosts.hosted_zone,
                    "Name": host,
                    "Type": kind,
                    "AliasTarget": {"DNSName": domain, "HostedZoneId": zone},
                },
            }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"The hosts of the payment request service in stage {stage}: domains of its API.",
        "Resources": resources,
        "Outputs": {role: {"Value": target} for role, target in targets.items()},
    }


def stack_of(stage: str) -> str:
    """The name of the stack that holds the domains."""
    return f"{APP}-{stage}-hosts"


def apply_hosts(cloudformation: Any, hosts: Hosts | None, api: str, stage: str) -> dict[str, str]:
    """Creates or updates the domains, or deletes those that a stage had before it had no DNS.

    Returns the target of the DNS record of each host. Raises DeploymentStopped.
    """
    if hosts is None:
        delete_stack(cloudformation, stack_of(stage))
        return {}
    made = apply_template(cloudformation, stack_of(stage), stage, template_of(hosts, api, stage))
    return {host: made[role] for host, role in hosts.roles.items()}


def wait_for_hosts(hosts: Hosts, records: Mapping[str, str], stage: str, cloud: str | None = None) -> None:
    """Returns when API, auth API and payment page answer at their hosts; says on standard error what it waits for.

    Raises DeploymentStopped, with the command that goes on from there. A host that DNS does not know is not waited for
    if its record is to be made by hand. In the local cloud, at the URL `cloud`, no host has a record: the requests go
    there.
    """
    paths = {"API_URL": "/v2/health", "AUTH_URL": "/v2/health", "PAY_URL": "/"}
    deadline, said_at = time.monotonic() + ANSWERING_WITHIN_SECONDS, time.monotonic()
    for variable, path in paths.items():
        while problem := _problem(f"{hosts.urls[variable]}{path}", cloud):
            host = str(urlsplit(hosts.urls[variable]).hostname)
            if isinstance(problem, socket.gaierror) and not hosts.hosted_zone:
                missing = "; ".join(f"{name} CNAME {target}" for name, target in records.items())
                raise DeploymentStopped(
                    f"DNS does not know {host} yet: create these records, then run the command again: {missing}"
                )
            if time.monotonic() > deadline:
                raise DeploymentStopped(
                    f"Everything is in place, but {hosts.urls[variable]}{path} does not answer: {problem}."
                    f" When it does, run `make finish STAGE={stage}`."
                )
            if time.monotonic() - said_at > SAID_EVERY_SECONDS:
                said_at = time.monotonic()
                print(f"{host} does not answer yet: {problem}", file=sys.stderr, flush=True)
            time.sleep(1)


def _problem(url: str, cloud: str | None) -> Exception | None:
    """What keeps a URL from answering with 200; a socket.gaierror if DNS does not know its host."""
    parts = urlsplit(url)
    request = urllib.request.Request(
        f"{cloud or f'{parts.scheme}://{parts.netloc}'}{parts.path}", headers={"host": parts.netloc}
    )
    try:
        with urllib.request.urlopen(request, timeout=30):
            return None
    except urllib.error.URLError as error:
        return error.reason if isinstance(error.reason, Exception) else error
    except OSError as error:
        return error


def _join_names(names: list[Any]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
