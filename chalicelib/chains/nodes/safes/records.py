"""What the transaction service of Safe knows: proposals, and the Safes that they are of."""

from typing import TYPE_CHECKING

from chalicelib.base.frozen import frozen

if TYPE_CHECKING:
    from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction


@frozen
class Proposal:
    """A Safe transaction from the service. The caller has to check that it has the hash that was requested."""

    safe: str
    transaction: "SafeTransaction"
    terms: "SafeTerms"


@frozen
class SafeState:
    """What the service says of a Safe. `nonce` is that of the next transaction that it can execute, `queued` are those
    that were proposed from there on, those with the highest nonces first."""

    owners: tuple[str, ...]
    nonce: int
    queued: tuple[Proposal, ...]
