"""Whether calls for a payer are made today, asked before something is accepted that locks what it pays."""

from chalicelib.base.errors import Conflict
from chalicelib.platform.services import Services
from chalicelib.relayer import store
from chalicelib.relayer.reverts import delay_of, payer_name


def check_not_delayed(services: Services, network: str, payer: str) -> None:
    """Raises Conflict for the day after a call for the payer was reverted: nothing would be made before its deadline,
    and nobody else could pay meanwhile. One read."""
    reason = delay_of(store.reverts(services.store, network, payer_name(payer)), services.clock())
    if reason is not None:
        raise Conflict(f"The service makes no payment for this wallet now: {reason}")
