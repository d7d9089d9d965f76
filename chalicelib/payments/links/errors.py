"""Errors for links that cannot be paid or read now. They hold the link and the branding that the payment page shows."""

from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.base.errors import BadRequest, Conflict, Forbidden, Locked
from chalicelib.payments.links.records import LinkStatus, PayableLink

if TYPE_CHECKING:
    from chalicelib.accounts.branding.records import PageBranding
    from chalicelib.payments.links.sent_transactions import SentOutcome


class LinkCompleted(Conflict):
    """The link is paid already. `sent` are the transactions whose outcomes are shown."""

    shown_by = "chalicelib.payments.links.responses"

    def __init__(self, payable: PayableLink, branding: "PageBranding | None" = None) -> None:
        super().__init__("Secure payment has already been completed")
        self.payable, self.branding = payable, branding
        self.sent: tuple[SentOutcome, ...] = ()


class LinkLocked(Locked):
    """The link is waiting for an announced transaction, the first of its announcements, or for a payment that its payer
    has signed and the service makes."""

    shown_by = "chalicelib.payments.links.responses"

    def __init__(self, payable: PayableLink, branding: "PageBranding | None" = None) -> None:
        super().__init__("Secure payment is in progress")
        self.payable, self.branding = payable, branding


class LinkBeingSigned(Locked):
    """Somebody else is asked to sign the payment of the link, until `ends_at` at most."""

    shown_by = "chalicelib.payments.links.responses"

    def __init__(self, payable: PayableLink, ends_at: datetime, branding: "PageBranding | None" = None) -> None:
        super().__init__("Another wallet is being asked to pay this link: try again when it has ended")
        self.payable, self.ends_at, self.branding = payable, ends_at, branding


class LinkAwaitingChain(Forbidden):
    """The link is past its expiry, and its network was not read that far: payments sent in time may still be found."""

    shown_by = "chalicelib.payments.links.responses"

    def __init__(self, payable: PayableLink, branding: "PageBranding | None" = None) -> None:
        super().__init__("Secure payment is past its expiry; payments sent before it are still being looked for")
        self.payable, self.branding = payable, branding


class LinkClosed(Forbidden):
    """The link can no longer be paid; `link_status` says why. `payable` is None if the body omits the link."""

    shown_by = "chalicelib.payments.links.responses"

    def __init__(
        self, link_status: LinkStatus, payable: PayableLink | None = None, branding: "PageBranding | None" = None
    ) -> None:
        super().__init__("Secure payment token expired or invalid status")
        self.link_status, self.payable, self.branding = link_status, payable, branding


class WrongWallet(Forbidden):
    """The payer's wallet is not the one that created the payout, or that alone may do this with a commerce payment."""

    shown_by = "chalicelib.payments.links.responses"

    def __init__(
        self, creator_wallet: str, message: str = "Only the wallet that created this payout may pay it"
    ) -> None:
        super().__init__(message)
        self.creator_wallet = creator_wallet


class TronBatchRefused(BadRequest):
    """Several payments on Tron were to be one batch. The message is the specification's; `advice` says what to do."""

    shown_by = "chalicelib.payments.links.responses"

    def __init__(self, advice: str) -> None:
        super().__init__("Batch payments are not supported for TRON networks")
        self.advice = advice
