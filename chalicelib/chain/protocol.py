"""What the service asks of any chain, whatever its family."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from chalicelib.calldata.transaction import Transaction
from chalicelib.chain.logs import BlockRange, Checkpoint
from chalicelib.chain.ranges import RangeReading
from chalicelib.chain.receipts import PaidTransfer, PaymentSender
from chalicelib.chain.simulation import Simulation
from chalicelib.chain.wallets import WalletReading


class Chain(Protocol):
    """One network, read through its node. Addresses are EIP-55, or base58 on tron; logs stay as the node gives them.

    Every method raises ChainUnavailable when the node does not respond, or not in the documented form. What only one
    family has is a method of its class: Safes of EvmChain, broadcasting of TronChain.
    """

    @property
    def network(self) -> str:
        """Its name in the catalogue."""

    # blocks and logs

    def head(self) -> int:
        """The number of the newest block; on tron, of the newest solidified one.

        Raises ChainUnavailable also when the node is of another chain.
        """

    def block_hashes(self, numbers: Sequence[int]) -> dict[int, str]:
        """The canonical hash at each height now. Raises ChainUnavailable where the node does not have a height."""

    def block_times(self, numbers: Sequence[int]) -> dict[int, datetime]:
        """When each block was made (UTC). Raises ChainUnavailable where the node does not have a height."""

    def read_range(self, blocks: BlockRange, after: Checkpoint | None) -> RangeReading:
        """The fee proxies' transfer logs of a range that continues from the checkpoint `after`.

        Raises Disconnected when the checkpoint is no longer canonical, RangeTooLarge when the node cannot answer for so
        many blocks.
        """

    def payers_of(self, payments: Sequence[PaidTransfer]) -> tuple[PaymentSender | None, ...]:
        """Who paid each of the payments; None where the receipt does not tell."""

    # the newest state

    def read_wallet(
        self, wallet: str, tokens: Sequence[str], spender: str, *, batch_fee: bool = False
    ) -> WalletReading:
        """Balances of a wallet, what the spender may take of each token, and the gas price; for up to 200 tokens.

        With `batch_fee` the batch contract's fee, too.
        """

    def read_batch_fee(self) -> int:
        """The batch contract's own fee, in basis points of what is paid."""

    def has_code(self, address: str) -> bool:
        """Whether there is a contract at the address."""

    def would_revert(self, sender: str, to: str, data: str) -> bool:
        """Whether the node says that this call fails now."""

    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Whether the wallet at an address accepts a signature over 32 bytes as its own."""

    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        """What transactions would do, each with its sender, one after the other."""
