"""Objects of S3 in memory."""

from infra.local import calls as aws_calls


class FakeObjects:
    """`objects` are the contents by name."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, name: str, content: bytes) -> None:
        aws_calls.record_call("s3:PutObject", "archive")
        self.objects[name] = content

    def get(self, name: str) -> bytes:
        aws_calls.record_call("s3:GetObject", "archive")
        return self.objects[name]

    def names(self, prefix: str, after: str, limit: int) -> list[str]:
        aws_calls.record_call("s3:ListBucket", "archive")
        return sorted(each for each in self.objects if each.startswith(prefix) and each > after)[:limit]
