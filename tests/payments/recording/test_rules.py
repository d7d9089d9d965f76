"""What is stored for the transfers of a payable: who they belong to, and totals."""

from dataclasses import replace

from chalicelib.base.money import BaseUnits
from chalicelib.payments.recording.changes import recorded_ids, requests_by_topic
from chalicelib.payments.recording.matching import differing_totals
from chalicelib.payments.requests.targets import Item
from tests.fakes.world import PAYEE
from tests.payments.recording.test_deciding import Recorder, entry
from tests.payments.recording.test_matching import new_payable, transfer


def test_each_request_of_a_link_is_found_by_the_topic_of_its_reference() -> None:
    item = Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    batch = new_payable(items=(item, item))
    topics = {topic: request.request_id for topic, request in requests_by_topic(batch.requests).items()}
    assert sorted(topics.values()) == sorted(request.request_id for request in batch.requests)
    entries = [transfer(1, number, reference_topic=topic) for number, topic in enumerate(topics)]
    found = recorded_ids(batch, [*entries, transfer(1, 9)])
    assert [found[each.transfer_id].request_id for each in entries] == list(topics.values())
    assert len(found) == 2


def test_totals_are_compared_with_the_payments_that_stand_and_what_was_only_summed_up() -> None:
    recorder = Recorder()
    recorder.record(entry(1), entry(2), entry(3))
    recorder.record(removed=[entry(2)])
    listed = list(recorder.payments.values())
    request = replace(recorder.payable.requests[0], paid=BaseUnits(2_000_007), dust_amount=BaseUnits(7))
    assert not differing_totals(request, listed)
    assert differing_totals(replace(request, dust_amount=BaseUnits(8)), listed)
    assert differing_totals(request, listed[:2])
    assert differing_totals(replace(request, confirmed_count=3), listed)
