"""Checks of every request to the page: its prefix, its host or token, and the headers of its answer."""

import hmac
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlencode

from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.common.errors import InputError

LOCAL_HOSTS = ("127.0.0.1", "localhost")
COOKIE = "token"
# Folders of letters of any script, percent escapes, and the marks that a path may have (RFC 3986).
_PREFIX = re.compile(r"(/([^\x00-\x7f]|[A-Za-z0-9_.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Entrance:
    """An application behind the checks of its requests.

    Args:
        token: what a request must carry; None: the request must name this machine.
        prefix: path that a proxy leaves before the page's own; requests without it are answered too.
    """

    def __init__(self, app: ASGIApp, token: str | None, prefix: str):
        self.app, self.token, self.prefix = app, token, unquote(prefix)  # a server unquotes paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.prefix and f"{scope['path']}/".startswith(f"{self.prefix}/"):
            scope = {**scope, "path": scope["path"].removeprefix(self.prefix)}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal_or_redirect(Request(scope)) or self.app
        await answer(scope, receive, send_with_headers)

    def _refusal_or_redirect(self, request: Request) -> Response | None:
        """The answer to a request that may not pass; None for one that may."""
        query = request.query_params
        if not request.scope["path"]:  # links of the page are relative to its folder
            return RedirectResponse(f"{quote(self.prefix)}/?{request.url.query}".rstrip("?"), 308)
        if self.token is None:
            return _other_host(request)
        if request.scope["path"] == "/" and _equal(query.get("token", ""), self.token):
            # The token is removed from the address at once, so that it is neither shared nor kept in a
            # history. The address and the cookie's path are relative: a proxy may show the page below a path.
            parameters = [(key, value) for key, value in query.multi_items() if key != "token"]
            response = RedirectResponse(f"?{urlencode(parameters)}", 303)
            response.set_cookie(COOKIE, self.token, path=None, httponly=True, samesite="strict")
            return response
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if _equal(credentials if scheme.lower() == "bearer" else request.cookies.get(COOKIE, ""), self.token):
            return None
        return JSONResponse({"error": "A valid token is needed. See --token-file."}, 401)


def _other_host(request: Request) -> Response | None:
    """The refusal of a request to another host name, which a page elsewhere may cause (DNS rebinding)."""
    host = request.headers.get("host", "")
    if host.partition(":")[0] in LOCAL_HOSTS:
        return None
    text = (
        f"Without a token, only requests to {' or '.join(LOCAL_HOSTS)} are answered; this request is to "
        f"{host[:100]!r}. For a proxy of another name, start the page with --token-file."
    )
    return JSONResponse({"error": text}, 400)


def _equal(text: str, token: str) -> bool:
    return hmac.compare_digest(text.encode(), token.encode())  # takes as long for every wrong text


def read_token(path: Path) -> str:
    """The token in a file; raises `InputError` if it is too short."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        token = ""
    if len(token) < 20 or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise InputError(
            f"{path}: expected a token of at least 20 letters, digits, - or _. Make one: "
            f'python -c "import secrets; print(secrets.token_urlsafe())" > {path}'
        )
    return token


def check_prefix(prefix: str) -> None:
    """Raise `InputError` unless a prefix is empty or a path, which may have percent escapes."""
    try:
        path = unquote(prefix, errors="strict")
    except UnicodeDecodeError:
        path = "\0"
    if not (_PREFIX.fullmatch(prefix) and path.isprintable()) or {".", ".."} & set(path.split("/")):
        raise InputError(
            f"--prefix {prefix!r}: expected a path such as /node/host/8000, without . or .. as "
            "a folder, and without a / at its end."
        )
