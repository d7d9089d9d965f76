"""Nodes that a stage of the local cloud has from its first call on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread

from botocore.exceptions import ClientError

from infra.local.cloud import Cloud


@contextmanager
def nodes_from_the_start(cloud: Cloud, prefix: str, urls: Mapping[str, str]) -> Iterator[None]:
    """Stores the URLs of nodes as soon as the deployment within has made the secret for them.

    A function keeps what it has read for a minute: one that ran before would say that there is no node.
    """
    is_over = Event()

    def put() -> None:
        while not is_over.is_set():
            try:
                cloud.put_rpc_urls(prefix, dict(urls))
            except ClientError as error:
                if error.response["Error"]["Code"] != "ResourceNotFoundException":
                    raise
                is_over.wait(0.2)
            else:
                return

    thread = Thread(target=put)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    cloud.put_rpc_urls(prefix, dict(urls))
