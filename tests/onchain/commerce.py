"""Commerce payments on a real chain: a payer, a merchant and an operator, and what the escrow does for them."""

import itertools
from dataclasses import replace
from typing import Any

from eth_account import Account

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo, payment_hash
from chalicelib.chains.calldata.escrow.signatures import erc3009_typed_data, permit2_typed_data
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.escrow.reads import EscrowState
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.logs import ProxyTransfer
from chalicelib.chains.nodes.history.transfers import transfers_of
from infra.local.chain import Chain
from infra.local.escrow import local_escrow
from tests.chains.calldata.calls import unquoted
from tests.onchain.schedules import sent

MERCHANT, FEE_RECEIVER, STRANGER = (evm_address("0x" + byte * 20) for byte in ("e1", "e2", "e3"))
OPERATOR = evm_address("0x" + "0b" * 20)
MONEY, HOUR = 10**9, 3600
NO_FEE = CaptureFee(0, ZERO_ADDRESS)
_salts = itertools.count(1)


class Commerce:
    """The escrow of a chain, and a payer with `MONEY` base units of USDC. Everything is sent in a block of its own, at
    an exact time if `at` is given; methods that send return why it was refused, None if it was not."""

    def __init__(self, chain: Chain) -> None:
        contracts, token = local_escrow(chain.network), token_with_id(f"USDC-{chain.network}")
        assert contracts is not None and token is not None
        self.chain, self.contracts, self.token = chain, contracts, token.address
        self.account = Account.create()
        self.payer: str = self.account.address
        self.start = int(chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        self.node = EvmChain(chain.network, chain.url, contracts)
        for holder in (self.payer, OPERATOR, STRANGER):
            chain.fund_token(holder, self.token, MONEY)

    def info(self, **changes: Any) -> PaymentInfo:
        """Terms of 1 USDC with up to 5 % of fees, of which each expiry is an hour after the one before."""
        return replace(
            PaymentInfo(
                operator=OPERATOR,
                payer=self.payer,
                receiver=MERCHANT,
                token=self.token,
                max_amount=1_000_000,
                pre_approval_expiry=self.start + HOUR,
                authorization_expiry=self.start + 2 * HOUR,
                refund_expiry=self.start + 3 * HOUR,
                min_fee_bps=0,
                max_fee_bps=500,
                fee_receiver=ZERO_ADDRESS,
                salt=next(_salts),
            ),
            **changes,
        )

    # --- what the payer does ---

    def pre_approve(self, info: PaymentInfo, at: int | None = None) -> str | None:
        allow, pre_approve = escrow_calls.pre_approve(info, self.contracts)
        return sent(self.chain, allow, self.payer) or sent(self.chain, pre_approve, self.payer, at)

    def sign_erc3009(self, info: PaymentInfo) -> Collection:
        domain = self.node.read_erc3009_domain(info)
        assert domain is not None
        return Collection(self.contracts.erc3009, self.sign(erc3009_typed_data(info, self.contracts, domain)))

    def sign_permit2(self, info: PaymentInfo) -> Collection:
        return Collection(self.contracts.permit2, self.sign(permit2_typed_data(info, self.contracts)))

    def allow_permit2(self) -> None:
        allow = approve(self.token, address_of(PERMIT2, self.chain.network), MONEY)
        assert sent(self.chain, allow, self.payer) is None

    def sign(self, typed: dict[str, Any]) -> bytes:
        """Signs as a wallet does, with eth_account and not with our own code."""
        message = unquoted(typed["values"])
        return bytes(self.account.sign_typed_data(typed["domain"], typed["types"], message).signature)

    def reclaim(self, info: PaymentInfo, sender: str | None = None, at: int | None = None) -> str | None:
        return self.send(escrow_calls.reclaim(info, self.contracts), sender or self.payer, at)

    # --- what the operator does ---

    def authorize(
        self,
        info: PaymentInfo,
        amount: int | None = None,
        by: Collection | None = None,
        sender: str = OPERATOR,
        at: int | None = None,
    ) -> str | None:
        taken_by = by or Collection(self.contracts.pre_approval)
        amount = info.max_amount if amount is None else amount
        return self.send(escrow_calls.authorize(info, self.contracts, amount, taken_by), sender, at)

    def charge(
        self, info: PaymentInfo, amount: int, fee: CaptureFee = NO_FEE, sender: str = OPERATOR, at: int | None = None
    ) -> str | None:
        taken_by = Collection(self.contracts.pre_approval)
        return self.send(escrow_calls.charge(info, self.contracts, amount, taken_by, fee), sender, at)

    def capture(
        self, info: PaymentInfo, amount: int, fee: CaptureFee = NO_FEE, sender: str = OPERATOR, at: int | None = None
    ) -> str | None:
        return self.send(escrow_calls.capture(info, self.contracts, amount, fee), sender, at)

    def void(self, info: PaymentInfo, sender: str = OPERATOR, at: int | None = None) -> str | None:
        return self.send(escrow_calls.void(info, self.contracts), sender, at)

    def refund(self, info: PaymentInfo, amount: int, sender: str = OPERATOR, at: int | None = None) -> str | None:
        allow = approve(info.token, self.contracts.operator_refund, amount)
        return sent(self.chain, allow, sender) or self.send(escrow_calls.refund(info, self.contracts, amount), sender, at)

    def send(self, transaction: Transaction, sender: str, at: int | None = None) -> str | None:
        return sent(self.chain, transaction, sender, at)

    # --- what can be seen ---

    def authorized(self, amount: int = 1_000_000, **changes: Any) -> PaymentInfo:
        """A payment that was pre-approved and authorized."""
        info = self.info(max_amount=amount, **changes)
        assert self.pre_approve(info) is None
        assert self.authorize(info) is None
        return info

    def state(self, info: PaymentInfo) -> EscrowState:
        (state,) = self.node.read_escrow([payment_hash(info, self.contracts)])
        return state

    def balances(self, *holders: str) -> list[int]:
        return [self.chain.token_balance(self.token, holder) for holder in (holders or self.parties)]

    @property
    def parties(self) -> tuple[str, ...]:
        return self.payer, MERCHANT, FEE_RECEIVER, OPERATOR, STRANGER

    def events(self) -> tuple[ProxyTransfer, ...]:
        """The events of the escrow that the service reads, in the order of the chain."""
        logs = self.chain.rpc("eth_getLogs", {"fromBlock": "0x0", "address": list(emitters(self.contracts))})
        return transfers_of(self.chain.network, logs, self.contracts)


def emitters(contracts: EscrowContracts) -> tuple[str, str]:
    return contracts.escrow, contracts.pre_approval
