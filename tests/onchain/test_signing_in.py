"""Every kind of user over HTTP: sign in, make a client id and an API key, bind a destination, create a link by amount."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from moto import mock_aws

from chalicelib.base.signatures import personal_digest
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from infra.local.chain import Chain
from infra.local.safe import deploy_safe, install_safe, safe_address, sign_safe_message, sign_undeployed
from infra.local.tron import TronNode
from tests.fakes.wallets import EvmWallet, evm_wallet, tron_wallet
from tests.fakes.world import in_process_aws
from tests.support.api import create_cloud
from tests.support.client import Api
from tests.support.running import restart, serving

SEPOLIA, TRON = 11155111, 728126428
FUSDC, USDT_TRON = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
PROXIES = {SEPOLIA: address_of(ERC20_FEE_PROXY, "sepolia"), TRON: address_of(ERC20_FEE_PROXY, "tron")}
PAYERS = {SEPOLIA: evm_wallet("payer").address, TRON: "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"}
OWNERS = (evm_wallet("owner one"), evm_wallet("owner two"))


@dataclass(frozen=True)
class Signer:
    address: str
    sign: Callable[[str], str]


@pytest.fixture
def api(chain: Chain, tron: TronNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """The app on in-process AWS, with the local chains as its nodes."""
    monkeypatch.setenv("RATE_LIMIT_SCALE", "1000")
    with mock_aws(), in_process_aws():
        restart()
        create_cloud({"sepolia": chain.url, "tron": tron.url})
        with serving() as server:
            api = Api(server.server_port)
            api.listen()
            yield api


def safe(chain: Chain, deployed: bool) -> Signer:
    """A Safe of two owners who both sign; without deployment it signs by what would create it (ERC-6492)."""
    install_safe(chain)
    owners, keys = [owner.address for owner in OWNERS], [owner.key.hex() for owner in OWNERS]
    address = deploy_safe(chain, owners, 2, 7) if deployed else safe_address(owners, 2, 7)

    def sign(message: str) -> str:
        signature = sign_safe_message(SEPOLIA, address, personal_digest(message), keys)
        return "0x" + (signature if deployed else sign_undeployed(owners, 2, 7, signature)).hex()

    return Signer(address, sign)


def signer(kind: str, chain: Chain) -> Signer | EvmWallet | Any:
    return {
        "EOA": lambda: evm_wallet("eoa"),
        "Tron": lambda: tron_wallet("tron"),
        "Safe": lambda: safe(chain, deployed=True),
        "Safe to be": lambda: safe(chain, deployed=False),
    }[kind]()


def signed_in(api: Api, wallet: Signer) -> dict[str, str]:
    asked = api.request("POST", "/v1/auth/wallet/challenge", {"address": wallet.address, "chainId": SEPOLIA})
    answer = {name: asked.json[name] for name in ("challengeId", "nonce", "message")}
    reply = api.request("POST", "/v1/auth/wallet/verify", {**answer, "signature": wallet.sign(answer["message"])})
    assert reply.status == 200, reply.json
    return {"cookie": reply.headers["set-cookie"].split(";")[0]}


@pytest.mark.parametrize("kind", ["EOA", "Safe", "Safe to be", "Tron"])
def test_a_wallet_goes_all_the_way(api: Api, chain: Chain, kind: str) -> None:
    wallet = signer(kind, chain)
    session = signed_in(api, wallet)
    target = (USDT_TRON, TRON) if kind == "Tron" else (FUSDC, SEPOLIA)
    bound = api.request("POST", "/v1/payee-destination", {"tokenAddress": target[0], "chainId": target[1]}, session)
    assert (bound.status, bound.json["walletAddress"]) == (201, wallet.address)
    fields = {"label": "shop", "allowedDomains": [], "payeeDestinationId": bound.json["id"]}
    client = api.request("POST", "/v1/client-ids", fields, session)
    key = api.request("POST", "/v1/api-keys", {"label": "server"}, session)
    assert (client.status, key.status) == (201, 201)
    for credential in ({}, {"x-api-key": key.json["key"]}):
        headers = {"x-client-id": client.json["clientId"], **credential}
        link = api.request("POST", "/v2/secure-payments", {"requests": [{"amount": "5"}]}, headers)
        assert link.status == 201, link.json
        read = api.get(f"/v2/secure-payments/{link.json['token']}", headers).json
        currency = "USDT-tron" if kind == "Tron" else "fUSDC-sepolia"
        assert (read["payee"], read["amount"], read["paymentCurrency"]) == (wallet.address, "5", currency)
        paid = api.get(f"/v2/secure-payments/{link.json['token']}/pay?wallet={PAYERS[target[1]]}", headers).json
        assert [each["to"] for each in paid["transactions"]] == [target[0], PROXIES[target[1]]]


def test_another_contract_wallets_signature_opens_nothing(api: Api, chain: Chain) -> None:
    real, other = safe(chain, deployed=True), evm_wallet("stranger")
    asked = api.request("POST", "/v1/auth/wallet/challenge", {"address": real.address, "chainId": SEPOLIA}).json
    answer = {name: asked[name] for name in ("challengeId", "nonce", "message")}
    stranger = {**answer, "signature": other.sign(asked["message"])}
    assert api.request("POST", "/v1/auth/wallet/verify", stranger).status == 401
    assert json.loads(api.request("POST", "/v1/auth/wallet/verify", {**answer, "signature": real.sign(asked["message"])}).body) == {}
