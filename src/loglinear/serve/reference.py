"""The description of the server for programs (OpenAPI) and for people (a page)."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from loglinear import __version__
from loglinear.serve.abilities import Operation, Served
from loglinear.serve.requests import schema_of

_ERRORS = {
    "400": "The request cannot be answered; the error says why.",
    "404": "There is no such model or question.",
    "413": "The request is too long.",
    "415": "The request is not JSON.",
    "503": "The answer takes too long, or too many requests wait.",
}


def openapi(served: Mapping[str, Served], n_bytes: int) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of all questions that the served models answer."""
    listed = {"summary": "The models and what each can be asked", "responses": {"200": _response("The models")}}
    paths: dict[str, Any] = {"/models": {"get": listed}}
    for one in served.values():
        for name, operation in one.ability.operations.items():
            paths[f"/models/{one.name}/{name}"] = {"post": _operation(one, name, operation)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "loglinear", "version": __version__,
            "description": f"Questions to trained log-linear models. A request has at most {n_bytes:,} bytes.",
        },
        "paths": paths,
    }  # fmt: skip


def _operation(one: Served, name: str, operation: Operation) -> dict[str, Any]:
    errors = {status: _response(about) for status, about in _ERRORS.items()}
    return {
        "summary": operation.about, "operationId": f"{one.name}-{name}", "tags": [one.name],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema_of(operation.fields)}}},
        "responses": {"200": _response("The answer"), **errors},
    }  # fmt: skip


def _response(about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": {"type": "object"}}}}


def reference_page(served: Mapping[str, Served], n_bytes: int) -> str:
    """Return the same as a page."""
    parts = []
    for one in served.values():
        parts.append(f"<h2>{escape(one.name)}</h2>")
        for name, operation in one.ability.operations.items():
            rows = "".join(
                f"<tr><td><code>{escape(field)}</code></td><td>{escape(str(schema['type']))}</td>"
                f"<td>{escape(schema['description'])}{_default(schema)}</td></tr>"
                for field, schema in schema_of(operation.fields)["properties"].items()
            )
            parts.append(
                f"<h3><code>POST /models/{escape(one.name)}/{escape(name)}</code></h3><p>{escape(operation.about)}.</p>"
                f"<table><tr><th>field</th><th>type</th><th>meaning</th></tr>{rows}</table>"
            )
    errors = "".join(f"<tr><td>{status}</td><td>{escape(about)}</td></tr>" for status, about in _ERRORS.items())
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>loglinear: reference</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="page.css"></head>'
        f'<body><main class="reference"><h1>What the server answers</h1><p>Send JSON of at most {n_bytes:,} bytes. '
        'The same for programs: <a href="openapi.json">openapi.json</a>. <a href="./">Back to the page</a>.</p>'
        + "".join(parts)
        + f"<h2>Errors</h2><p>An error is an object with one field, <code>error</code>.</p><table>{errors}</table>"
        "</main></body></html>"
    )


def _default(schema: Mapping[str, Any]) -> str:
    return f" (default {escape(repr(schema['default']))})" if "default" in schema else ""
