"""A commerce payment through the HTTP API on a real chain: created, authorized, captured, refunded and voided, with the
exact balances after each step; and a bundle whose inner call reverts, which changes nothing."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Call, Transaction
from chalicelib.chains.catalogue.contracts import MULTICALL3, address_of
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.chains import Chains
from chalicelib.commerce.service.due_payments import run_due
from chalicelib.relayer.tracking import track
from infra.local.chain import Chain
from tests.chains.calldata.calls import unquoted
from tests.fakes.world import World, in_process_aws
from tests.onchain.conftest import Nodes
from tests.onchain.schedules import sent
from tests.support.client import ORIGIN, Api, Shop
from tests.support.opened import by_session
from tests.support.running import run_on, serving

ROOT = "/v2/commerce-payments"
UNIT, HAD = 10**6, 1000 * 10**6
FEES, MERCHANT = evm_address("0x" + "f7" * 20), Account.create()
BUNDLER = "0x" + "b1" * 20
"""Makes calls as Multicall3 does, whose own address nobody is paid at."""
"""A contract that makes what anybody gives it, and succeeds even if the calls in it do not."""


class Deployment:
    """The API over the chain, with the schedules that a test runs; its clock is that of the chain."""

    def __init__(self, client: Any, chain: Chain) -> None:
        self.chain, token = chain, token_with_id("USDC-base")
        assert token is not None
        self.token = token.address
        nodes = Chains(Nodes({"base": chain.url}))
        settings: dict[str, Any] = {"relayer_keys": {"base": "secret"}, "confirmations": {"base": 2}}
        self.world = World(client, nodes, rate_limit_scale=100_000, **settings)
        block = chain.rpc("eth_getBlockByNumber", "latest", False)
        self.world.now = datetime.fromtimestamp(int(block["timestamp"], 16), UTC)
        self.operator = self.world.services.signing_keys.address  # type: ignore[attr-defined]
        chain.fund_native(self.operator, 10**19)
        self.payer = Account.create()
        for account in (self.payer, MERCHANT):
            chain.fund_native(account.address, 10**19)
        chain.fund_token(self.payer.address, self.token, HAD)
        self.tick()
        run_on(self.world.services)

    def serve(self, api: Api) -> None:
        self.shop = Shop(api)

    def tick(self) -> None:
        self.chain.mine(3)
        self.world.tick(network="base")

    def minutes(self, count: int) -> None:
        for _ in range(count):
            run_due(self.world.services)
            self.world.advance(20)
            self.tick()
            track(self.world.services, "base")
            self.world.advance(40)

    def call(self, method: str, path: str, body: Any = None, headers: Any = None) -> Any:
        reply = self.shop.api.request(method, path, body, headers or self.shop.by_key)
        assert reply.status in (200, 201, 202), reply.json
        return reply.json

    def create(self, headers: Any = None, **changes: Any) -> Any:
        wanted = {"merchantId": "shop", "merchantAddress": MERCHANT.address, "buyerAddress": self.payer.address}
        amounts = {"amount": str(100 * UNIT), "paymentCurrency": "USDC-base", "maxFeeBps": 250}
        made = self.call("POST", f"{ROOT}/authorize/calldata", wanted | amounts | changes, headers)
        for each in made["transactions"]:
            self.sign(self.payer, each["to"], each["data"])
        return made

    def is_refused(self, path: str, body: Any, status: int, headers: Any) -> str:
        reply = self.shop.api.request("POST" if body is not None else "GET", path, body, headers)
        assert reply.status == status, reply.json
        return str(reply.json["message"])

    def sign(self, account: Any, to: str, data: str) -> None:
        sent = self.chain.send({"to": to, "data": data, "value": 0}, account.key.hex())
        assert sent["status"] == "0x1"

    def balances(self) -> list[Decimal]:
        """Of payer, merchant, fee receiver and the service's account, in whole USDC."""
        holders = (self.payer.address, MERCHANT.address, FEES, self.operator)
        return [Decimal(self.chain.token_balance(self.token, each)) / UNIT for each in holders]

    def status(self, made: Any, headers: Any = None) -> Any:
        return self.call("GET", f"{ROOT}/{made['requestId']}/status", None, headers)


@pytest.fixture
def deployment(chain_of: Callable[[str], Chain]) -> Iterator[Deployment]:
    with in_process_aws() as client:
        made = Deployment(client, chain_of("base"))
        with serving() as server:
            made.serve(Api(server.server_port))
            yield made


def test_a_payment_goes_from_its_creation_to_its_end_and_each_step_moves_exactly_its_amount(
    deployment: Deployment,
) -> None:
    made = deployment.create()
    path = f"{ROOT}/{made['requestId']}"
    assert deployment.balances() == [1000, 0, 0, 0]

    deployment.call("POST", f"{path}/authorize", {})
    deployment.minutes(2)
    assert deployment.balances() == [900, 0, 0, 0]
    shown = deployment.status(made)
    assert (shown["status"], shown["heldAmount"]) == ("AUTHORIZED", str(100 * UNIT))

    capture = {"captureAmount": str(60 * UNIT), "feeBps": 250, "feeReceiver": FEES}
    deployment.call("POST", f"{path}/capture", capture)
    deployment.minutes(2)
    assert deployment.balances() == [900, 58.5, 1.5, 0]
    shown = deployment.status(made)
    assert (shown["status"], shown["capturedAmount"], shown["heldAmount"]) == (
        "AUTHORIZED", str(60 * UNIT), str(40 * UNIT),
    )  # fmt: skip

    allow = erc20.approve(deployment.token, made["operator"], 10 * UNIT)
    deployment.sign(MERCHANT, allow.to, allow.data)
    deployment.call("POST", f"{path}/refund", {"refundAmount": str(10 * UNIT)})
    deployment.minutes(3)
    assert deployment.balances() == [910, 48.5, 1.5, 0]
    assert deployment.status(made)["refundedAmount"] == str(10 * UNIT)

    deployment.call("POST", f"{path}/void", {"reason": "out of stock"})
    deployment.minutes(2)
    assert deployment.balances() == [950, 48.5, 1.5, 0]
    shown = deployment.status(made)
    assert (shown["status"], shown["heldAmount"]) == ("PARTIALLY_REFUNDED", "0")
    assert (shown["capturedAmount"], shown["voidedAmount"]) == (str(60 * UNIT), str(40 * UNIT))
    request = deployment.call("GET", f"/v2/request/{made['requestId']}")
    assert request["hasBeenPaid"] is True


def test_a_payer_takes_back_what_is_held_by_the_link_without_the_merchant(deployment: Deployment) -> None:
    ends = int(deployment.world.now.timestamp()) + 7200
    made = deployment.create(preApprovalExpiry=ends - 3600, authorizationExpiry=ends)
    payer = deployment.payer.address
    path = f"/v2/secure-payments/{made['token']}/reclaim?wallet="
    deployment.call("POST", f"{ROOT}/{made['requestId']}/authorize", {})
    assert "Nothing was put into" in deployment.is_refused(path + payer, None, 409, deployment.shop.by_key)
    deployment.minutes(2)
    deployment.call("POST", f"{ROOT}/{made['requestId']}/capture", {"captureAmount": str(60 * UNIT)})
    deployment.minutes(2)
    assert f"expiry on, {ends}" in deployment.is_refused(path + payer, None, 409, deployment.shop.by_key)
    deployment.world.now = datetime.fromtimestamp(ends, UTC)
    assert "has paid" in deployment.is_refused(path + MERCHANT.address, None, 403, deployment.shop.by_key)
    (taken,) = deployment.call("GET", path + payer, None, deployment.shop.by_client)["transactions"]
    transaction = Transaction(taken["to"], taken["data"], 0)
    assert sent(deployment.chain, transaction, payer, ends - 1) is not None
    assert sent(deployment.chain, transaction, MERCHANT.address, ends) is not None
    assert sent(deployment.chain, transaction, payer, ends + 1) is None
    deployment.tick()
    assert deployment.balances() == [940, 60, 0, 0]
    shown = deployment.status(made)
    assert (shown["reclaimedAmount"], shown["heldAmount"]) == (str(40 * UNIT), "0")
    assert "Nothing is held" in deployment.is_refused(path + payer, None, 409, deployment.shop.by_key)
    assert sent(deployment.chain, transaction, payer) is not None, "it works once"


@pytest.mark.parametrize("method", ["erc3009", "permit2"])
def test_a_signature_that_is_none_reserves_nothing_and_the_payers_own_is_executed(
    deployment: Deployment, method: str
) -> None:
    """By a client id, which is public; the contracts themselves judge the signature."""
    headers, payer = deployment.shop.by_client, deployment.payer
    made = deployment.create(headers)
    path = f"{ROOT}/{made['requestId']}/authorize"
    if method == "permit2":
        allow = made["signatures"]["permit2"]["approval"]
        deployment.sign(payer, allow["to"], allow["data"])
    typed = made["signatures"][method]["typedData"]
    message = unquoted(typed["values"])
    own, strangers = (
        each.sign_typed_data(typed["domain"], typed["types"], message).signature.hex()
        for each in (payer, Account.create())
    )
    before = deployment.status(made)
    for junk in ("5a" * 65, strangers, own[:-2] + "00"):
        says = deployment.is_refused(path, {"method": method, "signature": junk}, 409, headers)
        assert "nothing was sent" in says
        assert deployment.status(made) == before
    assert deployment.call("POST", path, {"method": method, "signature": own}, headers)["transactionHash"]
    deployment.minutes(2)
    assert deployment.status(made)["status"] == "AUTHORIZED" and deployment.balances()[0] == 900


def test_a_bundle_that_succeeds_with_a_call_in_it_that_reverts_changes_nothing(deployment: Deployment) -> None:
    code = deployment.chain.rpc("eth_getCode", address_of(MULTICALL3, "base"), "latest")
    deployment.chain.rpc("anvil_setCode", BUNDLER, code)
    client_id = by_session(deployment.shop.account_id)
    body = {"label": "bundled", "allowedDomains": [ORIGIN], "operatorWalletAddress": BUNDLER}
    made_id = deployment.call("POST", "/v1/client-ids", body, client_id)
    headers = {"x-client-id": made_id["clientId"], "origin": ORIGIN}
    made = deployment.create(headers)
    assert made["operator"].lower() == BUNDLER

    def prepared(operation: str, body: Any) -> Transaction:
        path = f"{ROOT}/{made['requestId']}/{operation}/calldata"
        (inner,) = deployment.call("POST", path, body, headers)["transactions"]
        outer = multicall3.aggregate("base", [Call(inner["to"], inner["data"])])
        return Transaction(BUNDLER, outer.data, 0)

    def send(bundle: Transaction) -> Any:
        assert sent(deployment.chain, bundle, deployment.payer.address) is None, "the outer transaction succeeds"
        deployment.minutes(2)
        return deployment.status(made, headers)

    assert send(prepared("authorize", {}))["status"] == "AUTHORIZED"
    capture = prepared("capture", {"captureAmount": str(60 * UNIT)})
    once = send(capture)
    assert (once["capturedAmount"], deployment.balances()) == (str(60 * UNIT), [900, 60, 0, 0])
    again = send(capture)  # of more than is held by now
    assert again == once and deployment.balances() == [900, 60, 0, 0]
