"""EVM chains, read through nodes that accept JSON-RPC batches."""

from collections.abc import Callable, Mapping, Sequence

from chalicelib.base.addresses import same_address
from chalicelib.base.signatures import recover_digest
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets import erc6492
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.nodes.accounts import balances, nonces, relaying, sent, token_permits
from chalicelib.chains.nodes.accounts.simulation import Simulation, Simulator, call_of
from chalicelib.chains.nodes.bridges import deposits
from chalicelib.chains.nodes.conversions import rates as conversion_rates
from chalicelib.chains.nodes.escrow import reads as escrow_reads
from chalicelib.chains.nodes.escrow.reads import EscrowState
from chalicelib.chains.nodes.history import block_headers, blocks, log_ranges, proofs, receipts
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import BlockPayments, RangeReading
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.names import reads as name_reads
from chalicelib.chains.nodes.plain_transfers import reads as plain_transfer_reads
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.hex_values import quantity
from chalicelib.chains.nodes.rpc.http_client import HttpClient
from chalicelib.chains.nodes.rpc.receipts import find_receipts
from chalicelib.chains.nodes.safes import reads as safe_reads


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
        http = HttpClient(url, jsonrpc.MAX_RESPONSE_BYTES, share=share)
        self.node = jsonrpc.JsonRpcClient(network, http, on_error=on_error)
        self._simulator = Simulator(self.node)

    @jsonrpc.unavailable_if_malformed
    def head(self) -> int:
        chain_id, number = self.node.results([("eth_chainId", []), ("eth_blockNumber", [])])
        blocks.check_chain_id(self.network, chain_id)
        return quantity(number)

    block_hashes = jsonrpc.on_node(blocks.block_hashes)
    block_facts = jsonrpc.on_node(blocks.block_facts)

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        return log_ranges.read_range(self.node, blocks, after, self.escrow, headers, again)

    def read_payments(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        return log_ranges.read_payments(self.node, wanted, self.escrow)

    read_transfers = jsonrpc.on_node(log_ranges.read_transfers)
    read_headers = jsonrpc.on_node(block_headers.read_headers)
    read_block_logs = jsonrpc.on_node(block_headers.read_block_logs)
    find_receipts = jsonrpc.on_node(find_receipts)
    read_receipts = jsonrpc.on_node(receipts.read_receipts)
    payers_of = jsonrpc.on_node(receipts.payers_of)
    read_wallet = jsonrpc.on_node(balances.read_by_multicall)
    read_funds = jsonrpc.on_node(balances.read_funds)
    read_batch_fee = jsonrpc.on_node(balances.read_batch_fee)
    has_code = jsonrpc.on_node(balances.has_code)
    read_codes = jsonrpc.on_node(balances.read_codes)

    @jsonrpc.unavailable_if_malformed
    def which_revert(self, sender: str, calls: Sequence[Transaction]) -> tuple[bool, ...]:
        outcomes = self.node.outcomes([call_of(sender, each, jsonrpc.READ_GAS) for each in calls])
        reverts = [isinstance(each, jsonrpc.RpcError) and each.is_revert for each in outcomes]
        jsonrpc.raise_first_error([each for each, is_revert in zip(outcomes, reverts, strict=True) if not is_revert])
        return tuple(reverts)

    @jsonrpc.unavailable_if_malformed
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
            returned = self.node.call("eth_call", validation, "latest")
        except jsonrpc.NodeResponseTooLarge:  # the validator returns one byte
            return False
        except jsonrpc.RpcError as error:
            if error.is_revert:
                return False
            raise
        return quantity(returned, 2**256) == 1

    read_permit_answers = jsonrpc.on_node(token_permits.read_permit_answers)
    read_transfer_answers = jsonrpc.on_node(token_permits.read_transfer_answers)

    def read_escrow(self, payment_hashes: Sequence[str], block: int | None = None) -> tuple[EscrowState, ...]:
        """What the escrow says of payments after a block, without one after the newest. One request.

        Raises LookupError if the network has no escrow.
        """
        return escrow_reads.read_escrow(self.node, self._with_escrow(), payment_hashes, block)

    def read_able_payers(self, token: str, amount: int, wallets: Mapping[str, str]) -> tuple[str, ...]:
        """Those of `wallets` ({address: hash of the payment with it}) from which the escrow could take an amount of a
        token now, by their pre-approvals. One request. Raises LookupError if the network has no escrow."""
        return escrow_reads.read_able_payers(self.node, self._with_escrow(), token, amount, wallets)

    def read_erc3009_domain(self, info: PaymentInfo) -> TokenDomain | None:
        """The domain in which the payer signs an ERC-3009 transfer of the token for a payment; None if the token has no
        such transfers. Raises LookupError if the network has no escrow."""
        return escrow_reads.read_erc3009_domain(self.node, self._with_escrow(), info)

    def _with_escrow(self) -> EscrowContracts:
        if self.escrow is None:
            raise LookupError(f"{self.network} has no escrow")
        return self.escrow

    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        return self._simulator.run(sent)

    read_plain_transfers = jsonrpc.on_node(plain_transfer_reads.read_plain_transfers)
    read_plain_address = jsonrpc.on_node(plain_transfer_reads.read_plain_address)
    read_plain_balances = jsonrpc.on_node(plain_transfer_reads.read_plain_balances)
    read_conversion_rates = jsonrpc.on_node(conversion_rates.read_rates)
    read_past_conversion_rate = jsonrpc.on_node(conversion_rates.read_past_rate)
    sent_transaction = jsonrpc.on_node(sent.read_sent_transaction)
    transaction_count = jsonrpc.on_node(sent.transaction_count)
    read_account = jsonrpc.on_node(relaying.read_account)
    run_each = jsonrpc.on_node(relaying.run_each)
    run_as_sent = jsonrpc.on_node(relaying.run_as_sent)
    send_raw = jsonrpc.on_node(relaying.send_raw)
    receipts_of = jsonrpc.on_node(relaying.receipts_of)
    sights = jsonrpc.on_node(proofs.sights)
    used_nonces = jsonrpc.on_node(nonces.read_used_nonces)
    token_balances = jsonrpc.on_node(proofs.token_balances)
    replayed = jsonrpc.on_node(relaying.replay_transaction)
    ask = jsonrpc.on_node(name_reads.ask)
    is_contract = jsonrpc.on_node(name_reads.is_contract)
    safe_nonce = jsonrpc.on_node(safe_reads.safe_nonce)
    safe_event = jsonrpc.on_node(safe_reads.safe_event)
    fills = jsonrpc.on_node(deposits.fills)
    fill_status = jsonrpc.on_node(deposits.fill_status)
    returns = jsonrpc.on_node(deposits.returns)
