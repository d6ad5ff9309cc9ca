"""Limits on the use of a translation service."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits on the use of a service; none affects the translations.

    Attributes:
        requests_per_second, requests_per_day: of all jobs together that share a cache.
        max_connections: concurrent requests.
        timeout: seconds without a byte until a request is given up.
        max_pause: seconds; pauses after failures double up to it. A service's own Retry-After counts
            where it is longer.
        max_wait: seconds without any answer after which the job stops.
    """

    requests_per_second: float = 1.0
    requests_per_day: int = 10_000
    max_connections: int = 1
    timeout: float = 60.0
    max_pause: float = 900.0
    max_wait: float = 7200.0
