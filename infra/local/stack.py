"""The local stack: starts cloud, chains and service, describes them in `.local/stack.json`, and ends them together.

`.local/` has the state of the cloud and the chains, the credentials (of which the service stores only hashes), the
ports of the last run, and logs. A lock file, held until the last child has ended, allows one stack per folder.
"""

import contextlib
import fcntl
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from infra import APP
from infra.configuration import variables_of
from infra.iam import archive_bucket
from infra.local.chain import Chain
from infra.local.cloud import REGION, Cloud
from infra.local.escrow import LOCAL_ESCROWS
from infra.local.explorer import Explorer
from infra.local.mailbox import Mailbox
from infra.local.market import Market
from infra.local.names import install_names
from infra.local.process import LOCAL, ROOT, Child, StackProblem, free_port, is_free, patience
from infra.local.provider import ACCOUNT as PROVIDER_ACCOUNT
from infra.local.provider import SECRETS as PROVIDER_SECRETS
from infra.local.provider import ProviderServer
from infra.local.relayer import GASLESS_NETWORK, create_keys, energy_account, gasless_account, prepare_accounts
from infra.local.router import SECRETS as ROUTER_SECRETS
from infra.local.router import running_router
from infra.local.safe import Safe, install_safe
from infra.local.safe_service import SafeTransactionService
from infra.local.tron import TronNode

if TYPE_CHECKING:
    from chalicelib.platform.services import Services

STAGE = "local"
PREFIX = f"{APP}-{STAGE}"
EVM_NETWORKS = ("sepolia", "base", "arbitrum-one", "mainnet")
FEED_NETWORK = "mainnet"
SAFE_NETWORK = "base"
ORIGIN = "https://shop.example.com"
SENDER = "no-reply@pay.example.com"
DESCRIPTION = LOCAL / "stack.json"
MAIL = LOCAL / "mail"
_CHAINS = LOCAL / "chains"
_CREDENTIALS = LOCAL / "credentials.json"
_PORTS = LOCAL / "ports.json"
_LOCK = LOCAL / "stack.lock"
_LOGS = ("service.log", "cloud.log")
_STATE = ("cloud", "chains", "mail", "credentials.json", "ports.json", "deployed-local.json", *_LOGS)
_FUNDS = 10**6  # whole coins, and whole units of each token
_CONFIRMATIONS = {"base": 2, "arbitrum-one": 2, "mainnet": 2}  # local chains have one block a second


class _Part(Protocol):
    def stop(self) -> None: ...


P = TypeVar("P", bound=_Part)


@dataclass(frozen=True)
class Stack:
    """The running parts, and their description as written to `.local/stack.json`."""

    cloud: Cloud
    chains: Mapping[str, Chain]  # for tron, the chain behind its node
    service: Child
    description: Mapping[str, Any]

    def check(self) -> None:
        """Raises StackProblem if a part has ended by itself."""
        for child in (self.service, self.cloud.child, *(chain.child for chain in self.chains.values())):
            if not child.running():
                raise StackProblem(f"{child.name} ended by itself (log: {child.log})")


@contextlib.contextmanager
def running_stack(port: int, fresh: bool, say: Callable[[str], None]) -> Iterator[Stack]:
    """Starts all parts, yields when they are ready, and ends them. Raises StackProblem if the stack cannot run."""
    with contextlib.ExitStack() as parts:
        lock = parts.enter_context(_only_stack())
        DESCRIPTION.unlink(missing_ok=True)
        if not is_free(port):
            raise StackProblem(f"port {port} is already in use: choose another one with PORT={port + 1}")
        if fresh:
            _wipe()
        pass_fds, ports = (lock.fileno(),), _ports()

        cloud, chains, tron = _start_together(parts, ports, pass_fds)
        say(f"local cloud at {cloud.url}")
        for network, chain in chains.items():
            say(f"{network} chain at {chain.url}")
        say(f"tron node at {tron.url}")
        safes = SafeTransactionService(chains, ports["safe-service"], _CHAINS / "safe-transactions.jsonl")
        _stop_with(parts, safes)
        market = _stop_with(parts, Market(chains[FEED_NETWORK], ports["price-source"]))
        router = parts.enter_context(running_router(chains, ports["router"]))
        nodes = {**{network: chain.url for network, chain in chains.items()}, "tron": tron.url}
        _fill_cloud(cloud, nodes)
        mailbox = _stop_with(parts, Mailbox(cloud, MAIL, ports["mailbox"]))

        base_url = f"http://127.0.0.1:{port}"
        provider = ProviderServer(f"{base_url}/v2/provider-events", ports["provider"], state=_CHAINS / "provider.json")
        _stop_with(parts, provider)
        explorer = _stop_with(parts, Explorer(_services, base_url, ports["explorer"]))
        environment = _environment(cloud, base_url, explorer.url, safes.urls) | {
            "PRICE_API_URL": market.url,
            "LIFI_BASE_URL": router.url,
            "COMPLIANCE_API_URL": provider.url,
            "COMPLIANCE_ACCOUNT": PROVIDER_ACCOUNT,
            "MAIL_SENDER": SENDER,
        }
        os.environ.update(environment)  # for operator commands, which run in this process
        credentials = _credentials()
        relayer = prepare_accounts(_services(), chains, tron)
        service = _stop_with(parts, _service(port, base_url, environment, pass_fds))
        safe = _prepare(chains, tron, credentials)
        say(f"service at {base_url}")

        description = _description(base_url, cloud, nodes, credentials, safe)
        description |= {"relayer": relayer}
        description |= {"explorer_url": explorer.url, "safe_service_urls": safes.urls, "price_url": market.url}
        description |= {"provider_url": provider.url, "lifi_url": router.url, "mail_url": mailbox.url}
        _write(DESCRIPTION, description)
        parts.callback(lambda: DESCRIPTION.unlink(missing_ok=True))
        yield Stack(cloud, {**chains, "tron": tron.chain}, service, description)


def _stop_with(parts: contextlib.ExitStack, part: P) -> P:
    """A part, which is stopped with the others."""
    parts.callback(part.stop)
    return part


def _fill_cloud(cloud: Cloud, nodes: Mapping[str, str]) -> None:
    """Tables and queues, the sender of mails, a key, and the secret with nodes and providers."""
    cloud.apply_template(PREFIX)
    cloud.verify_sender(SENDER)
    kms = cloud.client("kms")
    create_keys(kms, PREFIX)
    secrets = {**PROVIDER_SECRETS, **ROUTER_SECRETS}
    secrets |= {"gasless_networks": f"{GASLESS_NETWORK}={gasless_account(kms, PREFIX)}"}
    secrets |= {"tron_energy": f"account={energy_account(kms, PREFIX)},daily=1000000000"}
    cloud.put_rpc_urls(PREFIX, {**nodes, **secrets})


def _start_together(
    parts: contextlib.ExitStack, ports: Mapping[str, int], pass_fds: tuple[int, ...]
) -> tuple[Cloud, dict[str, Chain], TronNode]:
    """Starts the cloud and the chains in parallel. `parts` ends those that have started, also if another one fails."""

    def start_cloud() -> Cloud:
        cloud = Cloud.start(LOCAL / "cloud", ports["cloud"], LOCAL / "cloud.log", pass_fds)
        parts.callback(cloud.stop)
        return cloud

    def start_chain(network: str) -> Chain:
        state = _CHAINS / f"{network}.json"
        log = state.with_suffix(".log")
        chain = Chain.start(network, ports[network], state, block_time=1, log=log, pass_fds=pass_fds)
        parts.callback(chain.stop)
        install_safe(chain)
        if network == "mainnet":
            install_names(chain)
        return chain

    def start_tron() -> TronNode:
        state = _CHAINS / "tron.json"
        log = state.with_suffix(".log")
        node = TronNode.start(ports["tron"], ports["tron-chain"], state, block_time=1, log=log, pass_fds=pass_fds)
        parts.callback(node.stop)
        return node

    with ThreadPoolExecutor() as pool:  # waits for all, also if one fails
        cloud, tron = pool.submit(start_cloud), pool.submit(start_tron)
        chains = dict(zip(EVM_NETWORKS, pool.map(start_chain, EVM_NETWORKS), strict=True))
        return cloud.result(), chains, tron.result()


@contextlib.contextmanager
def _only_stack() -> Iterator[TextIO]:
    """Holds the folder's lock. Waits for the children of a stack that was killed, as they hold it until they end."""
    LOCAL.mkdir(exist_ok=True)
    with _LOCK.open("a+") as lock:
        deadline = time.monotonic() + patience()
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                lock.seek(0)
                owner = lock.read().strip()
                if _is_running(owner) or time.monotonic() > deadline:
                    raise StackProblem(f"a stack is already running here (process {owner}): end it first") from None
                time.sleep(0.1)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield lock


def _is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def _wipe() -> None:
    for name in _STATE:
        path = LOCAL / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _ports() -> dict[str, int]:
    """The ports of the last run that are free, so that URLs stay the same after a restart; new ports for the others."""
    last = _read(_PORTS)
    ports = {}
    others = ("tron-chain", "safe-service", "explorer", "price-source", "provider", "router", "mailbox")
    for name in ("cloud", *EVM_NETWORKS, "tron", *others):
        port = last.get(name)
        ports[name] = port if port and is_free(port) else free_port()
    _write(_PORTS, ports)
    return ports


def _auth_url(base_url: str) -> str:
    """The same server by its name: browsers make no passkeys for an address of numbers."""
    return base_url.replace("127.0.0.1", "localhost")


def _environment(cloud: Cloud, base_url: str, explorer_url: str, safe_services: Mapping[str, str]) -> dict[str, str]:
    """The stage's environment variables of .chalice/config.json, with the URLs and limits of this run."""
    return {
        **variables_of(STAGE),
        "ARCHIVE_BUCKET": archive_bucket(PREFIX, cloud.client("sts").get_caller_identity()["Account"], REGION),
        **dict.fromkeys(("API_URL", "PAY_URL"), base_url),
        "AUTH_URL": _auth_url(base_url),
        "EXPLORER_URL": explorer_url,
        "SCAN_INTERVAL_SECONDS": "1",
        "SCAN_INTERVALS": json.dumps({"tron": 1}),
        "RELAYER_KEYS": json.dumps(dict.fromkeys(EVM_NETWORKS, "kms")),
        "RELAYER_STUCK_SECONDS": "10",
        "ESCROW_CONTRACTS": json.dumps(LOCAL_ESCROWS),
        "CONFIRMATIONS": json.dumps(_CONFIRMATIONS),
        "SAFE_SERVICE_URLS": json.dumps({**{each.name: "" for each in ALL_NETWORKS}, **safe_services}),
        "WEBHOOK_ALLOW_LOOPBACK": "true",
        "SESSION_ORIGINS": json.dumps([ORIGIN]),
        **cloud.environment(),
    }


def _services() -> "Services":
    """What the service is given, for this process, whose environment has its settings by now."""
    from chalicelib.platform.services import assemble
    from chalicelib.platform.settings import Settings

    return assemble(Settings.read())


def _credentials() -> dict[str, Any]:
    """The credentials of the last run if the service still accepts them, else new ones."""
    from infra.local import credentials

    services, last = _services(), _read(_CREDENTIALS)
    if credentials.are_known(services, last):
        return last
    new = credentials.make(services, ORIGIN)
    _write(_CREDENTIALS, new)
    return new


def _prepare(chains: Mapping[str, Chain], tron: TronNode, credentials: Mapping[str, Any]) -> Safe:
    """Deploys the Safe, and funds it and the payers. The payee has coins alone, so that its tokens are payments."""
    owners = [owner["private_key"] for owner in credentials["safe_owners"]]
    safe = Safe.deploy(chains[SAFE_NETWORK], owners)
    for chain in chains.values():
        _fund(chain, credentials["payer"]["address"])
        chain.fund_native(credentials["payee"], _FUNDS * chain.coin)
    _fund(tron.chain, credentials["tron_payer"]["address"])
    _fund(safe.chain, safe.address)
    return safe


def _fund(chain: Chain, holder: str) -> None:
    """Gives an address native coin and every token of the catalogue, unless it still has half of each."""
    from chalicelib.chains.catalogue.tokens import find_tokens

    tokens = [token for token in find_tokens(network=chain.network) if not token.is_native]
    half = [_FUNDS * 10**token.decimals // 2 for token in tokens]
    balances = [chain.token_balance(token.address, holder) for token in tokens]
    has_tokens = all(balance >= needed for balance, needed in zip(balances, half, strict=True))
    if not has_tokens or chain.native_balance(holder) < _FUNDS * chain.coin // 2:
        chain.fund(holder, _FUNDS)


def _service(port: int, base_url: str, environment: Mapping[str, str], pass_fds: tuple[int, ...]) -> Child:
    command = [sys.executable, "-m", "infra.local.runner", "--port", str(port)]
    env = {**environment, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    service = Child("the service", command, LOCAL / "service.log", env, pass_fds)

    def healthy() -> bool:
        try:
            with urllib.request.urlopen(f"{base_url}/v2/health", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    with service.starting():
        service.wait_until(healthy)
    return service


def _description(
    base_url: str, cloud: Cloud, nodes: Mapping[str, str], credentials: Mapping[str, Any], safe: Safe
) -> dict[str, Any]:
    others = {name: value for name, value in credentials.items() if name != "safe_owners"}
    owners = credentials["safe_owners"]
    return {
        "base_url": base_url,
        "auth_url": _auth_url(base_url),
        "dashboard_url": f"{_auth_url(base_url)}/dashboard",
        "pay_url": base_url,
        "aws_url": cloud.url,
        "rpc": nodes,
        "tron_url": nodes["tron"],
        "origin": ORIGIN,
        **others,
        "safe": {
            "address": safe.address,
            "network": SAFE_NETWORK,
            "threshold": safe.threshold,
            "owners": owners,
        },
        "webhook_allow_loopback": True,
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a file atomically, readable by its owner only, because it may contain keys."""
    new = path.with_suffix(".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(json.dumps(content, indent=2) + "\n")
    new.replace(path)
