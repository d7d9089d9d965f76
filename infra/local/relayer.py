"""The service's own account on the local chains: its address, by the key in the local cloud, its coins and its role."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chalicelib.chains.catalogue.contracts import recurring_networks
from infra.local.chain import Chain

if TYPE_CHECKING:
    from chalicelib.platform.services import Services

FUNDS = 1_000
"""Whole native coins that the account has at the start."""


def relayer_address(services: "Services") -> str:
    """The address of the service's own account, the same on every network."""
    from chalicelib.relayer.flows import account_address

    return account_address(services, next(iter(services.settings.relayer_keys)))


def prepare_relayer(services: "Services", chains: Mapping[str, Chain]) -> str:
    """Gives the account coins on each chain, and the role that executes recurring payments; returns its address."""
    address = relayer_address(services)
    for network, chain in chains.items():
        if chain.native_balance(address) < FUNDS * chain.coin // 2:
            chain.fund_native(address, FUNDS * chain.coin)
        if network in recurring_networks():
            chain.set_relayer(address)
    return address
