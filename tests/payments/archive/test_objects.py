"""The archive in the S3 of the local cloud: what one process moves there, another one reads by account and month."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.payments.archive import flows
from chalicelib.platform.storage.objects import Objects
from infra.local.cloud import Cloud
from tests.fakes.world import World

BUCKET = "payment-requests-archive"


def test_what_is_moved_to_s3_is_read_from_there_page_by_page(world: World, cloud: Cloud) -> None:
    client = cloud.client("s3")
    client.create_bucket(Bucket=BUCKET)
    services = replace(world.services, archive=Objects(BUCKET, client))
    links = [world.create_link(reference=f"INV-{number}") for number in range(3)]
    for link in links:
        world.chain.pay(link.requests[0])
    world.scan()
    world.now += timedelta(days=400)
    assert flows.archive_due(services) == 3
    again = replace(services, archive=Objects(BUCKET, cloud.client("s3")))
    page = flows.page(again, "acct", "2026-03", None)
    assert sorted(each.payable_id for each in page.found) == sorted(each.link.token for each in links)
    assert page.cursor is None
    assert flows.page(again, "acct", "2026-02", None).found == ()


def test_names_are_read_in_order_after_a_name_and_within_a_prefix_alone(cloud: Cloud) -> None:
    client = cloud.client("s3")
    client.create_bucket(Bucket=f"{BUCKET}-names")
    objects = Objects(f"{BUCKET}-names", client)
    for name in ("a/3", "a/1", "b/1", "a/2"):
        objects.put(name, name.encode())
    assert objects.names("a/", "", 2) == ["a/1", "a/2"]
    assert objects.names("a/", "a/2", 2) == ["a/3"]
    assert objects.names("c/", "", 2) == []
    assert objects.get("b/1") == b"b/1"
    with pytest.raises(KeyError):
        objects.get("b/2")
