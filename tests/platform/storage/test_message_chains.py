"""Chains of messages: how long each is, which end by themselves, and which AWS Lambda would end."""

import json
from datetime import timedelta
from typing import Any

import pytest
from chalice.test import Client

from app import build
from chalicelib.platform.storage.clients import aws_client
from chalicelib.platform.storage.queue import MOST_HOPS, Message, continue_chain, send_hints
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.jobs import track_relayed
from chalicelib.relayer.rules import Call
from infra.recursion import RECURSIVE
from tests.fakes.world import MOST_INVOCATIONS, PREFIX, World

QUEUE = f"{PREFIX}-recordings"
HINT = Message({"account": "acct", "bills": ["x"]}, "acct")


def hops(world: World) -> list[int]:
    """The hop of each message that is queued, which are removed."""
    found = [json.loads(each.body).get("hop", 0) for each in world.queue.messages]
    world.queue.messages.clear()
    return found


def handled(hop: int) -> str:
    return json.dumps({"hop": hop})


def test_a_message_says_how_many_were_before_it_in_its_chain(world: World) -> None:
    world.queue.send(QUEUE, [HINT])
    with continue_chain(handled(0)):
        world.queue.send(QUEUE, [HINT])
    with continue_chain(handled(6)):
        world.queue.send(QUEUE, [HINT, HINT])
    world.queue.send(QUEUE, [HINT])
    assert hops(world) == [0, 1, 7, 7, 0]


def test_a_message_that_fails_leaves_no_trace_in_the_next_one_of_its_container(world: World) -> None:
    with pytest.raises(RuntimeError), continue_chain(handled(3)):
        raise RuntimeError
    world.queue.send(QUEUE, [HINT])
    assert hops(world) == [0]


def test_a_chain_is_not_continued_after_its_last_hop_but_other_messages_are_sent(world: World) -> None:
    services = world.services
    for hop in (MOST_HOPS - 2, MOST_HOPS - 1, MOST_HOPS):
        with continue_chain(handled(hop)):
            send_hints(services.queue, services.log, QUEUE, [HINT], continues=True)
            send_hints(services.queue, services.log, QUEUE, [HINT])
    assert hops(world) == [MOST_HOPS - 1, MOST_HOPS - 1, MOST_HOPS, MOST_HOPS + 1]


@pytest.mark.parametrize("body", ["no json", '["a list"]', '{"hop": "many"}'])
def test_a_body_that_no_queue_of_ours_was_sent_fails_and_becomes_a_dead_letter(world: World, body: str) -> None:
    refused = pytest.raises((ValueError, TypeError, AttributeError))
    with Client(build(world.services.settings, lambda: world.services)) as client, refused:
        client.lambda_.invoke("record_transfers", client.events.generate_sqs_event([body]))
    assert world.queue.messages == []


def test_the_consumers_of_the_app_continue_the_chain_of_the_message(world: World) -> None:
    world.register_webhook()
    world.chain.pay(world.create_link().requests[0])
    world.chain.mine(2)
    body = json.dumps({"network": "sepolia", "hop": 4})
    with Client(build(world.services.settings, lambda: world.services)) as client:
        client.lambda_.invoke("scan_chain", client.events.generate_sqs_event([body]))
        (recording,) = world.queue.messages
        client.lambda_.invoke("record_transfers", client.events.generate_sqs_event([recording.body]))
    assert [json.loads(each.body)["hop"] for each in world.queue.messages] == [5, 6]


def test_the_sdk_passes_the_lineage_by_which_aws_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the header AWS would count no chain, and a real loop would never end."""
    trace = "Root=1-5f84c7a1-e7fa852c4b0d4e6f8a9b0c1d;Lineage=a87bd80c:3"
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "payment-requests-dev-retry_webhook")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    client, sent = aws_client("sqs"), list[Any]()

    def stop(request: Any, **_: Any) -> None:
        sent.append(request.headers["X-Amzn-Trace-Id"].decode())
        raise ConnectionError

    client.meta.events.register_first("before-send.sqs", stop)
    with pytest.raises(ConnectionError):
        client.send_message_batch(QueueUrl="https://sqs.example/1/q", Entries=[])
    assert sent == [trace]


def test_transactions_that_stay_open_for_long_are_followed_by_chains_of_bounded_length(world: World) -> None:
    world = World(world.client, relayer_keys={"sepolia": "secret"})
    call = Call(account_id="acct", key="payout/1", network="sepolia", to="0x" + "22" * 20, data="0x1234")
    relayer_flows.submit(world.services, [call])
    world.chain.mempool.base_fee = 10**15
    end, minute, longest = world.now + timedelta(minutes=30), world.now, 0
    while world.now < end:
        if minute <= min((each.due for each in world.queue.messages), default=end):
            world.now, minute = max(world.now, minute), minute + timedelta(minutes=1)
            track_relayed(world.services)
            continue
        message = min(world.queue.messages, key=lambda each: each.due)
        world.queue.messages.remove(message)
        world.now = max(world.now, message.due)
        world.consume(message, world.services)
        longest = max([longest, *(len(each.lineage) for each in world.queue.messages)])
    assert MOST_INVOCATIONS < longest <= MOST_HOPS
    world.chain.mempool.base_fee = 1
    assert not world.relay()


def test_what_may_come_often_in_a_chain_consumes_a_queue() -> None:
    from app import app

    assert {name for name in RECURSIVE if name in app.handler_map} == set(RECURSIVE)
