"""Views of test mode, for test credentials alone."""

from chalicelib.base.errors import Forbidden
from chalicelib.base.timestamps import iso
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import Payable
from chalicelib.payments.links.rules import check_payable
from chalicelib.platform.http.view import AnyCall, Call
from chalicelib.platform.services import Services
from chalicelib.sandbox import flows, schemas


def read_sandbox(call: Call[None, None]) -> schemas.SandboxAnswer:
    services = _inside(call)
    chains = [schemas.VirtualChainAnswer.from_record(each) for each in flows.read_chains(services)]
    return schemas.SandboxAnswer(now=iso(services.clock()), chains=chains)


def pay_on_test_chain(call: Call[schemas.PayInTest, None]) -> schemas.PaidInTest:
    services = _inside(call)
    paid = flows.pay(services, call.caller.account_id, _payable(call), call.body.wanted)
    return schemas.PaidInTest.of(paid)


def pay_test_link(call: Call[None, None]) -> schemas.PaidInTest:
    services = _inside(call)
    payable = link_reading.load_visible(services, call.path["token"], Viewer.of(call.caller))
    check_payable(payable, services.clock())
    return schemas.PaidInTest.of(flows.pay(services, payable.link.account_id, payable, flows.Wanted()))


def mine_test_blocks(call: Call[schemas.MineBlocks, None]) -> schemas.ChainMoved:
    account_id, body = call.caller.account_id, call.body
    return schemas.ChainMoved.of(flows.mine_blocks(_inside(call), account_id, body.network, body.count))


def reorganise_test_chain(call: Call[schemas.Reorganise, None]) -> schemas.ChainMoved:
    account_id, body = call.caller.account_id, call.body
    moves = body.payments == "move"
    return schemas.ChainMoved.of(
        flows.reorganise(_inside(call), account_id, body.network, body.blocks, moves=moves)
    )


def advance_test_clock(call: Call[schemas.AdvanceClock, None]) -> schemas.ClockAnswer:
    return schemas.ClockAnswer.of(flows.advance_clock(_inside(call), call.caller.account_id, call.body.seconds))


def _inside(call: AnyCall) -> Services:
    """The services of the caller's sandbox. Raises Forbidden for a live credential, whose payments are real."""
    if call.services.live is None:
        raise Forbidden("This operation needs a credential for test mode: create one with test set to true")
    return call.services


def _payable(call: Call[schemas.PayInTest, None]) -> Payable:
    """The link or the request that is paid. Raises NotFound if it is not in the sandbox."""
    viewer = Viewer.of(call.caller)
    if call.body.token is not None:
        return link_reading.load_visible(call.services, call.body.token, viewer)
    assert call.body.requestId is not None, "one of both is sent"
    return link_reading.load_request(call.services, call.body.requestId, viewer)[1]
