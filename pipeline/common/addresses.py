"""Addresses of servers, checked before a request is sent or a job begins."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.?")
_LONGEST = 253  # characters of a host


def address(url: str) -> SplitResult | None:
    """The parts of a URL; None if it is not valid, such as `http://[::1` or a URL with port 99999999."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def address_mistake(url: str) -> str:
    """Why a URL is not the address of a web server; empty if it is. The text does not repeat the URL."""
    parts = address(url)
    if parts is None:
        return "its host or port is not valid"
    if parts.scheme not in ("http", "https"):
        return "it does not begin with http:// or https://"
    if not parts.hostname or not _is_host(parts.hostname):
        return "its host is not valid" if parts.hostname else "it has no host"
    if parts.port == 0:
        return "its port is not valid"
    if any(character.isspace() or not character.isprintable() for character in url):
        return "it has a blank or a character that cannot be seen"
    if parts.query or parts.fragment:
        return "it has a query (?) or a fragment (#), after which no path can follow"
    return ""


def credentials_mistake(url: str) -> str:
    """The message for a URL with a name or password, which it does not repeat; empty for others."""
    if "@" not in url.partition("://")[2].partition("/")[0]:
        return ""
    return (
        "has a name or password in its address; write them into ~/.netrc (machine HOST login NAME password "
        "PASSWORD) and take them out of it"
    )


def _is_host(host: str) -> bool:
    try:
        if ":" in host:
            ipaddress.IPv6Address(host)
            return True
        return bool(_HOST.fullmatch(host)) and len(host.encode("idna")) <= _LONGEST
    except ValueError:
        return False
