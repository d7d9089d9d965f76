"""The local chain: production contracts at production addresses, and state that survives how it ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from eth_account import Account

from chalicelib.base.addresses import tron_to_evm
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.contracts import (
    BATCH,
    ERC20_FEE_PROXY,
    MULTICALL3,
    NATIVE_FEE_PROXY,
    TRON_BATCH,
    address_of,
)
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import find_tokens
from infra.local.bytecode import DEPLOYER
from infra.local.chain import Chain, RpcError
from infra.local.process import StackProblem
from tests.onchain.tether_double import CREATION

PAYER = Account.from_key("0x" + "5a" * 32)
PAYEE = "0x" + "22" * 20
FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
EVM = [network.name for network in ALL_NETWORKS if network.family == "evm"]


@pytest.fixture(scope="module")
def sepolia() -> Iterator[Chain]:
    with Chain.start("sepolia") as chain:
        yield chain


@pytest.fixture
def chain(sepolia: Chain) -> Iterator[Chain]:
    before = sepolia.snapshot()
    sepolia.fund_native(PAYER.address, 10**18)
    yield sepolia
    sepolia.revert(before)


def words(*values: int | str) -> str:
    return "".join(f"{value:064x}" if isinstance(value, int) else value[2:].lower().rjust(64, "0") for value in values)


def transfer(token: str, to: str, amount: int) -> dict[str, str]:
    return {"to": token, "data": "0xa9059cbb" + words(to, amount)}


def read_address(chain: Chain, contract: str, getter: str) -> str:
    selector = "0x" + keccak256(f"{getter}()".encode())[:4].hex()
    return "0x" + chain.rpc("eth_call", {"to": contract, "data": selector}, "latest")[-40:]


@pytest.mark.parametrize("network", EVM)
def test_every_evm_network_carries_its_contracts_and_tokens(network: str) -> None:
    with Chain.start(network) as chain:
        contracts = (ERC20_FEE_PROXY, NATIVE_FEE_PROXY, BATCH, MULTICALL3)
        erc20, native, batch, multicall = (address_of(contract, network) for contract in contracts)
        addresses = [erc20, native, batch, multicall]
        addresses += [token.address for token in find_tokens(network=network) if token.type == "ERC20"]
        codes = chain.batch([("eth_getCode", address, "latest") for address in addresses])
        assert all(len(code) > 100 for code in codes)
        assert int(chain.rpc("eth_chainId"), 16) == chain.chain_id
        wired = [read_address(chain, batch, f"payment{kind}Proxy") for kind in ("Erc20", "Native")]
        assert wired == [erc20.lower(), native.lower()]
        assert read_address(chain, batch, "owner") == DEPLOYER.lower()


def test_trons_chain_carries_its_contracts_at_the_bytes_of_their_addresses() -> None:
    with Chain.start("tron") as chain:
        proxy, batch = (tron_to_evm(address_of(name, "tron")) for name in (ERC20_FEE_PROXY, TRON_BATCH))
        tokens = [tron_to_evm(token.address) for token in find_tokens(network="tron")]
        codes = chain.batch([("eth_getCode", address, "latest") for address in (proxy, batch, *tokens)])
        assert all(len(code) > 100 for code in codes)
        assert read_address(chain, batch, "paymentErc20FeeProxy") == proxy


def test_funds_are_coins_and_every_token_of_the_network(chain: Chain) -> None:
    chain.fund(PAYEE, 7)
    assert chain.native_balance(PAYEE) == 7 * 10**18
    for token in find_tokens(network="sepolia"):
        if token.type == "ERC20":
            assert chain.token_balance(token.address, PAYEE) == 7 * 10**token.decimals


def test_anybody_can_be_the_sender_of_what_the_chain_is_told_to_send(chain: Chain) -> None:
    chain.fund_native(PAYEE, 10**18)
    receipt = chain.receipt(chain.send_as(PAYEE, {"to": PAYER.address, "value": 5}))
    assert (receipt["from"], receipt["status"]) == (PAYEE, "0x1")


def test_the_owner_of_the_batch_contract_sets_its_fee(chain: Chain) -> None:
    chain.set_batch_fee(30)
    call = {"to": address_of(BATCH, "sepolia"), "data": "0xf8b823e4"}  # batchFee
    assert int(chain.rpc("eth_call", call, "latest"), 16) == 30


def test_a_token_can_be_given_and_moved(chain: Chain) -> None:
    chain.fund_token(PAYER.address, FUSDC, 5_000_000)
    receipt = chain.send(transfer(FUSDC, PAYEE, 2_000_000), PAYER.key)
    assert receipt["status"] == "0x1"
    assert (chain.token_balance(FUSDC, PAYER.address), chain.token_balance(FUSDC, PAYEE)) == (3_000_000, 2_000_000)


def test_native_coin_can_be_sent(chain: Chain) -> None:
    before = chain.native_balance(PAYEE)
    chain.send({"to": PAYEE, "value": "0xde0b6b3a7640"}, PAYER.key)
    assert chain.native_balance(PAYEE) - before == 0xDE0B6B3A7640


def test_a_transaction_that_would_revert_is_not_sent(chain: Chain) -> None:
    with pytest.raises(RpcError, match="revert"):
        chain.send(transfer(FUSDC, PAYEE, 10**30), PAYER.key)


def test_multicall_reads_several_answers_at_once(chain: Chain) -> None:
    chain.fund_token(PAYER.address, FUSDC, 7)
    balance_of = "70a08231" + words(PAYER.address)
    call = words(FUSDC, 1, 96, 36) + balance_of.ljust(128, "0")  # (target, allowFailure, bytes)
    data = "0x82ad56cb" + words(32, 1, 32) + call  # aggregate3
    answer = chain.rpc("eth_call", {"to": address_of(MULTICALL3, "sepolia"), "data": data}, "latest")
    assert answer.endswith(words(32, 7))


def test_going_back_to_a_snapshot_undoes_blocks_and_balances(chain: Chain) -> None:
    snapshot, height = chain.snapshot(), chain.rpc("eth_blockNumber")
    chain.fund_token(PAYEE, FUSDC, 1)
    chain.mine(3)
    chain.revert(snapshot)
    assert chain.rpc("eth_blockNumber") == height
    assert chain.token_balance(FUSDC, PAYEE) == 0
    with pytest.raises(StackProblem):
        chain.revert(snapshot)


def test_the_tether_double_refuses_to_change_an_allowance_but_through_zero(chain: Chain) -> None:
    tether, spender, key = "0x" + "7e" * 20, Account.from_key("0x" + "5b" * 32), PAYER.key
    chain.etch(CREATION, [tether])
    chain.fund_token(PAYER.address, tether, 100)
    chain.fund_native(spender.address, 10**18)

    def approve(amount: int) -> str:
        return str(chain.send({"to": tether, "data": "0x095ea7b3" + words(spender.address, amount)}, key)["status"])

    assert approve(40) == "0x1"
    with pytest.raises(RpcError, match="revert"):
        approve(50)
    assert (approve(0), approve(50)) == ("0x1", "0x1")
    take = {"to": tether, "data": "0x23b872dd" + words(PAYER.address, PAYEE, 30)}
    assert chain.rpc("eth_call", {**take, "from": spender.address}, "latest") == "0x"
    assert chain.send(take, spender.key)["status"] == "0x1"
    assert (chain.token_balance(tether, PAYER.address), chain.token_balance(tether, PAYEE)) == (70, 30)


def test_state_survives_an_orderly_end(tmp_path: Path) -> None:
    state = tmp_path / "chain.json"
    with Chain.start("sepolia", state=state) as first:
        first.fund_native(PAYER.address, 10**18)
        first.fund_token(PAYER.address, FUSDC, 9)
        receipt = first.send(transfer(FUSDC, PAYEE, 4), PAYER.key)
    with Chain.start("sepolia", state=state) as second:
        assert second.token_balance(FUSDC, PAYEE) == 4
        logs = second.rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest", "address": FUSDC})
        assert [log["transactionHash"] for log in logs] == [receipt["transactionHash"]]
        assert second.rpc("eth_getTransactionReceipt", receipt["transactionHash"])["blockHash"] == receipt["blockHash"]


def test_half_a_state_file_is_replaced_by_the_last_whole_one(tmp_path: Path) -> None:
    state = tmp_path / "chain.json"
    with Chain.start("sepolia", state=state) as first:
        first.fund_token(PAYEE, FUSDC, 4)
    whole = state.read_bytes()
    state.with_suffix(".backup.json").write_bytes(whole)
    state.write_bytes(whole[: len(whole) // 2])
    with Chain.start("sepolia", state=state) as second:
        assert second.token_balance(FUSDC, PAYEE) == 4


def test_a_port_in_use_and_an_unknown_network_are_one_sentence(chain: Chain) -> None:
    port = int(chain.url.rsplit(":", 1)[1])
    with pytest.raises(StackProblem, match=f"port {port} of the base chain is already in use"):
        Chain.start("base", port=port)
    with pytest.raises(StackProblem, match="atlantis is not a network"):
        Chain.start("atlantis")
