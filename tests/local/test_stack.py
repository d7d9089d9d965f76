"""`make local` and `make demo` as a user runs them, in a copy of the project: ready, restarted, refused, ended."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import base58
import pytest
import requests
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils import keccak
from playwright.sync_api import Browser, expect

from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    PERMIT2,
    RECURRING_PROXY,
    address_of,
)
from infra.local.browser import wallet_script
from infra.local.outsiders.payer import Payer
from infra.local.process import free_port
from infra.local.setup import find_browser
from tests.local.copies import copy_of_the_project, with_what_setup_makes
from tests.local.running import SHARED, SharedStack, description, end, start
from tests.support.patience import milliseconds, patience, wait_for
from tests.support.rehearsed import rehearsed
from tests.support.running_browser import running_browser

pytestmark = pytest.mark.xdist_group(SHARED)

DEMONSTRATED = {"request": 2}
"""The kinds of demonstration that are run, each with the deliveries that it shows at least."""
if os.environ.get("REHEARSAL"):
    DEMONSTRATED |= {"payout-batch": 8, "conversion": 4, "crosschain": 3, "commerce": 6, "team": 0}
    DEMONSTRATED |= {"exchange": 1, "gasless": 5, "name": 1, "tron-energy": 1, "safe": 3, "tron": 3, "single": 3}
    DEMONSTRATED |= {"batch": 3, "multicall": 3, "payout": 1, "offramp": 0, "recurring": 2, "test": 0}


@pytest.fixture(scope="module")
def project(shared_stack: SharedStack) -> Path:
    return shared_stack.project


@pytest.fixture(scope="module")
def port(shared_stack: SharedStack) -> int:
    return shared_stack.port


def processes_of(project: Path) -> list[str]:
    """Command lines of processes that belong to this copy: of anvil, ministack, the guards and the service."""
    lines = subprocess.run(["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in lines.splitlines() if str(project) in line]


def rpc(url: str, method: str, *params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return requests.post(url, json=body, timeout=patience()).json()["result"]


def bearer(answer: requests.Response) -> dict[str, str]:
    """The header of the session that a sign-in opened. (Its cookie is for https, so requests keeps it to itself.)"""
    answer.raise_for_status()
    return {"authorization": f"Bearer {answer.cookies['session_token']}"}


def signed_in(base_url: str, address: str, sign: Callable[[str], bytes]) -> dict[str, str]:
    """The header of a wallet's session."""
    asked = requests.post(f"{base_url}/v1/auth/wallet/challenge", json={"address": address}, timeout=patience()).json()
    answered = {name: asked[name] for name in ("challengeId", "nonce", "message")}
    answered["signature"] = "0x" + sign(asked["message"]).hex()
    return bearer(requests.post(f"{base_url}/v1/auth/wallet/verify", json=answered, timeout=patience()))


def personal(account: Any, text: str) -> bytes:
    return bytes(account.sign_message(encode_defunct(text=text)).signature)


def tron_message(account: Any, text: str) -> bytes:
    """As tronWeb.trx.signMessageV2 does."""
    signed = f"\x19TRON Signed Message:\n{len(text.encode())}{text}".encode()
    return bytes(account.unsafe_sign_hash(keccak(signed)).signature)


def read_until(process: subprocess.Popen[str], last: str) -> str:
    """What it prints, up to the line that has `last` in it."""
    lines: list[str] = []
    deadline = threading.Timer(patience(7), process.kill)
    deadline.start()
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if last in line:
            break
    deadline.cancel()
    assert lines and last in lines[-1], "".join(lines)
    return "".join(lines)


def deliveries(output: str) -> set[str]:
    """The ids of those with our signature. One may come twice: a receiver that is slow to answer is asked again."""
    return set(re.findall(r"delivery (\S+)  retry \d  signature OK", output))


def pay_in_a_browser(browser: Browser, link: str, payer: Payer) -> None:
    """As a person does who has a browser with a wallet of that key, and nothing else."""

    def answer(source: object, name: str, method: str, params: list[Any]) -> dict[str, Any]:
        if method in ("eth_requestAccounts", "eth_accounts"):
            return {"result": [payer.address]}
        if method == "eth_sendTransaction":
            return {"result": payer.pay(params[0])["transactionHash"]}
        return {"result": payer.rpc(method, *params)}

    page = browser.new_page()
    page.set_default_timeout(180_000)
    page.expose_binding("askWallet", answer)
    page.add_init_script(wallet_script(name="Wallet", rdns="test.wallet", how="announced", key=None))
    page.goto(link)
    page.get_by_role("button", name="Wallet").click()
    page.locator("#pay").click()
    page.locator('#main[data-state="completed"]').wait_for(timeout=milliseconds(3))
    assert "Payment complete" in page.inner_text("main")


class TestARunningStack:
    @pytest.fixture
    def found(self, shared_stack: SharedStack) -> dict[str, Any]:
        return shared_stack.description()

    def test_lets_its_user_in_who_owns_the_given_credentials(self, found: dict[str, Any]) -> None:
        url, user = found["base_url"], {name: found[name] for name in ("email", "password")}
        session = bearer(requests.post(f"{url}/v1/auth/login", json=user, timeout=patience()))
        (key, *_) = requests.get(f"{url}/v1/api-keys", headers=session, timeout=patience()).json()
        assert found["api_key"].startswith(key["prefix"])
        clients = requests.get(f"{url}/v1/client-ids", headers=session, timeout=patience()).json()
        assert {found["client_id"], found["orchestrator_client_id"]} <= {each["clientId"] for each in clients}

    @rehearsed
    def test_lets_its_user_in_at_the_dashboard(self, found: dict[str, Any]) -> None:
        """With what its description says and a browser, nothing else."""
        with running_browser() as browser:
            page = browser.new_page(locale="en")
            page.goto(found["dashboard_url"])
            page.get_by_label("E-mail address", exact=True).fill(found["email"])
            page.get_by_label("Password", exact=True).fill(found["password"])
            page.get_by_role("button", name="Sign in", exact=True).click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Home")
            expect(page.locator(".person summary")).to_be_visible()
            page.get_by_role("link", name="API keys", exact=True).click()
            expect(page.locator("main")).to_contain_text(found["api_key"][:8])

    def test_lets_its_wallets_in(self, found: dict[str, Any]) -> None:
        evm, tron = Account.from_key(found["wallet"]), Account.from_key(found["tron_wallet"])
        assert signed_in(found["base_url"], evm.address, lambda text: personal(evm, text))
        address = base58.b58encode_check(b"\x41" + bytes.fromhex(tron.address[2:])).decode()
        session = signed_in(found["base_url"], address, lambda text: tron_message(tron, text))
        me = requests.get(f"{found['base_url']}/v1/auth/me", headers=session, timeout=patience()).json()
        assert (me["type"], me["address"]) == ("wallet", address)

    def test_has_an_orchestrator_and_a_client_id_that_needs_it(self, found: dict[str, Any]) -> None:
        url, amount = f"{found['base_url']}/v2/secure-payments", {"requests": [{"amount": "1.5"}]}
        page = {"x-client-id": found["orchestrator_client_id"], "origin": found["origin"]}
        assert requests.post(url, json=amount, headers=page, timeout=patience()).status_code == 403
        pair = {**page, "x-orchestrator-key": found["orchestrator_key"]}
        made = requests.post(url, json=amount, headers=pair, timeout=patience())
        assert made.status_code == 201, made.text

    def test_has_a_second_account_which_sees_nothing_of_the_first(self, found: dict[str, Any]) -> None:
        other = {"x-api-key": found["second_account"]}
        assert requests.get(f"{found['base_url']}/v2/client-ids", headers=other, timeout=patience()).json() == []

    def test_is_described_for_any_client(self, project: Path, found: dict[str, Any]) -> None:
        keys = {"base_url", "auth_url", "dashboard_url", "pay_url", "explorer_url", "aws_url", "rpc", "api_key", "client_id", "origin"}
        keys |= {"email", "password", "wallet", "tron_wallet", "orchestrator_key", "orchestrator_client_id"}
        keys |= {"tron_url", "tron_payer", "safe", "safe_service_urls", "price_url", "provider_url", "lifi_url", "mail_url", "relayer"}
        assert set(found) == keys | {"second_account", "test_api_key", "payee", "payee_private_key", "payer", "webhook_allow_loopback"}
        assert requests.get(f"{found['base_url']}/v2/health", timeout=patience()).status_code == 200
        assert 'id="app"' in requests.get(found["dashboard_url"], timeout=patience()).text
        chain_ids = {network: rpc(url, "eth_chainId") for network, url in found["rpc"].items() if network != "tron"}
        assert chain_ids == {
            "sepolia": hex(11155111), "base": hex(8453), "arbitrum-one": hex(42161), "mainnet": hex(1),
        }  # fmt: skip
        assert found["rpc"]["tron"] == found["tron_url"]
        assert rpc(f"{found['tron_url']}/jsonrpc", "eth_chainId") == hex(728126428)
        assert processes_of(project)
        for name in ("stack.json", "credentials.json"):
            assert (project / ".local" / name).stat().st_mode & 0o777 == 0o600

    def test_has_payers_with_funds_on_every_chain(self, found: dict[str, Any]) -> None:
        for network in ("sepolia", "base", "arbitrum-one", "mainnet"):
            coins = int(rpc(found["rpc"][network], "eth_getBalance", found["payer"]["address"], "latest"), 16)
            assert coins >= 10**20
            assert int(rpc(found["rpc"][network], "eth_getBalance", found["payee"], "latest"), 16) >= 10**20
        assert Account.from_key(found["payee_private_key"]).address == found["payee"]
        asked = {"address": found["tron_payer"]["address"], "visible": True}
        account = requests.post(f"{found['tron_url']}/wallet/getaccount", json=asked, timeout=patience()).json()
        assert account["balance"] >= 10**8
        key = found["tron_payer"]["private_key"]
        assert base58.b58decode_check(account["address"])[1:].hex() == Account.from_key(key).address[2:].lower()

    def test_has_an_account_of_its_own_that_may_execute_recurring_payments(self, found: dict[str, Any]) -> None:
        role, account = keccak(text="RELAYER_ROLE").hex(), found["relayer"]
        for network in ("sepolia", "base", "arbitrum-one", "mainnet"):
            node = found["rpc"][network]
            assert int(rpc(node, "eth_getBalance", account, "latest"), 16) >= 10**20
            asked = {"to": address_of(RECURRING_PROXY, network), "data": f"0x91d14854{role}{account[2:]:0>64}"}
            assert int(rpc(node, "eth_call", asked, "latest"), 16) == 1

    def test_has_a_bridge_between_its_chains_and_a_router_over_it(self, found: dict[str, Any]) -> None:
        for network in ("base", "arbitrum-one", "mainnet"):
            for contract in (ACROSS_SPOKE_POOL, ACROSS_HANDLER, PERMIT2):
                assert len(rpc(found["rpc"][network], "eth_getCode", address_of(contract, network), "latest")) > 100
        tokens = requests.get(f"{found['lifi_url']}/v1/tokens", timeout=patience()).json()["tokens"]
        assert set(tokens) == {"1", "8453", "42161"}

    def test_shows_e_mails_at_a_page_and_in_files(self, project: Path, found: dict[str, Any]) -> None:
        new = {"email": "ann@shop.example", "password": "correct horse"}
        made = requests.post(f"{found['base_url']}/v1/auth/register", json=new, timeout=patience())
        assert (made.status_code, made.json()["emailSent"]) == (201, True)
        wait_for(lambda: "ann@shop.example" in requests.get(found["mail_url"], timeout=patience()).text)
        [message] = [json.loads(file.read_text("utf-8")) for file in (project / ".local" / "mail").glob("*.json")]
        [secret] = re.findall(rf"{found['auth_url']}/dashboard/confirm#(\w+)", message["BodyText"])
        confirmed = requests.post(f"{found['base_url']}/v1/auth/email/confirm", json={"token": secret}, timeout=patience())
        assert confirmed.json() == {"email": "ann@shop.example"}
        assert requests.post(f"{found['base_url']}/v1/auth/login", json=new, timeout=patience()).status_code == 200

    def test_has_a_safe_that_its_owners_can_use(self, found: dict[str, Any]) -> None:
        safe, node = found["safe"], found["rpc"]["base"]
        info = requests.get(f"{found['safe_service_urls']['base']}/api/v1/safes/{safe['address']}/", timeout=patience()).json()
        assert (info["threshold"], info["owners"]) == (2, [owner["address"] for owner in safe["owners"]])
        assert [Account.from_key(owner["private_key"]).address for owner in safe["owners"]] == info["owners"]
        assert int(rpc(node, "eth_getBalance", safe["address"], "latest"), 16) >= 10**18

    def test_refuses_a_second_one_in_its_folder(self, project: Path, found: dict[str, Any]) -> None:
        second = start(project, "infra.local", PORT=str(free_port()))
        output, _ = second.communicate(timeout=patience(3))
        assert (second.returncode, output.count("\n")) == (2, 1)
        assert "already running here" in output
        assert requests.get(f"{found['base_url']}/v2/health", timeout=patience()).status_code == 200

    def test_keeps_its_port(self, found: dict[str, Any], port: int, tmp_path: Path) -> None:
        elsewhere = with_what_setup_makes(copy_of_the_project(tmp_path))
        other = start(elsewhere, "infra.local", PORT=str(port))
        output, _ = other.communicate(timeout=patience(3))
        sentence = f"Port {port} is already in use: choose another one with PORT={port + 1}.\n"
        assert (other.returncode, output) == (2, sentence)


def test_after_a_kill_the_demo_holds_on_the_same_state_and_ends_with_a_link_that_is_paid_in_a_browser(
    project: Path, port: int, shared_stack: SharedStack
) -> None:
    """With what is printed and a browser with a wallet, nothing else. The end by signals leaves nothing."""
    before = shared_stack.description()
    shared_stack.kill()
    (project / ".local" / "stack.json").unlink()
    demo = start(project, "infra.local.demo", PORT=str(port), KIND="safe,tron")
    try:
        assert description(project, demo) == before
        output = read_until(demo, "sign in")
        assert "Every step held" in output
        assert len(deliveries(output)) == 3 * (1 + 3)
        *to_pay, _, dashboard, credentials_there = output.splitlines()[-6:]
        link, network, key = (re.split(r"  +", line.strip(), maxsplit=1)[1] for line in to_pay)
        assert re.split(r"  +", dashboard.strip()) == ["dashboard", before["dashboard_url"]]
        assert re.split(r"  +", credentials_there.strip()) == ["sign in", f"{before['email']}, {before['password']}"]
        chain_id, url = re.fullmatch(r"Sepolia, chain id (\d+): set its RPC URL to (\S+)", network).groups()  # type: ignore[union-attr]
        assert int(chain_id) == int(rpc(url, "eth_chainId"), 16)
        with running_browser() as browser:
            pay_in_a_browser(browser, link, Payer(url, key.split()[0]))
    finally:
        rest = end(demo, signal.SIGINT, signal.SIGINT, signal.SIGTERM)
    assert rest and "Traceback" not in rest
    assert not (project / ".local" / "stack.json").exists()
    assert processes_of(project) == []


def test_a_fresh_demo_that_is_to_run_once_has_other_credentials_and_ends_by_itself(project: Path, port: int) -> None:
    earlier = credentials(project)
    demo = start(project, "infra.local.demo", PORT=str(port), FRESH="1", ONCE="1", KIND=",".join(DEMONSTRATED))
    assert description(project, demo)["api_key"] != earlier.get("api_key")
    output, _ = demo.communicate(timeout=patience(10 + 2 * len(DEMONSTRATED)))
    assert demo.returncode == 0, output
    assert "Every step held" in output
    assert ("200, passkey" in output) == ("team" in DEMONSTRATED and find_browser() is not None)
    assert len(deliveries(output)) >= sum(DEMONSTRATED.values())
    assert processes_of(project) == []


def test_a_kind_that_nobody_can_demonstrate_is_refused_with_a_sentence(project: Path) -> None:
    demo = start(project, "infra.local.demo", KIND="single,double")
    output, _ = demo.communicate(timeout=patience(3))
    sentence = re.fullmatch(
        r"KIND must be one of (.+), or several with commas between, not 'single,double'\.\n", output
    )
    assert demo.returncode == 2 and sentence, output
    known = set(sentence[1].split(", "))
    assert {"single", "tron", *DEMONSTRATED} <= known
    assert not os.environ.get("REHEARSAL") or known == DEMONSTRATED.keys(), "a rehearsal shows each kind"


def credentials(project: Path) -> dict[str, Any]:
    file = project / ".local" / "credentials.json"
    return dict(json.loads(file.read_text())) if file.exists() else {}
