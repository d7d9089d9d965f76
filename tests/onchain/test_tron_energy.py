"""A wallet on Tron with USDT and no TRX pays with energy and bandwidth that the service delegates to it for one payment."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tronpy.keys import PrivateKey

from chalicelib.base.addresses import address_bytes
from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.chains.calldata.tron import encode_signed_transaction
from chalicelib.chains.nodes.tron import TronChain
from chalicelib.checkout.energy import flows as checkout_energy
from chalicelib.gasless import running as gasless_running
from chalicelib.gasless.energy import flows as energy
from chalicelib.gasless.energy import store as energy_store
from chalicelib.gasless.energy.records import EnergyDelegation, Stage
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import PayableLink
from infra.local.outsiders.tron_payer import TronpyPayer, fresh_tron_address
from infra.local.tron import TronNode
from infra.local.tron_blocks import SOLID_AFTER
from infra.local.tron_resources import SUN, TronResources
from infra.local.tron_transactions import DELEGATE, TAKE_BACK, Call
from tests.fakes.world import PlainSigningKeys, World
from tests.onchain.ledger import assert_completed, settle
from tests.onchain.payer import pay_body

USDT, PAYEE = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
STAKE = 1_000_000 * SUN
"""For energy, and for bandwidth."""
MINUTE = 60


@dataclass
class Deployment:
    """One that delegates what `owner` has staked."""

    world: World
    tron: TronNode
    owner: str
    payer: TronpyPayer

    def link(self) -> PayableLink:
        return self.world.create_link(currency="USDT-tron", amount="12.5", payee=PAYEE, fee_percentage=None, fee_address=None)

    def stake_of(self, account: str) -> None:
        """Has an account stake, and TRX for what its transactions take."""
        self.owner = account
        self.tron.chain.fund_native(account, 100 * SUN)
        self.tron.resources.activate(hex21(account))
        self.tron.resources.freeze(hex21(account), energy=STAKE, bandwidth=STAKE)

    def delegate(self, link: PayableLink, wallet: str | None = None) -> EnergyDelegation:
        viewer = Viewer(self.world.account_id, None)
        return checkout_energy.delegate(self.world.services, link.link.token, viewer, wallet or self.payer.address)

    def resources(self, link: PayableLink) -> dict[str, Any]:
        found: dict[str, Any] = pay_body(self.world, link, self.payer.address)["metadata"]["resources"]
        return found

    def stored(self) -> EnergyDelegation:
        found = energy_store.delegation(self.world.services.store, self.payer.address)
        assert found is not None
        return found

    def run(self, minutes: int = 1) -> Stage:
        """Lets minutes pass, also on the chain, and the schedule run after each."""
        for _ in range(minutes):
            self.world.advance(MINUTE)
            self.tron.chain.rpc("evm_increaseTime", MINUTE)
            self.tron.chain.mine(SOLID_AFTER + 1)
            gasless_running.run_due(self.world.services)
        return self.stored().stage

    def left(self) -> list[int]:
        """What the payer has of the stake, in sun: of bandwidth, and of energy."""
        return self.tron.sum_delegated(hex21(self.owner), hex21(self.payer.address))


@pytest.fixture
def deployment(world_on: Callable[..., World], tron: TronNode, tron_payer_of: Callable[[str], Any]) -> Deployment:
    world = world_on("tron")
    set_stake(world, PAYEE)
    key = energy.key_address(world.services)
    set_stake(world, key)
    tron.resources, tron.delegations, tron.permissions = TronResources(tron.chain), [], {}
    payer = tron_payer_of("tronpy")
    tron.resources.activate(hex21(payer.address))
    tron.chain.fund_native(payer.address, 0)
    made = Deployment(world, tron, key, payer)
    made.stake_of(key)
    return made


def hex21(address: str) -> bytes:
    return b"\x41" + address_bytes(address)


def set_stake(world: World, account: str) -> None:
    secrets: Any = world.services.secrets
    secrets.tron_energy = f"account={account},daily=10000000,key=secret"


def test_a_wallet_without_trx_pays_and_what_it_had_is_taken_back(deployment: Deployment) -> None:
    link = deployment.link()
    before = deployment.resources(link)
    assert (before["problem"], before["mayDelegate"]) == ("too_little_trx", True)
    made = deployment.delegate(link)
    assert made.stage is Stage.GIVEN and made == deployment.delegate(link), "once, however often it is asked for"
    assert deployment.left() == [made.bandwidth_stake, made.energy_stake]
    now = deployment.resources(link)
    assert (now["canPay"], now["burned"], now["delegation"]["energy"]) == (True, "0", made.energy)
    assert now["energy"] >= made.energy and now["bandwidth"] >= made.bandwidth
    deployment.payer.pay(pay_body(deployment.world, link, deployment.payer.address)["transactions"])
    deployment.tron.chain.mine(SOLID_AFTER)
    settle(deployment.world, deployment.tron.chain)
    assert_completed(deployment.world, link)
    while deployment.run() is Stage.GIVEN:
        assert deployment.world.now < made.until, "it is taken back once the payment is recorded"
    assert deployment.left() == [0, 0]
    assert deployment.run(5) is Stage.ENDED
    assert not deployment.stored().unpaid
    assert deployment.tron.chain.native_balance(deployment.payer.address) == 0
    used = deployment.tron.resources.json(hex21(deployment.owner))
    assert 0 < used["EnergyUsed"] <= made.energy, "what the payer used counts for the stake"


def test_who_uses_it_for_something_else_has_it_taken_back_and_waits(deployment: Deployment) -> None:
    link = deployment.link()
    made = deployment.delegate(link)
    transfer = "0xa9059cbb" + address_bytes(PAYEE).hex().rjust(64, "0") + f"{1:064x}"
    deployment.payer.pay([{"to": USDT, "data": transfer, "value": 0}])
    assert deployment.resources(link)["problem"] == "too_little_trx"
    assert "mayDelegate" not in deployment.resources(link)
    assert deployment.run(20) is Stage.ENDED
    assert (deployment.left(), deployment.stored().unpaid) == ([0, 0], True)
    with pytest.raises(Conflict, match="did not pay with it"):
        deployment.delegate(link)
    used = deployment.tron.resources.json(hex21(deployment.owner))
    assert 0 < used["EnergyUsed"] < made.energy
    left = deployment.tron.resources.delegable(hex21(deployment.owner), 1)
    assert STAKE - made.energy_stake < left < STAKE, "it binds that part of the stake for a day"


def test_a_key_that_may_only_delegate_gives_of_a_stake_of_another_account(deployment: Deployment) -> None:
    stake, key = fresh_tron_address(), deployment.owner
    deployment.stake_of(stake)
    set_stake(deployment.world, stake)
    link = deployment.link()
    deployment.delegate(link)
    assert deployment.left() == [0, 0], "the account has not permitted it"
    deployment.run(20)
    deployment.tron.permissions[hex21(stake), 2] = hex21(key)
    made = deployment.delegate(link)
    assert deployment.left() == [made.bandwidth_stake, made.energy_stake]


def test_a_wallet_that_can_pay_or_cannot_be_helped_is_given_nothing(deployment: Deployment) -> None:
    link, stranger = deployment.link(), fresh_tron_address()
    with pytest.raises(BadRequest, match="This Tron account does not exist yet"):
        deployment.delegate(link, stranger)
    deployment.tron.resources.activate(hex21(stranger))
    with pytest.raises(BadRequest, match="check that the wallet has the tokens"):
        deployment.delegate(link, stranger)
    deployment.tron.chain.fund_native(deployment.payer.address, 100 * SUN)
    assert "mayDelegate" not in deployment.resources(link)
    with pytest.raises(BadRequest, match="can pay this link as it is"):
        deployment.delegate(link)
    assert deployment.tron.delegations == []


def test_a_link_whose_payee_anybody_may_have_named_is_given_nothing(deployment: Deployment) -> None:
    link = deployment.link()
    stored = deployment.world.load(link)
    deployment.world.services.store.write(replace(stored.link, has_known_payees=False))
    assert "mayDelegate" not in deployment.resources(link)
    with pytest.raises(BadRequest, match="allowedPayees"):
        deployment.delegate(link)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"contract": "own"}, "receiverAddress must not be the same as ownerAddress"),
        ({"contract": "stranger"}, "not exists"),
        ({"contract": "token"}, "Do not allow delegate resources to contract addresses"),
        ({"call_value": SUN - 1}, "must be greater than or equal to 1 TRX"),
        ({"call_value": STAKE + 1}, "must be less than or equal to available FreezeEnergyV2 balance"),
        ({"type": TAKE_BACK}, "delegated Resource does not exist"),
    ],
)
def test_the_node_refuses_what_java_tron_refuses(deployment: Deployment, change: dict[str, Any], refusal: str) -> None:
    known = {"own": deployment.owner, "stranger": fresh_tron_address(), "token": USDT}
    change = {name: hex21(known[each]) if name == "contract" else each for name, each in change.items()}
    block, own = TronChain("tron", deployment.tron.url).read_reference_block(), hex21(deployment.owner)
    call = Call(
        own, hex21(deployment.payer.address), b"", SUN, 0, block.ref_block_bytes, block.ref_block_hash,
        block.time + 60_000, block.time, type=DELEGATE, resource=1,
    )  # fmt: skip
    raw = replace(call, **change).encode()
    key = PlainSigningKeys("energy-tron").private_key
    signature = PrivateKey(key).sign_msg_hash(hashlib.sha256(raw).digest()).to_bytes()
    answer = TronChain("tron", deployment.tron.url).broadcast(encode_signed_transaction(raw, [signature]))
    assert (answer.code, refusal in answer.message) == ("CONTRACT_VALIDATE_ERROR", True), answer
