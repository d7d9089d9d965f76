"""Which addresses belong to this deployment, so that nobody names one as a recipient.

Nothing brings back what is sent there. Reading out the accounts after a key was set writes them (relayer/flows.py), and
so does the relayer's first check (relayer/tracking.py).
"""

from datetime import timedelta

from chalicelib.base.addresses import address_bytes
from chalicelib.chains.catalogue.recipients import OwnAddresses
from chalicelib.platform.own_accounts import store
from chalicelib.platform.own_accounts.records import Senders
from chalicelib.platform.services import Services

CACHED_FOR = timedelta(minutes=1)
"""How long a container relies on what it read."""


def own_addresses(services: Services) -> OwnAddresses:
    """The contracts of the setting ESCROW_CONTRACTS and the service's own accounts, present and former ones, with what
    each is. At most one read in CACHED_FOR in each container; none without RELAYER_KEYS. Those of a sandbox are those
    of the live service."""
    live = services.real
    contracts = {
        address_bytes(address): f"the contract of {name}"
        for each in live.settings.escrow_contracts.values()
        for name, address in each.names.items()
    }
    accounts = _accounts(live) if live.settings.relayer_keys else ()
    return dict.fromkeys(accounts, "an account of this service") | contracts


def _accounts(services: Services) -> tuple[bytes, ...]:
    now = services.clock()
    known = services.own_accounts.get(Senders.__name__)
    if known is None or not timedelta(0) <= now - known[0] < CACHED_FOR:
        found = {address_bytes(each.address) for each in store.senders(services.store).accounts}
        known = services.own_accounts[Senders.__name__] = (now, tuple(found))
    return known[1]
