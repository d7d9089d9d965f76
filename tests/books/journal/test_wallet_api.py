"""GET /v2/journal/wallet: lines and files of one wallet, in pages and parts, and what is refused."""

import csv
import io
from dataclasses import replace
from decimal import Decimal
from urllib.parse import urlencode, urlsplit

import pytest
from ofxtools.Parser import OFXTree

from chalicelib.base.money import BaseUnits
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests.payments.records import Payment
from tests.books.journal.test_api import paid
from tests.fakes.world import PAYEE, WALLET
from tests.support.client import Reply, Shop
from tests.support.running import running
from tests.support.tenants import Tenant

PATH = "/v2/journal/wallet"


def read(shop: Shop, **query: object) -> Reply:
    wanted = {"network": "sepolia", "walletAddress": PAYEE, "currency": "USD", **query}
    return shop.api.get(f"{PATH}?{urlencode({name: text for name, text in wanted.items() if text})}", shop.by_key)


def paid_in_dollars(shop: Shop, amount: int) -> Payment:
    """A payment whose token was a dollar and ten cents when it was paid."""
    payment = replace(paid(shop, amount), version=1)
    rate = Rate("USD", "fUSDC-sepolia", BaseUnits(10), BaseUnits(11), RateSource.CHAINLINK, payment.at)
    return running().store.write(replace(payment, dollar_rate=rate))


def test_a_line_says_what_was_paid_to_the_wallet_in_the_currency_of_the_books(new_shop: Shop) -> None:
    payment = paid_in_dollars(new_shop, 12_500_000)
    reply = read(new_shop)
    assert reply.status == 200, reply.json
    assert reply.json == {
        "lines": [
            {
                "id": payment.payment_id,
                "kind": "payment",
                "timestamp": reply.json["lines"][0]["timestamp"],
                "amount": "13.75",
                "other": WALLET,
                "requestId": payment.request_id,
                "reference": payment.reference,
                "txHash": payment.tx_hash,
            }
        ],
        "unvalued": 0,
        "nextCursor": None,
    }
    assert read(new_shop, walletAddress=PAYEE.lower()).json == reply.json
    assert read(new_shop, walletAddress=WALLET).json["lines"] == []
    assert read(new_shop, network="base").json["lines"] == []
    assert read(new_shop, currency="eur").json == {"lines": [], "unvalued": 1, "nextCursor": None}


def test_files_are_parts_that_each_can_be_imported(new_shop: Shop) -> None:
    made = {paid_in_dollars(new_shop, number * 1_000_000).payment_id for number in range(1, 8)}
    for form in ("ofx", "xero", "quickbooks"):
        path = f"{PATH}?network=sepolia&walletAddress={PAYEE}&currency=USD&limit=3&format={form}"
        ids, sum_of_lines, parts = list[str](), Decimal(0), 0
        while path:
            part = new_shop.api.get(path, new_shop.by_key)
            assert (part.status, part.headers["x-unvalued"]) == (200, "0")
            assert part.headers["content-disposition"].startswith('attachment; filename="wallet')
            if form == "ofx":
                assert part.headers["content-type"] == "application/x-ofx; charset=utf-8"
                tree = OFXTree()
                tree.parse(io.BytesIO(part.body))
                (statement,) = tree.convert().statements
                ids += [each.fitid for each in statement.transactions]
                sum_of_lines += sum(each.trnamt for each in statement.transactions)
            else:
                sum_of_lines += sum(Decimal(each["Amount"]) for each in csv.DictReader(io.StringIO(part.body.decode())))
            url = urlsplit(part.headers.get("link", "").partition(">")[0].lstrip("<"))
            path, parts = f"{url.path}?{url.query}" if url.path else "", parts + 1
        assert (parts, sum_of_lines) == (3, Decimal("30.80"))
        assert form != "ofx" or sorted(ids) == sorted(made)


def test_what_has_no_value_in_the_currency_is_counted_in_the_header_of_a_file(new_shop: Shop) -> None:
    paid(new_shop, 5)
    assert read(new_shop, format="xero").headers["x-unvalued"] == "1"


def test_others_see_nothing_of_it_and_a_public_client_id_is_refused(new_shop: Shop) -> None:
    paid_in_dollars(new_shop, 5)
    query = urlencode({"network": "sepolia", "walletAddress": PAYEE, "currency": "USD"})
    assert new_shop.api.get(f"{PATH}?{query}", Tenant().by_key()).json["lines"] == []
    assert new_shop.api.get(f"{PATH}?{query}", new_shop.by_client).status == 403


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ({"network": ""}, "network"),
        ({"walletAddress": ""}, "walletAddress"),
        ({"currency": ""}, "currency"),
        ({"network": "nowhere"}, "network is not a network of this service"),
        ({"network": "tron"}, "walletAddress is not an address of tron"),
        ({"walletAddress": "bob"}, "walletAddress"),
        ({"walletAddress": f"{PAYEE[:-1]}3"}, "walletAddress"),
        ({"currency": "USDC-base"}, "currency must be a fiat currency"),
        ({"currency": "ZZZ"}, "currency must be a fiat currency"),
        ({"format": "pdf"}, "format"),
        ({"limit": "1001"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"fromDate": "2026-03-02T00:00:00Z", "toDate": "2026-03-01T00:00:00Z"}, "toDate"),
    ],
)
def test_what_is_wrong_is_named(new_shop: Shop, query: dict[str, str], hint: str) -> None:
    reply = read(new_shop, **query)
    assert reply.status == 400 and hint in reply.body.decode(), reply.json
