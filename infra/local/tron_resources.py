"""What the accounts of a local Tron node have used of energy and bandwidth, and what it burns for a transaction.

By java-tron's rules: bandwidth whole from the stake, or whole from the free bandwidth, or burned; energy from the
stake, then burned, within the fee limit; a call that needs more burns all that it may and fails. A part of a stake that
is delegated counts for its receiver; taken back, the receiver's share of what it used counts for the owner. What was
used does not recover, and is forgotten with the process, as stakes and delegations are.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

from infra.local.chain import Chain
from infra.local.tron_blocks import Charge
from infra.local.tron_jsonrpc import ENERGY_PRICE
from infra.local.tron_transactions import DELEGATE, RESOURCES, Call, Transaction, base58_address

BANDWIDTH_PRICE = 1000
"""Sun for a byte."""
ACTIVATION = 1_100_000
"""Sun that the sender of TRX burns for an account that is created by them."""
MEMO_FEE = 1_000_000
"""Sun for a transaction with a memo."""
_FREE_BANDWIDTH = 600
TOTALS = ((43_200_000_000, 28_800_000_000), (180_000_000_000, 18_000_000_000))
"""What all stakes give in a day, and how many TRX they are: of bandwidth (1.5 for each), and of energy (10)."""
SUN = 10**6
_RESULT_BYTES, _SIGNATURE_FIELD, _RAW_FIELD = 64, 67, 3


class Insufficient(Exception):
    """The account cannot pay for the bandwidth."""


class Refused(Exception):
    """The delegation is not possible; the message is java-tron's."""


@dataclass
class _Account:
    """What an account has by stakes, and what it has used. `own` and `received` are in sun, of bandwidth and of energy:
    the part of its own stake that is not delegated, and what others delegate to it."""

    energy: int = 0
    bandwidth: int = 0
    energy_used: int = 0
    bandwidth_used: int = 0
    free_used: int = 0
    own: list[int] = field(default_factory=lambda: [0, 0])
    received: list[int] = field(default_factory=lambda: [0, 0])

    def limit(self, resource: int) -> int:
        """What it may use in a day, in bytes or units."""
        given = _units(resource, self.own[resource] + self.received[resource])
        return given + (self.energy if resource else self.bandwidth)

    def use_of(self, resource: int) -> int:
        return self.energy_used if resource else self.bandwidth_used

    def count_use(self, resource: int, more: int) -> None:
        """Counts more as used, or less."""
        if resource:
            self.energy_used += more
        else:
            self.bandwidth_used += more

    def delegable(self, resource: int) -> int:
        """The sun of its stake that its use does not bind."""
        limit, weight = TOTALS[resource]
        bound = -(-self.use_of(resource) * weight * SUN // limit)
        return max(self.own[resource] - max(bound - self.received[resource], 0), 0)


@dataclass
class TronResources:
    chain: Chain
    _accounts: dict[bytes, _Account] = field(default_factory=dict)
    delegated: dict[tuple[bytes, bytes], list[int]] = field(default_factory=dict)
    """In sun, of bandwidth and of energy, by owner and receiver."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stake(self, address: bytes, *, energy: int = 0, bandwidth: int = 0) -> None:
        """Gives an account what a stake or a delegation gives, besides what it has."""
        with self._lock:
            account = self._of(address)
            account.energy, account.bandwidth = account.energy + energy, account.bandwidth + bandwidth

    def freeze(self, address: bytes, *, energy: int = 0, bandwidth: int = 0) -> None:
        """Adds so many sun to the stake of an account, which it can delegate."""
        with self._lock:
            own = self._of(address).own
            own[0], own[1] = own[0] + bandwidth, own[1] + energy

    def delegable(self, address: bytes, resource: int) -> int:
        """The sun of its stake that an account can delegate now."""
        with self._lock:
            return self._of(address).delegable(resource)

    def check_delegation(self, call: Call, is_contract: bool) -> None:
        """Raises Refused for a delegation that is not possible now, such as one to a contract."""
        name, receiver = RESOURCES[call.resource], base58_address(call.contract)
        if call.contract == call.owner:
            raise Refused("receiverAddress must not be the same as ownerAddress")
        if call.type != DELEGATE:
            left = self.delegated.get((call.owner, call.contract), [0, 0])[call.resource]
            if not left:
                raise Refused("delegated Resource does not exist")
            if not 0 < call.call_value <= left:
                texts = f"insufficient delegatedFrozenBalance({name}), request={call.call_value}, unlock_balance={left}"
                raise Refused(texts)
            return
        if is_contract:
            raise Refused("Do not allow delegate resources to contract addresses")
        if not self.is_active(call.contract):
            raise Refused(f"Account[{receiver}] not exists")
        if call.call_value < SUN:
            raise Refused("delegateBalance must be greater than or equal to 1 TRX")
        if call.call_value > self.delegable(call.owner, call.resource):
            freeze = f"Freeze{name.title()}V2"
            raise Refused(f"delegateBalance must be less than or equal to available {freeze} balance")

    def delegate(self, call: Call) -> None:
        """Moves a part of a stake to its receiver, or back with its share of what the receiver has used."""
        sun = call.call_value if call.type == DELEGATE else -call.call_value
        with self._lock:
            owner, receiver, at = self._of(call.owner), self._of(call.contract), call.resource
            if sun < 0:
                share = receiver.use_of(at) * -sun // receiver.received[at]
                returned = min(share, _units(at, -sun))
                receiver.count_use(at, -returned)
                owner.count_use(at, returned)
            owner.own[at] -= sun
            receiver.received[at] += sun
            self.delegated.setdefault((call.owner, call.contract), [0, 0])[at] += sun

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
                "NetLimit": account.limit(0),
                "NetUsed": account.bandwidth_used,
                "EnergyLimit": account.limit(1),
                "EnergyUsed": account.energy_used,
                "TotalNetLimit": TOTALS[0][0],
                "TotalNetWeight": TOTALS[0][1],
                "TotalEnergyLimit": TOTALS[1][0],
                "TotalEnergyWeight": TOTALS[1][1],
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
            if fee > balance - call.moved:
                raise Insufficient
            if size <= account.limit(0) - account.bandwidth_used:
                account.bandwidth_used += size
            elif size <= _FREE_BANDWIDTH - account.free_used:
                account.free_used += size
            elif fee + size * BANDWIDTH_PRICE <= balance - call.moved:
                fee += size * BANDWIDTH_PRICE
            else:
                raise Insufficient
            staked = max(account.limit(1) - account.energy_used, 0)
            bought = max(balance - call.moved - fee, 0) // ENERGY_PRICE
            spent = min(energy, staked + bought, call.fee_limit // ENERGY_PRICE)
            account.energy_used += min(spent, staked)
            fee += max(spent - staked, 0) * ENERGY_PRICE
            self.chain.fund_native(base58_address(call.owner), balance - fee)
        return Charge(fee, energy // 2 if spent < energy else None)

    def _of(self, address: bytes) -> _Account:
        return self._accounts.setdefault(address, _Account())


def _units(resource: int, sun: int) -> int:
    """What so many sun of a stake give in a day."""
    limit, weight = TOTALS[resource]
    return sun * limit // (weight * SUN)
