"""Random forks of addresses for plain transfers on real contracts: everything reaches its payee, and counts once.

In each history an exchange sends, anybody deploys, pays out and rescues, the payee is refused for a while, the scanner reads
somewhere in between, and the chain is reorganized: what came after a point is done again in another way. In the end
whatever can be had is had. Then no account but payee and fee address has received anything, nothing is left, and the
request has counted what its payee received, to the last unit. What is said to have arrived is what is at the address
after the newest block that was read.
"""

import os
import random
from dataclasses import dataclass, field

import pytest

from chalicelib.chains.calldata import plain_transfers as plain_transfer_calldata
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.plain_transfers.rules import terms_of
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.arrivals import note_arrivals
from infra.local.chain import Chain, RpcError
from tests.fakes.world import FEE_ADDRESS, World
from tests.onchain.hostile import assemble
from tests.onchain.payer import FAU, FUSDC, Payer
from tests.support.rehearsed import parts

HISTORIES, FORKS = int(os.environ.get("FORK_HISTORIES", "4")), 20
"""`make chaos` has 2,000 forks in all, and `make test` those of the first history."""
STRANGER, OTHER_PAYEE = "0x" + "5a" * 20, "0x" + "99" * 20
TOKEN_CODE = "0x" + "7e" * 20
FEE = 125_000


def refusing(receiver: str) -> str:
    """The code of a token, which it takes from TOKEN_CODE, that reverts for transfers to one address."""
    is_transfer = f"DUP1 0xa9059cbb EQ 0x04 CALLDATALOAD {receiver} EQ AND @no JUMPI"
    is_transfer_from = f"0x23b872dd EQ 0x24 CALLDATALOAD {receiver} EQ AND @no JUMPI"
    delegated = f"CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY PUSH0 PUSH0 CALLDATASIZE PUSH0 {TOKEN_CODE} GAS DELEGATECALL"
    answered = "RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY @ok JUMPI PUSH0 PUSH0 REVERT :ok RETURNDATASIZE PUSH0 RETURN"
    selector = "PUSH0 CALLDATALOAD 0xe0 SHR"
    program = f"{selector} {is_transfer} {is_transfer_from} {delegated} {answered} :no PUSH0 PUSH0 REVERT"
    return "0x" + assemble(program).hex()


@dataclass
class History:
    """One link and what is done with its address; `sent` is what is at it, or was paid from it, on the chain as it is."""

    world: World
    chain: Chain
    payer: Payer
    link: PayableLink
    chance: random.Random
    sent: int = 0
    other_sent: int = 0
    done: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        own = self.link.requests[0].plain_transfer
        assert own is not None
        return own.address

    @property
    def is_deployed(self) -> bool:
        return str(self.chain.rpc("eth_getCode", self.address, "latest")) != "0x"

    def act(self) -> None:
        name = self.chance.choices(
            ["arrive", "arrive_other", "deploy", "pay_out", "rescue", "rescue_other", "refuse", "allow", "read", "mine"],
            [30, 4, 10, 25, 12, 4, 3, 8, 20, 10],
        )[0]
        self.done.append(name)
        getattr(self, name)()

    def arrive(self) -> None:
        amount = self.chance.choice([12_625_000, 11_625_000, 13_000_000, FEE, 1, self.chance.randrange(1, 3_000_000)])
        self._transfer(FUSDC, amount)
        self.sent += amount

    def arrive_other(self) -> None:
        self._transfer(FAU, 10**18)
        self.other_sent += 10**18

    def deploy(self) -> None:
        if not self.is_deployed:  # the code is read first
            self._call(plain_transfer_calldata.deploy(terms_of(self.link.requests[0])))

    def pay_out(self) -> None:
        if self.is_deployed:
            self._call(plain_transfer_calldata.pay_out(self.address))
        else:
            self._call(plain_transfer_calldata.deploy_and_pay_out(terms_of(self.link.requests[0])))

    def rescue(self) -> None:
        if self.is_deployed:
            self._call(plain_transfer_calldata.rescue(self.address, FUSDC))

    def rescue_other(self) -> None:
        if self.is_deployed:
            self._call(plain_transfer_calldata.rescue(self.address, FAU))

    def refuse(self) -> None:
        self.chain.rpc("anvil_setCode", FUSDC, refusing(self.link.requests[0].payee))

    def allow(self) -> None:
        self.chain.rpc("anvil_setCode", FUSDC, self.chain.rpc("eth_getCode", TOKEN_CODE, "latest"))

    def read(self) -> None:
        self.world.tick(network="sepolia")
        cursor = scan_store.cursor(self.world.services.store, "sepolia")
        if cursor is None:
            return
        note_arrivals(self.world.services, "sepolia")
        own = self.world.load(self.link).requests[0].plain_transfer
        assert own is not None
        read = {"to": FUSDC, "data": erc20.balance_of(FUSDC, self.address).data}
        try:
            there = int(self.chain.rpc("eth_call", read, hex(cursor.scanned_to)), 16)
        except RpcError:
            return  # a fork has left fewer blocks than were read, or anvil has no state of that one any more
        assert own.arrived == there, self.done

    def mine(self) -> None:
        self.chain.mine(self.chance.randrange(1, 4))

    def end(self) -> None:
        """Whatever can be had is had, and read."""
        self.allow()
        if self.chain.token_balance(FUSDC, self.address):
            self.pay_out()
            self.rescue()
        if self.chain.token_balance(FAU, self.address):
            self.deploy()
            self.rescue_other()
        self.chain.mine(30)  # beyond every block of a branch that was read before it was removed
        self.read()

    def fork(self) -> None:
        """Some acts, which a reorganization replaces by others."""
        before, sent = self.chain.snapshot(), (self.sent, self.other_sent)
        for _ in range(self.chance.randrange(1, 6)):
            self.act()
        if self.chance.random() < 0.6:
            self.chain.mine(3)
            self.read()
        self.chain.revert(before)
        self.sent, self.other_sent = sent
        self.done.append("fork")
        for _ in range(self.chance.randrange(1, 6)):
            self.act()

    def _transfer(self, token: str, amount: int) -> None:
        self._call(erc20.transfer(token, self.address, amount), self.payer.address)

    def _call(self, transaction: Transaction, sender: str = STRANGER) -> None:
        sent = {"to": transaction.to, "data": transaction.data, "value": 0}
        self.chain.receipt(self.chain.send_as(sender, sent, gas=3_000_000))


@pytest.mark.parametrize("history", parts(HISTORIES))
def test_in_any_order_of_forks_all_reaches_the_payee_and_counts_once(
    world: World, chain: Chain, payer: Payer, history: int
) -> None:
    chain.rpc("anvil_setCode", TOKEN_CODE, chain.rpc("eth_getCode", FUSDC, "latest"))
    chain.fund_native(STRANGER, 10**24)
    payee = f"0x{history + 1:02x}" + "e1" * 19
    link = world.create_link(plain_transfer=True, payee=payee)
    acted = History(world, chain, payer, link, random.Random(history))
    holders = [payee, FEE_ADDRESS, STRANGER, OTHER_PAYEE]
    before = {token: [chain.token_balance(token, each) for each in holders] for token in (FUSDC, FAU)}
    for _ in range(FORKS):
        acted.fork()
    acted.end()
    moved = {
        token: [chain.token_balance(token, each) - was for each, was in zip(holders, before[token], strict=True)]
        for token in (FUSDC, FAU)
    }
    received, fees, *others = moved[FUSDC]
    assert [chain.token_balance(token, acted.address) for token in (FUSDC, FAU)] == [0, 0], acted.done
    assert (received + fees, others) == (acted.sent, [0, 0]), acted.done
    assert moved[FAU] == [acted.other_sent, 0, 0, 0], acted.done
    assert fees % FEE == 0
    assert world.load(link).requests[0].paid == received, acted.done
