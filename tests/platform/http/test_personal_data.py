"""Every operation that a client id alone may call, on a merchant's records full of personal data: none of it is answered."""

from dataclasses import replace

import pytest

from chalicelib.payments.links.records import Link
from chalicelib.payments.requests.records import CustomerAddress, CustomerInfo, Request
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.platform.http.test_matrix import named
from tests.support.client import Api
from tests.support.examples import bar_of, headers_for, prepared
from tests.support.running import running
from tests.support.tenants import WAYS, Tenant, Way

MARKS = ("Zzelda", "Ffitz", "zzelda@marked.example", "7 Ssecret Lane", "Bbern", "Zz-state", "ZIP-39999", "marked-payer-1")
CUSTOMER = CustomerInfo(*MARKS[:3], CustomerAddress(*MARKS[3:7], country="CH"))
BY_KEY, BY_CLIENT = WAYS[1], WAYS[2]
PUBLIC = [known for known in OPERATIONS if Mode.CLIENT_ID in known.modes]


@pytest.fixture(autouse=True)
def new_tables(api: Api) -> None:
    """Each operation has a merchant of its own, whose records are found by a scan."""
    clear_tables()


def mark() -> None:
    """Fills in all that requests and links keep about customers."""
    store = running().store
    for record, _ in list(store.scan((Request, Link))):
        if isinstance(record, Request):
            store.write(replace(record, customer_info=CUSTOMER))
        elif isinstance(record, Link):
            store.write(replace(record, payer_identifier=MARKS[-1]))


def shown(api: Api, known: Operation, way: Way) -> set[str]:
    """The personal data in the response, with an API key or with a client id alone; it is the one for a success."""
    tenant = Tenant()
    own = prepared(known, tenant, way)
    mark()
    reply = own.send(api, headers_for(known, tenant, way))
    assert reply.status == (403 if bar_of(known, way) else known.status), reply.body
    text = reply.body.decode() + str(reply.headers)
    return {each for each in MARKS if each in text}


@pytest.mark.parametrize("known", PUBLIC, ids=named)
def test_a_client_id_alone_is_answered_no_personal_data(api: Api, known: Operation) -> None:
    assert shown(api, known, BY_CLIENT) == set()


@pytest.mark.parametrize("name", ["read_request", "find_payments"])
def test_an_api_key_is_so_that_the_data_is_there_to_be_found(api: Api, name: str) -> None:
    (known,) = [each for each in PUBLIC if each.name == name]
    assert shown(api, known, BY_KEY) == set(MARKS[:-1])
