"""Objects in one bucket of S3: what is written once, found by the beginning of its name, and kept for years."""

from functools import cached_property
from typing import Any

from chalicelib.platform.storage.clients import aws_client


class Objects:
    """`bucket` is empty where a stage has none; then nothing may be asked of it."""

    def __init__(self, bucket: str, client: Any = None) -> None:
        self.bucket = bucket
        if client is not None:
            self.client = client

    @cached_property
    def client(self) -> Any:
        return aws_client("s3")

    def put(self, name: str, content: bytes) -> None:
        """Writes an object, in place of one of this name."""
        self.client.put_object(Bucket=self.bucket, Key=name, Body=content)

    def get(self, name: str) -> bytes:
        """The content of an object. Raises KeyError if there is none."""
        try:
            content: bytes = self.client.get_object(Bucket=self.bucket, Key=name)["Body"].read()
        except self.client.exceptions.NoSuchKey:
            raise KeyError(name) from None
        return content

    def names(self, prefix: str, after: str, limit: int) -> list[str]:
        """Up to `limit` names that begin with `prefix`, in their order, from the first one that is above `after`."""
        found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix, StartAfter=after, MaxKeys=limit)
        return [each["Key"] for each in found.get("Contents", ())]
