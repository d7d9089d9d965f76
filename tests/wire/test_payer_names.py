"""Whatever text a merchant calls a person by: it finds that person over HTTP, and nobody else."""

from urllib.parse import quote

import pytest

from tests.wire.conftest import Client
from tests.wire.test_payers import ADA

NAMES = [
    "ada@example.com",
    "ADA@example.com",
    "ada%40example.com",
    "ada+shop@example.com",
    "ada shop@example.com",
    "ada%2Bshop@example.com",
    "shop/ada",
    "shop%2Fada",
    "/",
    "//",
    ".",
    "..",
    "../payer",
    "payment-details",
    "ada/payment-details",
    "ada?export=true",
    "ada#1",
    "ada;1",
    "%",
    "%00",
    "\u00e5da",
    "a\u030ada",
    " ada",
    "ada ",
    "\n",
    "x" * 255,
    "\U0001f469" * 255,
    "{client_user_id}",
    "\\",
    '"',
]


def test_every_name_finds_its_own_person(client: Client) -> None:
    made = {name: client.post("/v2/payer", {**ADA, "clientUserId": name}, status=200)["userId"] for name in NAMES}
    assert len(set(made.values())) == len(NAMES)
    for name, user_id in made.items():
        assert client.get(f"/v2/payer/{quote(name, safe='')}")["userId"] == user_id, name
        assert client.get(f"/v2/payer/{quote(name, safe='')}/payment-details") == {"paymentDetails": []}, name
    for name, user_id in made.items():
        assert client.call("DELETE", f"/v2/payer/{quote(name, safe='')}")["userId"] == user_id, name


@pytest.mark.parametrize("name", ["x" * 1000, "\u00e5" * 1000])
def test_a_long_name_is_nobody(client: Client, name: str) -> None:
    client.get(f"/v2/payer/{quote(name, safe='')}", 404)
