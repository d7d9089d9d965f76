"""Valuation rates: by which quotes and rates the transfers of a run of the recorder are valued."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import make_from
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.recording.valuation import ValuationRate, is_locked_for, may_be_locked_for
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.payments.requests.quotes.flows import Given
    from chalicelib.payments.requests.quotes.records import LockedRate

AGREE_WITHIN = timedelta(hours=24)
"""How long after it was read a transfer waits for sources of rates that agree. They may never agree on a past time. So
it is then valued by the lowest that any of them says."""


class NotKnownYet(Exception):
    """Whether a rate is held for a payment: its deposit is not read, or nodes do not agree on who has sent it."""


class ValuationRates:
    """What one run has found, rates that cannot be had among it: nothing is asked for twice, but rates that are locked.

    One query per request and block, and one per payment that a bridge brought or whose request was signed for, whose
    sender the nodes are asked for if a rate may be locked for it; sources of rates are asked once per pair of
    currencies and minute.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._given: dict[tuple[str, datetime], Given] = {}
        self._rates = dict[tuple[str, str, datetime, bool], Rate | None]()
        self.awaiting = set[TransferId]()
        """What waits for a deposit to be read, or for nodes that agree on who has sent it, and not for a rate."""

    def of(self, transfers: Iterable[tuple[LoggedTransfer, Request]]) -> dict[TransferId, ValuationRate]:
        """What these transfers are valued by: a rate that is locked for one of them alone, else the quote that was
        valid in the block, else the rate of its time.

        Those are left out for which no rate can be had now, and those of which it is not known yet whether a rate is
        held for them: `awaiting` has these.
        """
        found, spent = dict[TransferId, ValuationRate](), set[str]()
        for entry, request in transfers:
            valuation_rate = self._valuation_rate(entry, request, spent)
            if valuation_rate is not None:
                found[entry.transfer_id] = valuation_rate
                spent |= {valuation_rate.locked.intent_id} if valuation_rate.locked is not None else set()
        return found

    def dollars(self, transfers: Iterable[tuple[LoggedTransfer, Request]]) -> dict[TransferId, Rate]:
        """What one US dollar was in the tokens of these transfers; without those of which that cannot be had."""
        from chalicelib.payments.rates.dollars import dollar_rate

        found = (
            (entry.transfer_id, dollar_rate(self._services, currency_of(request), entry.paid_at))
            for entry, request in transfers
        )
        return {transfer_id: rate for transfer_id, rate in found if rate is not None}

    def _valuation_rate(self, entry: LoggedTransfer, request: Request, spent: Collection[str]) -> ValuationRate | None:
        """`spent` are the payment intents whose rates other transfers of the same transaction have."""
        self.awaiting.discard(entry.transfer_id)
        try:
            locked = self._find_locked(entry, request, spent)
        except NotKnownYet:
            if self._services.clock() - entry.detected_at < AGREE_WITHIN:
                self.awaiting.add(entry.transfer_id)
                return None
            locked = None
        if locked is not None:
            return ValuationRate(locked.rate, is_quoted=True, locked=locked)
        given = self._quotes(request.request_id, entry.paid_at)
        if given.valid is not None:
            return ValuationRate(given.valid.rate, is_quoted=True)
        rate = self._rate(entry, request)
        return (
            None
            if rate is None
            else ValuationRate(rate, is_quoted=False, asked=given.last.rate if given.last else None)
        )

    def _find_locked(self, entry: LoggedTransfer, request: Request, spent: Collection[str]) -> "LockedRate | None":
        """The rate that is held for a payment that a bridge brought, and for no other one; None if there is none. A
        deposit that was read says it before one that was not. Raises NotKnownYet."""
        if entry.fill_key is None and request.execution is None:
            return None
        from chalicelib.payments.requests.quotes import store as quote_store

        known = quote_store.all_locked(self._services.store, request.request_id)
        fitting = [each for each in known if each.intent_id not in spent and may_be_locked_for(each, entry)]
        if not fitting:
            return None
        try:
            read = self._with_agreed_sender(entry)
        except ChainUnavailable as error:
            raise NotKnownYet from error
        locked = [each for each in fitting if is_locked_for(each, read)]
        of_deposit = next((each for each in locked if each.fill_key is not None), None)
        if locked and of_deposit is None:
            raise NotKnownYet
        return of_deposit

    def _with_agreed_sender(self, entry: LoggedTransfer) -> LoggedTransfer:
        """A transfer with who has sent it as the nodes agree: one alone could name any deposit. Raises as `agree`."""
        from chalicelib.chains.nodes.agreement import agree  # few payments are of a request that was signed for
        from chalicelib.chains.nodes.history.receipts import PaidTransfer

        paid = make_from(PaidTransfer, entry)
        (sender,) = agree(self._services.chains.of(entry.network), lambda node: node.payers_of([paid])).value
        if sender is None:
            return replace(entry, payer=None, bridged_from=None, fill_key=None)
        return replace(entry, payer=sender.address, bridged_from=sender.bridged_from, fill_key=sender.fill_key)

    def _quotes(self, request_id: str, instant: datetime) -> "Given":
        from chalicelib.payments.requests.quotes import flows as quotes

        asked = request_id, instant
        if asked not in self._given:
            self._given[asked] = quotes.find_given(self._services.store, request_id, instant)
        return self._given[asked]

    def _rate(self, entry: LoggedTransfer, request: Request) -> Rate | None:
        from chalicelib.payments.rates import flows as rates
        from chalicelib.payments.rates.rules import RateUnavailable

        invoice, payment = invoice_of(request), currency_of(request)
        has_waited = self._services.clock() - entry.detected_at >= AGREE_WITHIN
        asked = invoice.id, payment.id, entry.paid_at.replace(second=0, microsecond=0), has_waited
        if asked not in self._rates:
            self._rates[asked] = None
            read = rates.at_or_lowest if has_waited else rates.rate_at
            with suppress(RateUnavailable):  # which has been logged
                self._rates[asked] = read(self._services, invoice, payment, entry.paid_at)
        return self._rates[asked]
