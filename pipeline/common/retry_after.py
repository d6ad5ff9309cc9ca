"""The delay that a server asks for in its header Retry-After (RFC 9110, section 10.2.3)."""

import email.utils
import time

DAY = 86_400.0  # seconds; services count quotas by the day, and a longer delay is a mistake


def retry_after_seconds(header: str) -> float:
    """Seconds that a Retry-After header (a number or an HTTP date) requests, at most a day; otherwise 0."""
    if header.isdecimal():
        return min(float(header), DAY)
    try:
        seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        return min(max(0.0, seconds), DAY)
    except (TypeError, ValueError, OverflowError):
        return 0.0
