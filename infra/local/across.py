"""Across, a bridge, between local chains: what was deposited, what became of it, and what relayers do.

Who deposits tokens into the SpokePool of one chain gets others on another chain, from a relayer who is repaid later;
with a message the recipient is the MulticallHandler there, which makes the message's calls with the tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.base.addresses import address_bytes, evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, ERC20_FEE_PROXY, address_of
from infra.local.across_contracts import (
    call_data,
    encode_abi,
    install_across,
    send_call,
    send_good_call,
    topic_of,
)
from infra.local.bytecode import DEPLOYER
from infra.local.chain import Chain

NETWORKS = ("base", "arbitrum-one", "mainnet")
"""The networks that the local stack has a bridge on."""
RELAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
"""anvil's third account: it has whatever a fill needs."""

_REVERTS = "0x5f5ffd"
_RELAY = "(bytes32,bytes32,bytes32,bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,bytes)"
_LEAF = "(uint256,uint256,uint256[],uint32,address,address[])"
_DEPOSITED_FIELDS = (
    "bytes32",
    "bytes32",
    "uint256",
    "uint256",
    "uint32",
    "uint32",
    "uint32",
    "bytes32",
    "bytes32",
    "bytes",
)
_DEPOSITED = (
    "FundsDeposited(bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,uint32,bytes32,bytes32,bytes32,bytes)"
)
_FILLED = (
    "FilledRelay(bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,uint32,uint32,bytes32,bytes32,bytes32,bytes32,"
    "bytes32,(bytes32,bytes32,uint256,uint8))"
)
_REFUNDED = "ExecutedRelayerRefundRoot(uint256,uint256,uint256[],uint32,uint32,address,address[],bool,address)"
_CALLS_FAILED = "CallsFailed((address,bytes,uint256)[],address)"


@dataclass(frozen=True)
class Deposited:
    """A deposit as its event has it. Amounts are in base units, times in seconds of the epoch."""

    network: str
    transaction_hash: str
    block: int
    id: int
    depositor: str
    recipient: str
    input_token: str
    output_token: str
    input_amount: int
    output_amount: int
    destination: int
    """The chain id."""
    quote_time: int
    fill_deadline: int
    exclusivity_deadline: int
    exclusive_relayer: str
    message: bytes


@dataclass(frozen=True)
class Outcome:
    """What became of a deposit: hashes of the transactions that filled and refunded it, None while there is none."""

    filled: str | None = None
    has_failed_calls: bool = False
    """The recipient's calls reverted, and the tokens are at the fallback address of the message."""
    is_expired: bool = False
    """No relayer filled it in time; nobody can any more."""
    refunded: str | None = None


class Bridge:
    """The bridge between several chains: what was deposited, what became of it, and a relayer's acts."""

    def __init__(self, chains: Mapping[str, Chain]) -> None:
        self.chains = {network: chain for network, chain in chains.items() if network in NETWORKS}
        self._by_id = {chain.chain_id: chain for chain in self.chains.values()}
        for chain in self.chains.values():
            install_across(chain)

    def deposits(self, network: str, since: int = 0) -> list[Deposited]:
        """Returns the deposits on a network from a block on."""
        query = _logs_query(address_of(ACROSS_SPOKE_POOL, network), [topic_of(_DEPOSITED)], since)
        return [_decode_deposit(network, log) for log in self.chains[network].rpc("eth_getLogs", query)]

    def deposits_of(self, network: str, transaction_hash: str) -> list[Deposited]:
        """Returns the deposits that a transaction on a network made: none if it is unknown or reverted."""
        receipt = self.chains[network].rpc("eth_getTransactionReceipt", transaction_hash)
        pool, topic = address_of(ACROSS_SPOKE_POOL, network), topic_of(_DEPOSITED)
        logs = receipt["logs"] if receipt else ()
        mine = (log for log in logs if evm_address(log["address"]) == pool and log["topics"][0] == topic)
        return [_decode_deposit(network, log) for log in mine]

    def outcome(self, deposited: Deposited) -> Outcome:
        """Reads from both chains what became of a deposit."""
        destination = self._by_id.get(deposited.destination)
        if destination is None:
            return Outcome()
        origin = self.chains[deposited.network].chain_id
        topics = [topic_of(_FILLED), f"0x{origin:064x}", f"0x{deposited.id:064x}"]
        query = _logs_query(address_of(ACROSS_SPOKE_POOL, destination.network), topics)
        for log in destination.rpc("eth_getLogs", query):
            receipt = destination.receipt(log["transactionHash"])
            failed = any(each["topics"][:1] == [topic_of(_CALLS_FAILED)] for each in receipt["logs"])
            return Outcome(filled=log["transactionHash"], has_failed_calls=failed)
        return Outcome(is_expired=_now(destination) > deposited.fill_deadline, refunded=self._refund_of(deposited))

    def fill(self, deposited: Deposited, fails: bool = False) -> dict[str, Any]:
        """Gives the recipient its tokens, as a relayer does who is repaid on the deposit's chain; returns the receipt.

        With `fails` the contract that takes payments reverts meanwhile. Whether this fill reverts says the receipt:
        a second one does, and one after the deadline.
        """
        chain = self._by_id[deposited.destination]
        proxy = address_of(ERC20_FEE_PROXY, chain.network)
        chain.fund_native(RELAYER, 10 * chain.coin)
        if chain.token_balance(deposited.output_token, RELAYER) < deposited.output_amount:
            chain.fund_token(RELAYER, deposited.output_token, deposited.output_amount)
        approval, call = self.fill_calls(deposited)
        send_good_call(chain, RELAYER, *approval)
        if not fails:
            return send_call(chain, RELAYER, *call)
        code = chain.rpc("eth_getCode", proxy, "latest")
        chain.rpc("anvil_setCode", proxy, _REVERTS)
        try:
            return send_call(chain, RELAYER, *call)
        finally:
            chain.rpc("anvil_setCode", proxy, code)

    def fill_calls(self, deposited: Deposited) -> tuple[tuple[str, str], tuple[str, str]]:
        """The approval of what a fill takes from its sender, and the fill: contracts and calldata."""
        pool = address_of(ACROSS_SPOKE_POOL, self._by_id[deposited.destination].network)
        approval = call_data("approve(address,uint256)", ["address", "uint256"], [pool, deposited.output_amount])
        origin = self.chains[deposited.network].chain_id
        values = [_relay(deposited, origin), origin, address_bytes(RELAYER).rjust(32, b"\0")]
        call = call_data(f"fillRelay({_RELAY},uint256,bytes32)", [_RELAY, "uint256", "bytes32"], values)
        return (deposited.output_token, approval), (pool, call)

    def refund(self, deposited: Deposited) -> dict[str, Any]:
        """Gives the depositor its tokens back, as Across does after the deadline; returns the receipt.

        It takes two transactions, as there: a root of refunds, here of this one, and its execution.
        """
        chain, pool = self.chains[deposited.network], address_of(ACROSS_SPOKE_POOL, deposited.network)
        leaf = (
            0,
            chain.chain_id,
            [deposited.input_amount],
            _leaf_id(deposited),
            deposited.input_token,
            [deposited.depositor],
        )
        root = keccak256(encode_abi([_LEAF], [leaf]))
        relayed = call_data("relayRootBundle(bytes32,bytes32)", ["bytes32", "bytes32"], [root, bytes(32)])
        receipt = send_good_call(chain, DEPLOYER, pool, relayed)
        number = int(receipt["logs"][0]["topics"][1], 16)
        types = ["uint32", _LEAF, "bytes32[]"]
        execution = call_data(f"executeRelayerRefundLeaf(uint32,{_LEAF},bytes32[])", types, [number, leaf, []])
        return send_good_call(chain, DEPLOYER, pool, execution)

    def _refund_of(self, deposited: Deposited) -> str | None:
        """The hash of the transaction that refunded a deposit: its leaf has the deposit's number."""
        chain = self.chains[deposited.network]
        topics = [topic_of(_REFUNDED), f"0x{chain.chain_id:064x}", None, f"0x{_leaf_id(deposited):064x}"]
        query = _logs_query(address_of(ACROSS_SPOKE_POOL, deposited.network), topics, deposited.block)
        return next((str(log["transactionHash"]) for log in chain.rpc("eth_getLogs", query)), None)


def _relay(deposited: Deposited, origin: int) -> tuple[Any, ...]:
    """Returns the deposit as the SpokePool of its destination wants it."""
    addresses = (
        deposited.depositor,
        deposited.recipient,
        deposited.exclusive_relayer,
        deposited.input_token,
        deposited.output_token,
    )
    words = (address_bytes(address).rjust(32, b"\0") for address in addresses)
    amounts, times = (
        (deposited.input_amount, deposited.output_amount),
        (deposited.fill_deadline, deposited.exclusivity_deadline),
    )
    return (*words, *amounts, origin, deposited.id, *times, deposited.message)


def _decode_deposit(network: str, log: Mapping[str, Any]) -> Deposited:
    from eth_abi import decode

    _, destination, id, depositor = (int(topic, 16) for topic in log["topics"])
    tokens_in, tokens_out, amount_in, amount_out, *times, recipient, exclusive, message = decode(
        _DEPOSITED_FIELDS, bytes.fromhex(log["data"][2:])
    )
    return Deposited(
        network=network,
        transaction_hash=log["transactionHash"],
        block=int(log["blockNumber"], 16),
        id=id,
        depositor=evm_address(f"0x{depositor:040x}"),
        recipient=_address(recipient),
        input_token=_address(tokens_in),
        output_token=_address(tokens_out),
        input_amount=amount_in,
        output_amount=amount_out,
        destination=destination,
        quote_time=times[0],
        fill_deadline=times[1],
        exclusivity_deadline=times[2],
        exclusive_relayer=_address(exclusive),
        message=message,
    )


def _leaf_id(deposited: Deposited) -> int:
    return deposited.id % 2**32


def _now(chain: Chain) -> int:
    """Returns the time that the next block will have at least."""
    return int(chain.rpc("eth_getBlockByNumber", "pending", False)["timestamp"], 16)


def _logs_query(address: str, topics: Sequence[str | None], since: int = 0) -> dict[str, Any]:
    return {"address": address, "topics": list(topics), "fromBlock": hex(since), "toBlock": "latest"}


def _address(word: bytes) -> str:
    return evm_address("0x" + word[-20:].hex())
