"""Tron, read through a TronGrid or java-tron node: JSON-RPC at /jsonrpc, and java-tron's own API.

Differences from EVM nodes: a request holds one JSON-RPC call, as hosted nodes refuse batches; addresses are 20-byte hex
in JSON-RPC and base58 for callers; only the newest state can be read; there is no Multicall3 and no Safe. A block is
final once it is solidified (19 of 27 representatives have built on it), so `head` is the newest solidified block.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.signatures import recover_digest
from chalicelib.chains.calldata.reverts import printable, revert_reason
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.accounts import balances, sent
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.accounts.simulation import TOO_LARGE, UNKNOWN_STEP, Simulation, StepResult
from chalicelib.chains.nodes.history import blocks, log_ranges, receipts
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import BlockPayments, RangeReading
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.readings import CallEnergy, ResourceReading
from chalicelib.chains.nodes.resources import delegations
from chalicelib.chains.nodes.resources import reading as resources
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.http_client import HttpClient
from chalicelib.chains.nodes.rpc.receipts import find_receipts

_LONGEST_CODE = 64
_LONGEST_RESPONSE = 1024 * 1024
"""Bytes; several times the longest signed transaction with its result. Foreign contracts can return megabytes."""
_CONTRACT_FAILED = ("CONTRACT_VALIDATE_ERROR", "CONTRACT_EXE_ERROR")
"""java-tron's codes for a call that fails, for example because there is no contract. Other codes are node failures."""


@frozen
class BroadcastResult:
    """The node's response to a signed transaction.

    `code` is SUCCESS or java-tron's error code (SIGERROR, TRANSACTION_EXPIRATION_ERROR, DUP_TRANSACTION_ERROR ...),
    `message` its text in one printable line.
    """

    result: bool
    txid: str
    code: str
    message: str


class TronChain:
    """A `Chain` (protocol.py) that can also broadcast transactions."""

    escrow = None

    def __init__(
        self,
        network: str,
        url: str,
        api_key: str | None = None,
        share: float = 1,
        on_error: Callable[[], None] | None = None,
    ) -> None:
        """`share` and `on_error` as in EvmChain."""
        self.network = network
        headers = {"TRON-PRO-API-KEY": api_key} if api_key else {}
        http = HttpClient(url, jsonrpc.MAX_RESPONSE_BYTES, headers, share)
        self.node = jsonrpc.JsonRpcClient(network, http, "/jsonrpc", batches=False, on_error=on_error)

    @jsonrpc.unavailable_if_malformed
    def head(self) -> int:
        """The number of the newest solidified block. Also raises ChainUnavailable if the node serves another chain."""
        blocks.check_chain_id(self.network, self.node.call("eth_chainId"))
        # the response has all transactions of the block
        block = self.node.post("/walletsolidity/getnowblock", {}, jsonrpc.MAX_RESPONSE_BYTES)
        number: int = block["block_header"]["raw_data"].get("number", 0)  # protobuf's JSON leaves zeros out
        if not isinstance(number, int):
            raise TypeError("a block number is an integer")
        return number

    block_hashes = jsonrpc.on_node(blocks.block_hashes)
    block_facts = jsonrpc.on_node(blocks.block_facts)

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        return log_ranges.read_range(self.node, blocks, after, again=again)

    def read_payments(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        return log_ranges.read_payments(self.node, wanted)

    read_transfers = jsonrpc.on_node(log_ranges.read_transfers)
    find_receipts = jsonrpc.on_node(find_receipts)
    read_receipts = jsonrpc.on_node(receipts.read_receipts)
    payers_of = jsonrpc.on_node(receipts.payers_of)

    def read_wallet(
        self, wallet: str, tokens: Sequence[str], spender: str, *, batch_fee: bool = False
    ) -> WalletReading:
        """Balances in sun and base units. The gas price is the price of energy in sun, the batch fee always 0."""
        return balances.read_one_by_one(self.node, wallet, tokens, spender)

    def read_batch_fee(self) -> int:
        """Always 0: the batch contract of tron has no fee."""
        return 0

    has_code = jsonrpc.on_node(balances.has_code)

    @jsonrpc.unavailable_if_malformed
    def which_revert(self, sender: str, calls: Sequence[Transaction]) -> tuple[bool, ...]:
        """Whether each constant call fails on the newest state, each a request; java-tron's eth_call may not report
        failures."""
        return tuple(self._constant_call(sender, each).success is False for each in calls)

    @jsonrpc.unavailable_if_malformed
    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Whether the key of an address signed a digest of 32 bytes. Contract wallets are not supported on tron."""
        signer = recover_digest(digest, signature)
        return signer is not None and address_bytes(signer) == address_bytes(address)

    @jsonrpc.unavailable_if_malformed
    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        """Simulates the first transaction by a constant call, with its energy; nodes cannot run the others after it.

        Nodes limit the energy of a constant call (`vm.maxEnergyLimitForConstant`); the call has no field for it.
        """
        rest = (StepResult(None, UNKNOWN_STEP) for _ in sent[1:])
        try:
            first = self._constant_call(*sent[0])
        except jsonrpc.NodeResponseTooLarge:
            first = StepResult(None, TOO_LARGE)
        return Simulation("triggerconstantcontract", (first, *rest))

    @jsonrpc.unavailable_if_malformed
    def read_resources(self, sender: str, calls: Sequence[Transaction]) -> ResourceReading:
        """Prices of energy and bandwidth, what `sender` has of them, and the energy of each of its calls, run alone on
        the newest state. A request for each. Raises ChainUnavailable for what cannot be true."""
        prices, account = resources.read_prices(self.node), resources.read_account(self.node, sender)
        return ResourceReading(prices, account, tuple(self._energy_of(sender, each) for each in calls))

    def broadcast(self, signed: bytes) -> BroadcastResult:
        """Sends a signed transaction to the network. Raises BadGateway if the outcome is not known."""
        try:
            response = self.node.post("/wallet/broadcasthex", {"transaction": signed.hex()}, _LONGEST_RESPONSE)
        except ChainUnavailable as error:
            message = "The Tron node did not answer; the transaction may have been sent: look it up before sending anew"
            raise BadGateway(message) from error
        if not isinstance(response, dict) or not ({"result", "code", "Error"} & response.keys()):
            raise BadGateway("The Tron node gave no answer to the transaction: look it up before sending anew")
        accepted = response.get("result") is True
        code = str(response.get("code") or ("SUCCESS" if accepted else "OTHER_ERROR"))
        txid, code = (printable(text)[:_LONGEST_CODE] for text in (str(response.get("txid", "")), code))
        return BroadcastResult(accepted, txid, code, _message(response.get("message") or response.get("Error")))

    sent_transaction = jsonrpc.on_node(sent.read_sent_transaction)
    has_transaction = jsonrpc.on_node(resources.has_transaction)
    read_stake = jsonrpc.on_node(delegations.read_stake)
    read_delegated = jsonrpc.on_node(delegations.read_delegated)
    read_reference_block = jsonrpc.on_node(delegations.read_reference_block)

    def _energy_of(self, sender: str, transaction: Transaction) -> CallEnergy | None:
        """None if the call fails on the newest state, or nobody can say whether it does."""
        try:
            response, result = self._run(sender, transaction)
        except jsonrpc.NodeResponseTooLarge:
            return None
        return resources.call_energy(response) if result.success else None

    def _constant_call(self, sender: str, transaction: Transaction) -> StepResult:
        """Runs one transaction on the newest state without sending it."""
        return self._run(sender, transaction)[1]

    def _run(self, sender: str, transaction: Transaction) -> tuple[Mapping[str, Any], StepResult]:
        """The node's response to a constant call, and the result in it."""
        fields: dict[str, Any] = {
            "owner_address": "41" + address_bytes(sender).hex(),
            "contract_address": "41" + address_bytes(transaction.to).hex(),
            "data": transaction.data.removeprefix("0x"),
        }
        if transaction.value:
            fields["call_value"] = transaction.value
        response = self.node.post("/wallet/triggerconstantcontract", fields, _LONGEST_RESPONSE)
        energy = response.get("energy_used")
        gas = energy if isinstance(energy, int) else None
        outcome: Mapping[str, Any] = response["result"]
        if outcome.get("result") is not True:
            if outcome.get("code") not in _CONTRACT_FAILED:
                raise ChainUnavailable(f"The {self.network} node refused a constant call")
            return response, StepResult(False, _message(outcome.get("message")) or revert_reason(b""), None)
        returned = bytes.fromhex("".join(response.get("constant_result", ())))
        if any(ret.get("ret") == "FAILED" for ret in response["transaction"].get("ret", ())):
            return response, StepResult(False, revert_reason(returned), gas)
        return response, StepResult(True, None, gas)


def _message(text: Any) -> str:
    """A message of java-tron in plain text. Some responses hold plain text, others the hex of its bytes."""
    plain = str(text or "")
    with suppress(ValueError):
        plain = bytes.fromhex(plain).decode()
    return printable(plain)
