"""EVM chains, read through nodes that accept JSON-RPC batches."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from chalicelib.base.addresses import hex_address, same_address
from chalicelib.base.signatures import recover_digest
from chalicelib.chains.calldata import erc6492
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo
from chalicelib.chains.calldata.token_domains import TokenDomain
from chalicelib.chains.calldata.transaction import SentTransaction, Transaction
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.nodes import blocks, nonces, proofs, ranges, receipts, relaying, sent, token_permits, wallets
from chalicelib.chains.nodes.bridges import deposits as bridges
from chalicelib.chains.nodes.bridges.deposits import LoggedFill, LoggedReturn
from chalicelib.chains.nodes.conversions import past_rates
from chalicelib.chains.nodes.conversions import rates as conversion_rates
from chalicelib.chains.nodes.escrow import reads as escrow_reads
from chalicelib.chains.nodes.escrow.reads import EscrowState
from chalicelib.chains.nodes.logs import BlockFacts, BlockRange, Checkpoint
from chalicelib.chains.nodes.ranges import RangeReading
from chalicelib.chains.nodes.readings import (
    AccountReading,
    Receipt,
    Sight,
    Sought,
    StepResult,
    TokenBalances,
    UsedNonce,
)
from chalicelib.chains.nodes.receipts import BlockReceipts, PaidTransfer, PaymentSender
from chalicelib.chains.nodes.rpc.hex_values import quantity
from chalicelib.chains.nodes.rpc.http_client import HttpClient
from chalicelib.chains.nodes.rpc.jsonrpc import (
    MAX_RESPONSE_BYTES,
    READ_GAS,
    JsonRpcClient,
    NodeResponseTooLarge,
    RpcError,
    unavailable_if_malformed,
)
from chalicelib.chains.nodes.safes import reads as safe_reads
from chalicelib.chains.nodes.safes.reads import SafeEvent
from chalicelib.chains.nodes.simulation import Simulation, Simulator
from chalicelib.chains.nodes.wallets import WalletReading


class EvmChain:
    """A `Chain` (protocol.py) that can also read Safes, the rates of conversions, and transactions that are in no block
    yet, and send those of the service's own account."""

    def __init__(
        self,
        network: str,
        url: str,
        escrow: EscrowContracts | None = None,
        share: float = 1,
        on_error: Callable[[], None] | None = None,
    ) -> None:
        """`share` is this node's part of the time for a response (HttpClient); `on_error` as in JsonRpcClient."""
        self.network = network
        self.escrow = escrow
        self._node = JsonRpcClient(network, HttpClient(url, MAX_RESPONSE_BYTES, share=share), on_error=on_error)
        self._simulator = Simulator(self._node)

    @unavailable_if_malformed
    def head(self) -> int:
        chain_id, number = self._node.results([("eth_chainId", []), ("eth_blockNumber", [])])
        blocks.check_chain_id(self.network, chain_id)
        return quantity(number)

    def block_hashes(self, numbers: Sequence[int]) -> dict[int, str | None]:
        return blocks.block_hashes(self._node, numbers)

    def block_facts(self, numbers: Sequence[int]) -> dict[int, BlockFacts]:
        return blocks.block_facts(self._node, numbers)

    def read_range(self, blocks: BlockRange, after: Checkpoint | None) -> RangeReading:
        return ranges.read_range(self._node, blocks, after, self.escrow)

    def logs_of_transactions(self, tx_hashes: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
        return receipts.logs_of_transactions(self._node, tx_hashes)

    def read_receipts(self, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        return receipts.read_receipts(self._node, number, tx_hashes)

    def payers_of(self, payments: Sequence[PaidTransfer]) -> tuple[PaymentSender | None, ...]:
        return receipts.payers_of(self._node, payments)

    def read_wallet(
        self,
        wallet: str,
        tokens: Sequence[str],
        spender: str,
        *,
        batch_fee: bool = False,
        code_of: str | None = None,
    ) -> WalletReading:
        """As the protocol has it; also whether there is a contract at the address `code_of`."""
        return wallets.read_by_multicall(self._node, wallet, tokens, spender, batch_fee=batch_fee, code_of=code_of)

    def read_batch_fee(self) -> int:
        return wallets.read_batch_fee(self._node)

    def has_code(self, address: str) -> bool:
        return wallets.has_code(self._node, address)

    @unavailable_if_malformed
    def would_revert(self, sender: str, to: str, data: str) -> bool:
        try:
            call = {"from": hex_address(sender), "to": hex_address(to), "data": data, "gas": hex(READ_GAS)}
            self._node.call("eth_call", call, "latest")
        except RpcError as error:
            if error.is_revert:
                return True
            raise
        return False

    @unavailable_if_malformed
    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Whether the wallet at an address accepts a signature over a digest of 32 bytes, at the newest block.

        A key's signature is recovered without the node. The signature of a contract wallet is checked by ERC-1271, or
        ERC-6492 if it is not deployed yet, in one eth_call; if the wallet's code fails, or reverts with more data than
        a result may have, the signature is invalid.
        """
        signer = recover_digest(digest, signature)
        if signer is not None and same_address(signer, address):
            return True
        data = erc6492.validation(address, digest, signature)
        validation = {"from": erc6492.SENDER, "data": data, "gas": hex(erc6492.GAS)}
        try:
            returned = self._node.call("eth_call", validation, "latest")
        except NodeResponseTooLarge:  # the validator returns one byte
            return False
        except RpcError as error:
            if error.is_revert:
                return False
            raise
        return quantity(returned, 2**256) == 1

    def read_permit_answers(self, token: str, owner: str) -> tuple[bytes | None, ...]:
        """What a token answers to the reads of a signed approval (chains/calldata/erc2612.py)."""
        return token_permits.read_permit_answers(self._node, token, owner)

    def read_escrow(self, payment_hashes: Sequence[str], block: int | None = None) -> tuple[EscrowState, ...]:
        """What the escrow says of payments after a block, without one after the newest. One request.

        Raises LookupError if the network has no escrow.
        """
        return escrow_reads.read_escrow(self._node, self._with_escrow(), payment_hashes, block)

    def read_able_payers(self, token: str, amount: int, wallets: Mapping[str, str]) -> tuple[str, ...]:
        """Those of `wallets` ({address: hash of the payment with it}) from which the escrow could take an amount of a
        token now, by their pre-approvals. One request. Raises LookupError if the network has no escrow."""
        return escrow_reads.read_able_payers(self._node, self._with_escrow(), token, amount, wallets)

    def read_erc3009_domain(self, info: PaymentInfo) -> TokenDomain | None:
        """The domain in which the payer signs an ERC-3009 transfer of the token for a payment; None if the token has no
        such transfers. Raises LookupError if the network has no escrow."""
        return escrow_reads.read_erc3009_domain(self._node, self._with_escrow(), info)

    def _with_escrow(self) -> EscrowContracts:
        if self.escrow is None:
            raise LookupError(f"{self.network} has no escrow")
        return self.escrow

    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        return self._simulator.run(sent)

    def read_conversion_rates(
        self, paths: Sequence[tuple[str, ...]], block: int | None = None
    ) -> tuple[PathRate | None, ...]:
        """The rate of each conversion path after a block, without one after the newest; None where the contracts could
        not convert by it."""
        return conversion_rates.read_rates(self._node, paths, block)

    def read_past_conversion_rate(self, path: tuple[str, ...], instant: datetime) -> PathRate | None:
        """The rate of a path by what its feeds answered at a past instant; None if they do not tell."""
        return past_rates.read_past_rate(self._node, path, instant)

    def sent_transaction(self, tx_hash: str) -> SentTransaction | None:
        """The transaction with a hash (0x and 64 lower-case digits); None if the node does not have it."""
        return sent.sent_transaction(self._node, tx_hash)

    def transaction_count(self, address: str, block: int) -> int:
        """The nonce of an address's next transaction after a block."""
        return sent.transaction_count(self._node, address, block)

    def read_account(self, address: str) -> AccountReading:
        """The state of an account that sends transactions, and the prices of gas."""
        return relaying.read_account(self._node, address)

    def run_each(self, sender: str, wanted: Sequence[tuple[Transaction, int]]) -> tuple[StepResult, ...]:
        """Runs transactions, each alone on the newest state with the most gas it may take, and estimates their gas."""
        return relaying.run_each(self._node, sender, wanted)

    def run_as_sent(self, sender: str, each: Transaction, gas: int, max_fee: int, tip: int) -> StepResult:
        """Runs a transaction with the gas limit and the price that it is sent with. One request."""
        return relaying.run_as_sent(self._node, sender, each, gas, max_fee, tip)

    def send_raw(self, signed: Sequence[str]) -> tuple[str | None, ...]:
        """Sends signed transactions (0x hex); returns what the node says against each, which proves nothing."""
        return relaying.send_raw(self._node, signed)

    def receipts_of(self, tx_hashes: Sequence[str]) -> dict[str, Receipt]:
        """The receipts of those transactions (0x and 64 lower-case digits) that are in a block, by their hashes."""
        return relaying.receipts_of(self._node, tx_hashes)

    def sights(self, sought: Sequence[Sought]) -> tuple[Sight, ...]:
        """What the node says of transactions that are to be proven, in their order."""
        return proofs.sights(self._node, sought)

    def used_nonces(self, sender: str, numbers: Sequence[int], blocks: BlockRange) -> tuple[UsedNonce, ...]:
        """The transactions of an account in a range of blocks, and those with these nonces that the node finds by
        itself; each is verified by its signature."""
        return nonces.used_nonces(self._node, sender, numbers, blocks)

    def token_balances(self, account: str, tokens: Sequence[str]) -> TokenBalances:
        """What an account has of tokens, and its next nonce, both after the same block."""
        return proofs.token_balances(self._node, account, tokens)

    def replayed(self, sender: str, each: Transaction, gas: int, block: int) -> StepResult:
        """The result of a transaction on the state before a block; its success is None if that is not known."""
        return relaying.replayed(self._node, sender, each, gas, block)

    def safe_nonce(self, safe: str, block: int) -> int | None:
        """The nonce of a Safe's next transaction after a block: the number of transactions it had executed.

        None if there is no Safe at the address.
        """
        return safe_reads.safe_nonce(self._node, safe, block)

    def safe_event(self, safe: str, safe_tx_hash: str, blocks: BlockRange) -> SafeEvent | None:
        """The Safe's event of a transaction in a block range; None if there is none. Raises RangeTooLarge."""
        return safe_reads.safe_event(self._node, safe, safe_tx_hash, blocks)

    def fills(self, origin_chain_id: int, deposit_id: int, blocks: BlockRange) -> tuple[LoggedFill, ...]:
        """The fills of a bridge's deposit in a block range. Raises RangeTooLarge."""
        return bridges.fills(self._node, origin_chain_id, deposit_id, blocks)

    def fill_status(self, relay_hash: str, block: int) -> int:
        """The state of a bridge's deposit after a block; `bridges.UNFILLED` as long as it was not filled."""
        return bridges.fill_status(self._node, relay_hash, block)

    def returns(self, token: str, depositor: str, least: int, blocks: BlockRange) -> tuple[LoggedReturn, ...]:
        """What the bridge sent of a token to a depositor in a block range, `least` base units or more at once. Raises
        RangeTooLarge."""
        return bridges.returns(self._node, token, depositor, least, blocks)
