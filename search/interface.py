"""The description of the JSON interface (OpenAPI) as a plain page."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape


def interface_page(described: Mapping[str, Any]) -> Markup:
    """HTML of an OpenAPI description: each address with its parameters."""
    parts = [
        _operation(method, path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return Markup(
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>JSON interface</title>"
        '<link rel="icon" href="/page/icon.svg"><link rel="stylesheet" href="/page/page.css">'
        '<body><main class="interface"><h1>JSON interface</h1>'
        '<p><a href="/">Search</a>. For programs: <a href="/openapi.json">openapi.json</a>. A mistake is '
        'answered by status 4xx and <code>{{"error": "..."}}</code>.</p>{}</main></body></html>'
    ).format(Markup("").join(parts))


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Markup:
    rows = Markup("").join(
        Markup("<tr><th><code>{}</code></th><td>{}</td><td>{}</td></tr>").format(
            one["name"], _kind(one), one.get("description", "")
        )
        for one in operation.get("parameters", [])
    )
    table = (
        Markup("<table><tr><th>parameter</th><th>is</th><th></th></tr>{}</table>").format(rows)
        if rows
        else ""
    )
    head = Markup("<h2><code>{} {}</code></h2>").format(method.upper(), path)
    return head + Markup("<p>{}</p>").format(operation.get("description", "")) + escape(table)


def _kind(parameter: Mapping[str, Any]) -> str:
    schema = parameter["schema"]
    kind = schema.get("type") or " or ".join(
        one["type"] for one in schema.get("anyOf", []) if one["type"] != "null"
    )
    if parameter.get("required"):
        return f"{kind}, needed"
    return f"{kind}, {schema['default']} if not given" if "default" in schema else kind
