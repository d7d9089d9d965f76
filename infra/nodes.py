"""The nodes of a stage: checks and stores the URLs of a network's nodes, and lists which there are.

Their URLs often hold keys. They are in one secret (platform/storage/secrets.py), and only their hosts are printed.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from botocore.exceptions import ClientError

from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.networks import Network, find_network
from chalicelib.chains.nodes.chains import Chains, endpoint_of, host_of
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.protocol import Chain
from chalicelib.chains.nodes.rpc.http_client import HttpClient
from chalicelib.chains.nodes.rpc.jsonrpc import MAX_RESPONSE_BYTES, JsonRpcClient
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import rules as scan_rules
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.clients import aws_client
from chalicelib.platform.storage.secrets import Entries, read_entries, value_of

_ARCHIVE = timedelta(days=30)
"""How old the logs are that a node must have. The service reads blocks again until they are a week old, and those of a
network that stood still for longer."""
_OLD_BLOCKS, _RECEIPTS = 8, 5
"""In how many blocks a log is looked for, and in how many receipts of each."""
_DEFERRED_SHOWN = 1000
_LABEL = "SET-NODE"
"""Of a version of the secret before it becomes the current one."""
_CURRENT = "AWSCURRENT"


@dataclass(frozen=True)
class Checked:
    """What a node has shown. `old_block` has logs that it gave; None if the chain has none so old. `range` is how many
    blocks it takes at once, at most as many as the scanner asks for."""

    host: str
    head: int
    old_block: int | None
    range: int
    milliseconds: int


def set_nodes(services: Services, name: str, urls: Sequence[str]) -> list[str]:
    """Checks the nodes of a network and stores their URLs in place of those it had; what was found, in lines.

    Raises BadRequest with the first thing that is wrong, Conflict if somebody else changed the secret meanwhile.
    """
    facts = _network(name)
    if len(set(map(endpoint_of, urls))) < len(urls):
        raise BadRequest("A URL is given twice; nothing is changed.")
    checked = [check(services, facts, url) for url in urls]
    _check_agreement(services, facts, urls)
    _store(services, {facts.name: urls[0] if len(urls) == 1 else list(urls)})
    return [*(_line(facts, each) for each in checked), f"{facts.name} is stored. It is in force within 60 s."]


def remove_nodes(services: Services, name: str, urls: Sequence[str]) -> list[str]:
    """Removes these URLs of a network, or all if none are given. Raises BadRequest if it does not have them."""
    facts = _network(name)
    known = services.secrets.rpc_urls.get(facts.name, ())
    if not known or not set(urls) <= set(known):
        raise BadRequest(f"{facts.name} has no such node; `nodes` lists the hosts of those there are.")
    left = [url for url in known if urls and url not in urls]
    _store(services, {facts.name: left})
    if left:
        return [f"{facts.name} has {len(left)} left. It is in force within 60 s."]
    return [f"{facts.name} is not served any more within 60 s: payments there are seen when it has a node again."]


def list_nodes(services: Services) -> list[str]:
    """A line for each network with the hosts of its nodes, and how far it is read."""
    known = services.secrets.rpc_urls
    lines = []
    for status in scanning.status(services):
        hosts = ", ".join(host_of(url) for url in known.get(status.network, ())) or "no node"
        read = f"read until {iso(status.read_until)}" if status.read_until else "not read yet"
        nodes = status.nodes
        deferred = "  transactions deferred: see `deferred`" if status.deferred else ""
        several = "" if nodes is None else f"  {nodes.usable} of {nodes.total} usable"
        paused = "  paused: they disagree" if nodes is not None and not nodes.agree else ""
        lines.append(f"{status.network:12}  {hosts}  {read}{several}{paused}{deferred}")
    return lines


def list_deferred(services: Services) -> list[str]:
    """A line for each transaction whose transfers are not recorded, as no node returns what they are compared with: at
    most _DEFERRED_SHOWN of each network."""
    return [
        f"{name:12}  block {each.block_number}  {each.tx_hash}  since {iso(each.deferred_at)}"
        for name in (status.network for status in scanning.status(services) if status.deferred)
        for each in scan_store.list_deferred(services.store, name, "", _DEFERRED_SHOWN)
    ]


def check(services: Services, facts: Network, url: str) -> Checked:
    """Raises BadRequest unless the node is of the network, has old logs, and returns the logs of several blocks."""
    if urlsplit(url).scheme not in ("http", "https") or not host_of(url):
        raise BadRequest("A node's URL begins with https:// and has a host; nothing is changed.")
    host = host_of(url)
    chain = _chain(services, facts, (url,))
    try:
        chain.head()  # connects
        begin = time.monotonic()
        head = chain.head()
        milliseconds = round((time.monotonic() - begin) * 1000)
        old_block = _check_archive(_client(services, facts, url), facts, head)
        return Checked(host, head, old_block, _range(services, chain, facts, head), milliseconds)
    except ChainUnavailable as error:
        said = f" ({error.reason})" if error.reason else ""
        raise BadRequest(f"{host}: {error.message.rstrip('.')}{said}; nothing is changed.") from error
    except _Unsuitable as problem:
        raise BadRequest(f"{host}: {problem}; nothing is changed.") from problem


class _Unsuitable(Exception):
    """What is missing in the node's answers."""


def _check_archive(node: JsonRpcClient, facts: Network, head: int) -> int | None:
    """Compares the logs of a block of about 30 days ago with its receipts: the node must give a log that it has there.

    Later blocks are looked at until one has logs. Returns that block, or None if there is none.
    """
    oldest = max(head - _ARCHIVE // timedelta(milliseconds=facts.block_milliseconds), 1)
    step = max((head - oldest) // _OLD_BLOCKS, 1)
    for number in range(oldest, head, step)[:_OLD_BLOCKS]:
        block = node.call("eth_getBlockByNumber", hex(number), False)
        if block is None:
            raise _Unsuitable(f"it does not have block {number}, use a node with an archive of 30 days")
        calls: list[tuple[str, list[Any]]] = [
            ("eth_getTransactionReceipt", [tx_hash]) for tx_hash in block["transactions"][-_RECEIPTS:]
        ]
        receipts = node.results(calls)
        if None in receipts:
            raise _Unsuitable(f"it has no receipts of block {number}, use a node with an archive of 30 days")
        log = next((log for receipt in receipts for log in receipt["logs"]), None)
        if log is not None:
            criteria = {"fromBlock": hex(number), "toBlock": hex(number), "address": [log["address"]]}
            found = node.call("eth_getLogs", criteria) or ()
            if not any(each["logIndex"] == log["logIndex"] for each in found):
                raise _Unsuitable(f"it leaves out logs of block {number}, use a node with an archive of logs")
            return number
    return None


def _range(services: Services, chain: Chain, facts: Network, head: int) -> int:
    """How many blocks the node takes at once, of those that the scanner asks for: half as many after each refusal,
    as the scanner does."""
    last = scan_rules.height_of_confirmed(head, services.settings.confirmations.get(facts.name, facts.confirmations))
    size = facts.log_range
    while True:
        try:
            chain.read_range(BlockRange(max(last - size + 1, 0), max(last, 0)), None)
            return size
        except RangeTooLarge as error:
            if size == 1:
                raise _Unsuitable(f"it returns the logs of no block ({error})") from error
            size //= 2


def _check_agreement(services: Services, facts: Network, urls: Sequence[str]) -> None:
    chain = _chain(services, facts, tuple(urls))
    if isinstance(chain, Nodes):
        confirmations = services.settings.confirmations.get(facts.name, facts.confirmations)
        found, wrong = scan_rules.compare_nodes(
            chain.views(confirmations), timedelta(milliseconds=facts.block_milliseconds)
        )
        if not found.agree or found.usable < found.total:
            raise BadRequest(f"The nodes do not fit together: {wrong}; nothing is changed.")


def _line(facts: Network, found: Checked) -> str:
    logs = f"logs of block {found.old_block}" if found.old_block is not None else "no old logs on this chain"
    asked = f"of the {facts.log_range} that are asked for" if found.range < facts.log_range else "as asked for"
    return (
        f"{found.host}  chain {facts.chain_id}  block {found.head}  {logs}  "
        f"{found.range} blocks at once, {asked}  {found.milliseconds} ms"
    )


def _chain(services: Services, facts: Network, urls: tuple[str, ...]) -> Chain:
    secrets = SimpleNamespace(rpc_urls={facts.name: urls}, tron_api_key=services.secrets.tron_api_key)
    return Chains(secrets, services.settings.escrow_contracts, services.clock).of(facts.name)


def _client(services: Services, facts: Network, url: str) -> JsonRpcClient:
    key = services.secrets.tron_api_key
    if facts.family != "tron":
        return JsonRpcClient(facts.name, HttpClient(url, MAX_RESPONSE_BYTES))
    headers = {"TRON-PRO-API-KEY": key} if key else {}
    return JsonRpcClient(facts.name, HttpClient(url, MAX_RESPONSE_BYTES, headers), "/jsonrpc", batches=False)


def _network(name: str) -> Network:
    known = find_network(name)
    if known is None:
        raise BadRequest(f"{name} is not a network; nothing is changed.")
    return known


def _store(services: Services, changed: dict[str, Any]) -> None:
    """Changes entries of the secret; an empty list removes one. Raises Conflict if the secret changed meanwhile.

    A new version is stored aside, and becomes the current one only if the version that was read still is.
    """
    client, name = aws_client("secretsmanager"), services.settings.rpc_urls_secret
    before = value_of(client, name)
    try:
        entries: Entries = read_entries(before.text)
    except ValueError as error:
        raise BadRequest(f"The secret {name} is not as it should be: {error}; correct it first.") from error
    after = {key: value for key, value in {**entries, **changed}.items() if value != []}
    version = str(uuid4())
    text = json.dumps(after, sort_keys=True)
    client.put_secret_value(SecretId=name, SecretString=text, ClientRequestToken=version, VersionStages=[_LABEL])
    try:
        replaced = {"RemoveFromVersionId": before.version} if before.version else {}
        client.update_secret_version_stage(SecretId=name, VersionStage=_CURRENT, MoveToVersionId=version, **replaced)
    except ClientError as error:
        if error.response["Error"]["Code"] != "InvalidParameterException":
            raise
        raise Conflict("Somebody changed the node URLs at the same moment: run the command again.") from error
