"""Claims to sign the payment of a link, and gives them back."""

from dataclasses import replace

from chalicelib.payments.links import signing
from chalicelib.payments.links.errors import LinkBeingSigned
from chalicelib.payments.links.multicalls.reading import add_children
from chalicelib.payments.links.reading import Viewer, load, load_stored, screen_link
from chalicelib.payments.links.records import SigningClaim
from chalicelib.payments.links.rules import check_payable, is_being_signed
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts


@retry_conflicts(5)
def claim(services: Services, token: str, viewer: Viewer, claimant: str, calls: str) -> SigningClaim:
    """Claims to sign the payment of a link; the claim of before if it is the same.

    The claim is written with the link, on condition that both are as they were read: of two claims at the same moment,
    or a claim and an announced transaction or the payment that completes the link, the later one is decided again. The
    claim of a payout is written with its multicall as well, so that of the two one is claimed at a time.
    Raises what `check_payable` and `signing.claim` raise, and WriteConflict after five conflicts.
    """
    stored = load_stored(services, token, viewer)
    payable, parts = add_children(services, screen_link(services, stored))
    parent = load(services, stored.link.parent_token) if stored.link.parent_token else None
    now = services.clock()
    check_payable(payable.without_announced_by(claimant), now)
    for each in (*parts, parent):
        if each is None or each.signing is None or each.link.token == token:
            continue
        if is_being_signed(each, now):
            raise LinkBeingSigned(payable, each.signing.ends_at)
    claimed = signing.claim(payable, claimant, calls, now)
    if claimed != stored.signing:
        services.store.write(stored.link, claimed, *([parent.link] if parent else []))
    return claimed


@retry_conflicts(5)
def end(services: Services, token: str, viewer: Viewer, claimant: str | None) -> bool:
    """Ends the claim of `claimant`, if it is theirs and not over; returns whether it was. Raises NotFound."""
    stored = load_stored(services, token, replace(viewer, announcer=None))
    ended = signing.end_claim(stored.signing, claimant, services.clock())
    if ended is None or ended.link_token != token:  # that of its multicall is given back there
        return False
    services.store.write(ended)
    return True
