"""Metrics that tests read."""

from collections import defaultdict

from chalicelib.platform.metrics import Metric, Metrics


class FakeMetrics(Metrics):
    """Keeps what was added until the test reads it, and writes nothing."""

    def __init__(self) -> None:
        super().__init__("test")

    def taken(self, metric: Metric) -> dict[str, list[float]]:
        """The values that were added to a metric since the last time, by part."""
        found, self._values = self._values, []
        values = defaultdict[str, list[float]](list)
        for each, part, value in found:
            if each == metric:
                values[part].append(value)
        return values

    def flush(self) -> None:
        pass
