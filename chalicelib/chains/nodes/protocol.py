"""The protocol `Chain`: the reads that EVM chains and Tron have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from chalicelib.chains.calldata.transaction import Transaction
    from chalicelib.chains.catalogue.escrows import EscrowContracts
    from chalicelib.chains.nodes.accounts.balances import WalletReading
    from chalicelib.chains.nodes.accounts.simulation import Simulation
    from chalicelib.chains.nodes.history.full_blocks import LogFilter
    from chalicelib.chains.nodes.history.log_ranges import BlockPayments, RangeReading
    from chalicelib.chains.nodes.history.logs import BlockFacts, BlockRange, Checkpoint
    from chalicelib.chains.nodes.history.receipts import BlockReceipts, PaidTransfer, PaymentSender
    from chalicelib.chains.nodes.rpc.receipts import RawReceipts


class Chain(Protocol):
    """One network, read through its node. Addresses are EIP-55, or base58 on tron; logs are the node's JSON.

    Every method raises ChainUnavailable if the node does not respond, or not in the documented form. Methods that only
    one family has are in its class: reading Safes and rates in EvmChain, broadcasting in TronChain.
    """

    @property
    def network(self) -> str:
        """The network's name in the catalogue."""

    @property
    def escrow(self) -> EscrowContracts | None:
        """The contracts of commerce payments whose events are read with the payments; None if the network has none."""

    # blocks and logs

    def head(self) -> int:
        """The number of the newest block; on tron, of the newest solidified block.

        Also raises ChainUnavailable if the node serves another chain.
        """

    def block_hashes(self, numbers: Sequence[int]) -> dict[int, str | None]:
        """The current canonical hash at each height; None where the node does not return the block."""

    def block_facts(self, numbers: Sequence[int]) -> dict[int, BlockFacts]:
        """The canonical hash and the time of the block at each height.

        Raises ChainUnavailable if the node does not have one of the blocks.
        """

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        """The logs of payments in a range of blocks: those of the fee proxies and the conversion proxies; and, on EVM
        networks, the headers at some heights; besides, the logs of blocks that are read again.

        Raises Disconnected if the block of the checkpoint `after` is no longer canonical, RangeTooLarge if the node
        does not return the logs of so many blocks, BlockRefused if it does not return those of a single block.
        """

    def read_payments(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        """The blocks at some heights with their logs of payments, and with the Transfers that are wanted of each,
        without those that the node does not have."""

    def read_transfers(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        """The blocks at some heights with the Transfers that are wanted of each, without the logs of payments. Raises
        ChainUnavailable if the node does not have one of the blocks."""

    def find_receipts(self, tx_hashes: Sequence[str]) -> RawReceipts:
        """The receipts of transactions, as far as the node returns them. Raises ChainUnavailable if it returns none."""

    def read_receipts(self, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        """The receipts of transactions in the block at a height, as far as the node says whether they are there."""

    def payers_of(
        self, payments: Sequence[PaidTransfer], read: RawReceipts | None = None
    ) -> tuple[PaymentSender | None, ...]:
        """The sender of each payment; None if the receipt does not show it. `read` are receipts that were read."""

    # the newest state

    def read_wallet(
        self, wallet: str, tokens: Sequence[str], spender: str, *, batch_fee: bool = False
    ) -> WalletReading:
        """A wallet's balances, its allowances for the spender, and the gas price; for up to 200 tokens.

        With `batch_fee`, also the batch contract's fee.
        """

    def read_batch_fee(self) -> int:
        """The batch contract's own fee, in basis points of the amounts."""

    def has_code(self, address: str) -> bool:
        """Whether there is a contract at the address."""

    def would_revert(self, sender: str, to: str, data: str) -> bool:
        """Whether the node reports that this call fails on the newest state."""

    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Whether the wallet at an address accepts a signature over a digest of 32 bytes."""

    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        """Simulates transactions, each with its sender, one after the other."""
