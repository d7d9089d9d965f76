"""Every operation with the payment page's own client id: it is served where payers need it, and refused elsewhere."""

import pytest

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.support.browser import BY_PAGE
from tests.support.client import Api
from tests.support.examples import prepared, request
from tests.support.operations import one_of_each_kind
from tests.support.rehearsed import few
from tests.support.tenants import Tenant, Way

PAGE = Way("payment page", (Mode.CLIENT_ID,), lambda tenant: BY_PAGE)


@pytest.fixture(autouse=True)
def new_tables(api: Api) -> None:
    clear_tables()


def named(known: Operation) -> str:
    return f"{known.method} {known.path}"


@pytest.mark.parametrize("known", OPERATIONS, ids=named)
def test_it_may_do_what_payers_do_with_anybodys_link_and_nothing_else(api: Api, known: Operation) -> None:
    reply = request(api, known, BY_PAGE, Tenant(), PAGE)
    if known.modes == (Mode.PUBLIC,) or known.by_page:
        assert reply.status == known.status, reply.body
    elif Mode.CLIENT_ID in known.modes:
        assert (reply.status, reply.message.startswith("This client ID is the payment page's own")) == (403, True)
    else:
        assert (reply.status, reply.message.split(":")[0]) == (403, "x-client-id is not accepted here")


@pytest.mark.parametrize("known", few(one_of_each_kind(), OPERATIONS), ids=named)
def test_the_session_of_whoever_has_the_page_open_adds_nothing_to_it(api: Api, known: Operation) -> None:
    """A browser may send the owner's cookie along; a credential header counts before it, or has to be of its account."""
    if known.modes == (Mode.PUBLIC,) or known.by_page:
        return
    owner = Tenant()
    own = prepared(known, owner, PAGE)
    needs_session = Mode.SESSION in known.modes and Mode.CLIENT_ID not in known.modes
    for session in (owner.by_wallet(), owner.by_email()):
        reply = own.send(api, {**session, **BY_PAGE})
        assert reply.status == (401 if needs_session else 403), reply.body


@pytest.mark.parametrize("known", few(one_of_each_kind(), OPERATIONS), ids=named)
def test_beside_another_credential_it_is_an_unknown_client_id(api: Api, known: Operation) -> None:
    """Refused wherever the operation is about a client id, although the key alone may call it."""
    owner = Tenant()
    own = prepared(known, owner, PAGE)
    for mode, key in ((Mode.API_KEY, owner.by_key()), (Mode.ORCHESTRATOR, owner.by_orchestrator_key())):
        if mode in known.modes:
            reply = own.send(api, {**key, **BY_PAGE})
            said = "x-client-id is not known, or not valid any more: send a valid one, or leave it out"
            assert (mode, reply.status, reply.message) == (mode, 401, said)
