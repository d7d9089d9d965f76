"""TXT records that tests publish, in place of DNS."""

from collections.abc import Callable

from chalicelib.platform.outbound.txt_records import NoDnsAnswer, TxtRecords


class FakeTxtRecords(TxtRecords):
    """`texts` by name; with `is_silent` no server answers. `before` is called before each answer."""

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, ...]] = {}
        self.asked: list[str] = []
        self.is_silent = False
        self.before: Callable[[], object] | None = None

    def of(self, name: str) -> tuple[str, ...]:
        self.asked.append(name)
        if self.before is not None:
            self.before()
        if self.is_silent:
            raise NoDnsAnswer("silent")
        return self.texts.get(name, ())
