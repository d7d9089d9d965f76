"""Signed payments through the HTTP API, by the local router over two real chains: offered, signed, made, and shown."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from chalicelib.base.addresses import evm_address
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.nodes.chains import Chains
from chalicelib.crosschain.service.payment_intents.running import run_due
from chalicelib.platform.outbound.lifi import Lifi
from chalicelib.relayer.tracking import track
from infra.local.across import Bridge
from infra.local.across_relayer import Relayer
from infra.local.chain import Chain
from infra.local.router import Router
from tests.fakes.world import PAYEE, World, in_process_aws
from tests.onchain.conftest import Nodes
from tests.support.client import Api, Reply, Shop
from tests.support.opened import by_session
from tests.support.running import run_on, serving

pytestmark = pytest.mark.xdist_group("bridge")

USDC, THERE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
CONTRACT, WALLET = address_of(PERMIT2, "base"), evm_address("0x" + "a7" * 20)
HAD, GAS = 10**9, 10**19
APPROVE_ALL = "0x095ea7b3" + CONTRACT[2:].lower().rjust(64, "0") + "f" * 64
_CHECKS = (
    "600435600052" + "60a43560f81c602052" + "606435604052" + "608435606052"  # hash, v, r, s
    "602060806080600060015afa50" + "608051{owner}14"  # recovers, and compares
    "7f1626ba7e" + "00" * 28 + "02" + "60005260206000f3"
)
"""A contract wallet's code (ERC-1271): the signature is right if it recovers to the owner."""


def wallet_of(owner: str) -> str:
    return "0x" + _CHECKS.format(owner="73" + owner[2:].lower())


OF_ITSELF = "0x" + _CHECKS.format(owner="30")
"""The same for an account whose own key is the owner's, as accounts delegate to (EIP-7702)."""


class Payer:
    """A key, and the account on base with tokens for which it signs, which Permit2 may take."""

    def __init__(self, kind: str, bridge: Bridge) -> None:
        self.account, self.base = Account.create(), bridge.chains["base"]
        self.address = WALLET if kind == "contract" else self.account.address
        for chain in bridge.chains.values():
            chain.fund_native(self.account.address, GAS)
        self.base.fund_native(self.address, GAS)
        self.base.fund_token(self.address, USDC, HAD)
        self.base.send_as(self.address, {"to": USDC, "data": APPROVE_ALL})
        self.base.mine()
        if kind == "contract":
            for chain in bridge.chains.values():
                chain.rpc("anvil_setCode", WALLET, wallet_of(self.account.address))
        if kind == "delegating":
            self.base.rpc("anvil_setCode", WALLET, OF_ITSELF)
            self._delegate(self.base)

    def _delegate(self, chain: Chain) -> None:
        """Signs and sends a transaction that has the account run the code of WALLET."""
        nonce = int(chain.rpc("eth_getTransactionCount", self.address, "latest"), 16)
        grant = self.account.sign_authorization({"chainId": chain.chain_id, "address": WALLET, "nonce": nonce + 1})
        price = int(chain.rpc("eth_gasPrice"), 16) * 2
        signed = self.account.sign_transaction(
            {
                "type": 4, "chainId": chain.chain_id, "nonce": nonce, "to": self.address, "value": 0, "gas": 200_000,
                "maxFeePerGas": price, "maxPriorityFeePerGas": 0, "authorizationList": [grant], "data": "0x",
            }
        )
        sent = chain.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
        chain.mine()
        assert chain.receipt(sent)["status"] == "0x1"
        assert chain.rpc("eth_getCode", self.address, "latest") == "0xef0100" + WALLET[2:].lower()

    def sign(self, payload: str, change: Callable[[dict[str, Any]], None] = lambda typed: None) -> dict[str, str]:
        typed = json.loads(payload)
        change(typed)
        signed = self.account.sign_message(
            encode_typed_data(typed["domain"], typed["types"], _numbers(typed["values"]))
        )
        values = typed["values"]
        return {
            "signature": "0x" + bytes(signed.signature).hex(),
            "nonce": str(values["nonce"]),
            "deadline": str(values["deadline"]),
        }


class Deployment:
    """The API over both chains and the router, with the schedules that a test runs; its clock is that of the chains."""

    def __init__(self, client: Any, bridge: Bridge, relayer: Relayer, router: Router) -> None:
        self.bridge, self.relayer = bridge, relayer
        chains = Chains(Nodes({name: chain.url for name, chain in bridge.chains.items()}))
        self.world = World(
            client,
            chains,
            relayer_keys={"base": "secret"},
            confirmations={"base": 2, "arbitrum-one": 2},
            rate_limit_scale=100_000,
        )
        self.world.services = replace(self.world.services, router=Lifi(router.url, "test"))
        self.world.now = self._chains_time()
        executor = self.world.services.signing_keys.address  # type: ignore[attr-defined]
        bridge.chains["base"].fund_native(executor, GAS)
        self.executor = executor
        self.tick()
        run_on(self.world.services)

    def _chains_time(self) -> datetime:
        blocks = [chain.rpc("eth_getBlockByNumber", "latest", False) for chain in self.bridge.chains.values()]
        return datetime.fromtimestamp(max(int(each["timestamp"], 16) for each in blocks), UTC)

    def serve(self, api: Api) -> None:
        self.shop = Shop(api)
        body = {"label": "signing", "usesPaymentIntents": True}
        made = api.request("POST", "/v1/api-keys", body, by_session(self.shop.account_id))
        assert made.status == 201, made.json
        self.signing = {"x-api-key": made.json["key"]}

    def call(self, method: str, path: str, body: Any = None) -> Reply:
        return self.shop.api.request(method, path, body, self.signing)

    def request(self) -> str:
        body = {"payee": PAYEE, "amount": "12.50"} | dict.fromkeys(
            ("invoiceCurrency", "paymentCurrency"), "USDC-arbitrum-one"
        )
        made = self.call("POST", "/v2/request", body)
        assert made.status == 201, made.json
        return f"/v2/request/{made.json['requestId']}"

    def offer(self, request: str, payer: Payer) -> dict[str, Any]:
        reply = self.call("GET", f"{request}/pay?chain=BASE&token=USDC&wallet={payer.address}")
        assert reply.status == 200, reply.json
        assert "transactions" not in reply.json
        body: dict[str, Any] = reply.json
        return body

    def send(self, offered: dict[str, Any], signed: dict[str, str]) -> Reply:
        path = f"/v2/request/payment-intents/{offered['paymentIntentId']}"
        return self.call("POST", path, {"signedPaymentIntent": signed})

    def tick(self) -> None:
        for chain in self.bridge.chains.values():
            chain.mine(3)
        self.world.tick(network="arbitrum-one")

    def minutes(self, count: int) -> None:
        for _ in range(count):
            run_due(self.world.services)
            self.world.advance(20)
            self.tick()
            track(self.world.services, "base")
            self.world.advance(20)

    def paid(self) -> int:
        return self.bridge.chains["arbitrum-one"].token_balance(THERE, PAYEE)


def _numbers(value: Any) -> Any:
    """Values with numbers for those that are written as text, as ethers reads them."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return int(value) if isinstance(value, str) and value.isdigit() else value


@pytest.fixture
def deployment(bridge: Bridge, bridge_relayer: Relayer, router: Router) -> Iterator[Deployment]:
    with in_process_aws() as client:
        made = Deployment(client, bridge, bridge_relayer, router)
        with serving() as server:
            made.serve(Api(server.server_port))
            yield made


@pytest.mark.parametrize("kind", ["key", "delegating", "contract"])
def test_a_signature_pays_a_request_on_the_other_chain(deployment: Deployment, bridge: Bridge, kind: str) -> None:
    payer, request = Payer(kind, bridge), deployment.request()
    offered = deployment.offer(request, payer)
    signed, before = payer.sign(offered["paymentIntent"]), deployment.paid()
    sent = deployment.send(offered, signed)
    assert sent.status == 200, sent.json
    assert sent.json == {
        "message": "Payment intent sent successfully", "paymentIntentId": offered["paymentIntentId"]
    }
    execution = {"paymentIntentId": offered["paymentIntentId"], "status": "pending"}
    assert deployment.call("GET", request).json["execution"] == execution
    locked = deployment.call("GET", f"{request}/pay?wallet={payer.address}")
    assert (locked.status, locked.json["execution"]) == (423, execution)

    deployment.minutes(6)
    (deposited,) = bridge.deposits("base")
    assert deposited.depositor == payer.address
    deployment.relayer.step()
    deployment.minutes(3)
    assert deployment.paid() - before == 12_500_000
    shown = deployment.call("GET", request).json
    assert shown["hasBeenPaid"] is True and shown["execution"] == {**execution, "status": "settled"}
    assert deployment.bridge.chains["base"].token_balance(USDC, payer.address) == HAD - deposited.input_amount
    assert deployment.bridge.chains["base"].token_balance(USDC, deployment.executor) == 0
    assert deployment.send(offered, signed).status == 200, "the same again"


def _other_chain(typed: dict[str, Any]) -> None:
    typed["domain"]["chainId"] = 42161


def _less(typed: dict[str, Any]) -> None:
    typed["values"]["permitted"][0]["amount"] = "1"


@pytest.mark.parametrize("kind", ["key", "delegating", "contract"])
@pytest.mark.parametrize("change", [_other_chain, _less])
def test_what_was_signed_for_another_chain_or_amount_is_refused(
    deployment: Deployment, bridge: Bridge, change: Callable[[dict[str, Any]], None], kind: str
) -> None:
    payer, request = Payer(kind, bridge), deployment.request()
    offered = deployment.offer(request, payer)
    refused = deployment.send(offered, payer.sign(offered["paymentIntent"], change))
    assert refused.status == 400 and "is not that of" in refused.message
    assert deployment.call("GET", request).json.get("execution") is None


def test_a_signature_makes_one_payment_whatever_it_is_sent_for(deployment: Deployment, bridge: Bridge) -> None:
    payer = Payer("key", bridge)
    first, second = (deployment.offer(deployment.request(), payer) for _ in range(2))
    signed = payer.sign(first["paymentIntent"])
    assert deployment.send(first, signed).status == 200
    assert deployment.send(second, signed).status == 400, "nonce and deadline of the other one"
    forged = {**signed, **{name: json.loads(second["paymentIntent"])["values"][name] for name in ("nonce", "deadline")}}
    refused = deployment.send(second, forged)
    assert refused.status == 400 and "is not that of" in refused.message
    deployment.minutes(8)
    assert len(bridge.deposits("base")) == 1


def test_a_client_id_without_the_setting_gets_transactions(deployment: Deployment, bridge: Bridge) -> None:
    payer, request = Payer("key", bridge), deployment.request()
    query = f"{request}/pay?chain=BASE&token=USDC&wallet={payer.address}"
    plain = deployment.shop.api.request("GET", query, None, deployment.shop.by_key)
    assert plain.status == 200 and "paymentIntentId" not in plain.json and plain.json["transactions"]
