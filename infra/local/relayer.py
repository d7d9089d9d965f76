"""The service's own accounts on the local chains: addresses, by keys in the local cloud, coins, and a role."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chalicelib.base.addresses import evm_address, tron_address_of
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.contracts import recurring_networks
from infra.local.chain import Chain
from infra.local.tron import TronNode
from infra.local.tron_resources import SUN
from infra.local.tron_transactions import address21

if TYPE_CHECKING:
    from chalicelib.platform.services import Services

GASLESS_NETWORK = "base"
FUNDS = 1_000
"""Whole native coins that the account has at the start."""
STAKE = 10_000_000
"""TRX that are staked for energy, and for bandwidth."""


def relayer_address(services: "Services") -> str:
    """The address of the service's own account, the same on every network."""
    from chalicelib.relayer.flows import account_address

    return account_address(services, next(iter(services.settings.relayer_keys)))


def create_keys(kms: Any, prefix: str) -> None:
    """Makes the keys of the account of gasless payments and of the stake on Tron, as infra/runbook.md says, unless they
    are there."""
    for name in (f"gasless-{GASLESS_NETWORK}", "energy-tron"):
        _create_key(kms, prefix, f"alias/{prefix}-relayer-{name}")


def gasless_account(kms: Any, prefix: str) -> str:
    """The account of gasless payments, of its key."""
    return evm_address("0x" + _address_of(kms, f"alias/{prefix}-relayer-gasless-{GASLESS_NETWORK}").hex())


def energy_account(kms: Any, prefix: str) -> str:
    """The account on Tron of the key that delegates energy, in base58."""
    return tron_address_of(_address_of(kms, f"alias/{prefix}-relayer-energy-tron"))


def _address_of(kms: Any, alias: str) -> bytes:
    public_key: bytes = kms.get_public_key(KeyId=alias)["PublicKey"]
    return keccak256(public_key[-64:])[-20:]


def _create_key(kms: Any, prefix: str, alias: str) -> None:
    if alias not in {each["AliasName"] for each in kms.list_aliases()["Aliases"]}:
        tags = [{"TagKey": "owner", "TagValue": prefix}]
        key = kms.create_key(KeySpec="ECC_SECG_P256K1", KeyUsage="SIGN_VERIFY", Tags=tags)
        kms.create_alias(AliasName=alias, TargetKeyId=key["KeyMetadata"]["KeyId"])


def _fund_gasless(services: "Services", chains: Mapping[str, Chain]) -> None:
    """Gives the account of gasless payments coins."""
    from chalicelib.relayer.flows import account_address
    from chalicelib.relayer.records import Role

    chain, address = chains[GASLESS_NETWORK], account_address(services, GASLESS_NETWORK, Role.GASLESS)
    if chain.native_balance(address) < FUNDS * chain.coin // 2:
        chain.fund_native(address, FUNDS * chain.coin)


def _stake_energy(services: "Services", tron: TronNode) -> None:
    """Has the stake on Tron give energy and bandwidth for hundreds of payments a day, and TRX for its transactions."""
    from chalicelib.gasless.energy.flows import key_address

    account = key_address(services)
    address = address21(account)
    tron.chain.fund_native(account, FUNDS * SUN)
    tron.resources.freeze(address, energy=STAKE * SUN, bandwidth=STAKE * SUN)


def prepare_accounts(services: "Services", chains: Mapping[str, Chain], tron: TronNode) -> str:
    """Gives all accounts of the service what they need; returns the address of the one that is the same everywhere."""
    address = prepare_relayer(services, chains)
    _fund_gasless(services, chains)
    _stake_energy(services, tron)
    return address


def prepare_relayer(services: "Services", chains: Mapping[str, Chain]) -> str:
    """Gives the account coins on each chain, and the role that executes recurring payments; returns its address."""
    address = relayer_address(services)
    for network, chain in chains.items():
        if chain.native_balance(address) < FUNDS * chain.coin // 2:
            chain.fund_native(address, FUNDS * chain.coin)
        if network in recurring_networks():
            chain.set_relayer(address)
    return address
