"""What the accounts of a local Tron node have used of energy and bandwidth, and what it burns for a transaction.

By java-tron's rules: bandwidth whole from the stake, or whole from the free bandwidth, or burned; energy from the
stake, then burned, within the fee limit; a call that needs more burns all that it may and fails. What was used does not
recover, and is forgotten with the process.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

from infra.local.chain import Chain
from infra.local.tron_blocks import Charge
from infra.local.tron_jsonrpc import ENERGY_PRICE
from infra.local.tron_transactions import Transaction, base58_address

BANDWIDTH_PRICE = 1000
"""Sun for a byte."""
ACTIVATION = 1_100_000
"""Sun that the sender of TRX burns for an account that is created by them."""
MEMO_FEE = 1_000_000
"""Sun for a transaction with a memo."""
_FREE_BANDWIDTH, _ENERGY_OF_ALL = 600, 180_000_000_000
_RESULT_BYTES, _SIGNATURE_FIELD, _RAW_FIELD = 64, 67, 3


class Insufficient(Exception):
    """The account cannot pay for the bandwidth."""


@dataclass
class _Account:
    """What an account has by stakes, and what it has used."""

    energy: int = 0
    bandwidth: int = 0
    energy_used: int = 0
    bandwidth_used: int = 0
    free_used: int = 0


@dataclass
class TronResources:
    chain: Chain
    _accounts: dict[bytes, _Account] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stake(self, address: bytes, *, energy: int = 0, bandwidth: int = 0) -> None:
        """Gives an account what a stake or a delegation gives, besides what it has."""
        with self._lock:
            account = self._of(address)
            account.energy, account.bandwidth = account.energy + energy, account.bandwidth + bandwidth

    def is_active(self, address: bytes) -> bool:
        """Whether the account exists: it has TRX, or has had some when it was charged or given resources."""
        return address in self._accounts or self.chain.native_balance(base58_address(address)) > 0

    def json(self, address: bytes) -> dict[str, Any]:
        """The response of getaccountresource, zeros left out; {} for no account."""
        if not self.is_active(address):
            return {}
        with self._lock:
            account = self._of(address)
            fields = {
                "freeNetLimit": _FREE_BANDWIDTH,
                "freeNetUsed": account.free_used,
                "NetLimit": account.bandwidth,
                "NetUsed": account.bandwidth_used,
                "EnergyLimit": account.energy,
                "EnergyUsed": account.energy_used,
                "TotalEnergyLimit": _ENERGY_OF_ALL,
            }
        return {name: value for name, value in fields.items() if value}

    def activate(self, address: bytes) -> None:
        """Makes an address an account."""
        self.stake(address)

    def charge(self, transaction: Transaction, energy: int, activation: int = 0) -> Charge:
        """Takes what a transaction needs from its owner, and sun for an account that it creates. Raises Insufficient if
        nothing pays for its bandwidth or that."""
        call = transaction.call
        with self._lock:
            account, balance = self._of(call.owner), self.chain.native_balance(base58_address(call.owner))
            size = len(transaction.raw) + _RAW_FIELD + _SIGNATURE_FIELD + _RESULT_BYTES
            fee = activation + (MEMO_FEE if call.memo else 0)
            if fee > balance - call.call_value:
                raise Insufficient
            if size <= account.bandwidth - account.bandwidth_used:
                account.bandwidth_used += size
            elif size <= _FREE_BANDWIDTH - account.free_used:
                account.free_used += size
            elif fee + size * BANDWIDTH_PRICE <= balance - call.call_value:
                fee += size * BANDWIDTH_PRICE
            else:
                raise Insufficient
            staked = account.energy - account.energy_used
            bought = max(balance - call.call_value - fee, 0) // ENERGY_PRICE
            spent = min(energy, staked + bought, call.fee_limit // ENERGY_PRICE)
            account.energy_used += min(spent, staked)
            fee += max(spent - staked, 0) * ENERGY_PRICE
            self.chain.fund_native(base58_address(call.owner), balance - fee)
        return Charge(fee, energy // 2 if spent < energy else None)

    def _of(self, address: bytes) -> _Account:
        return self._accounts.setdefault(address, _Account())
