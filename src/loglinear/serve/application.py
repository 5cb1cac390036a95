"""The application: addresses, limits of size and time, and errors as sentences. Answers are computed in threads.

Models are shared by all threads without a lock: using a model changes nothing in it, and its loops release the GIL.
A thread that computes cannot be stopped, so requests are bounded in size, and there are as many threads as ``threads``:
an answer that takes too long keeps one of them busy until it is done, while its client is told.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from loglinear import __version__
from loglinear.errors import LoglinearError
from loglinear.formats.json_text import json_text
from loglinear.serve.abilities import Operation, Served
from loglinear.serve.reference import openapi, reference_page
from loglinear.serve.requests import check_fields

_log = logging.getLogger("loglinear.serve")
_PAGE = {
    "": ("index.html", "text/html"), "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"), "views.js": ("views.js", "text/javascript"),
}  # fmt: skip
# The page loads nothing but its own files and is shown in no other page.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What one request may cost: ``n_bytes`` of its body, ``seconds`` to answer it; and how much may wait."""

    n_bytes: int = 1 << 16
    seconds: float = 10.0
    threads: int = 4
    waiting: int = 256  # requests that are answered or wait; more are refused


DEFAULT = Limits()


def make_app(
    models: Mapping[str, Any], limits: Limits = DEFAULT, *, hosts: Sequence[str] | None = None,
    examples: Mapping[str, str] | None = None,
) -> Starlette:  # fmt: skip
    """Return an ASGI application that serves trained models by name.

    ``hosts`` are the names by which browsers may call the server (None: any), so that a page from elsewhere cannot
    reach a server on this machine under a name of its own; ``examples`` are texts that the page begins with, by model.
    """
    examples = examples or {}
    served = {name: Served(name, model, models, examples.get(name, "")) for name, model in models.items()}
    answers = _Answers(served, limits)
    routes = [
        *(Route(f"/{path}", _file(*found), methods=["GET"]) for path, found in _PAGE.items()),
        Route("/models", answers.list, methods=["GET"]),
        Route("/models/{model}/{operation}", answers.answer, methods=["POST"]),
        Route("/openapi.json", _fixed(openapi(served, limits.n_bytes)), methods=["GET"]),
        Route("/reference", _page(reference_page(served, limits.n_bytes)), methods=["GET"]),
    ]
    middleware = []
    if hosts is not None:
        middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)]
    return Starlette(routes=routes, middleware=middleware, exception_handlers={HTTPException: _refused})


class _Answers:
    def __init__(self, served: Mapping[str, Served], limits: Limits) -> None:
        self.served, self.limits = served, limits
        self.pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="loglinear-serve")
        self.n_waiting = 0

    async def list(self, request: Request) -> Response:
        """Answer with the names of the models and what each can be asked."""
        rows = [
            {"name": one.name, "kind": one.model.kind, "operations": list(one.ability.operations),
             "example": one.example, **one.ability.describe(one.model)}
            for one in self.served.values()
        ]  # fmt: skip
        return _json({"version": __version__, "models": rows})

    async def answer(self, request: Request) -> Response:
        """Answer a question about a model."""
        one = self.served.get(request.path_params["model"])
        if one is None:
            raise HTTPException(404, f"no model is served under this name; known: {', '.join(self.served)}")
        operation = one.ability.operations.get(request.path_params["operation"])
        if operation is None:
            raise HTTPException(404, f"it cannot be asked this; known: {', '.join(one.ability.operations)}")
        body = await self._body(request)
        if self.n_waiting >= self.limits.waiting:
            raise HTTPException(503, "too many requests wait already: try again later")
        self.n_waiting += 1
        try:
            work = asyncio.get_running_loop().run_in_executor(self.pool, _answer, one, operation, body)
            return await asyncio.wait_for(work, self.limits.seconds)
        except asyncio.TimeoutError:
            limit = f"{self.limits.seconds:g} seconds"
            message = f"the answer took longer than {limit}: ask for less, or for a shorter text"
            raise HTTPException(503, message) from None
        finally:
            self.n_waiting -= 1

    async def _body(self, request: Request) -> bytes:
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "send JSON, with the header Content-Type: application/json")
        body = bytearray()
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > self.limits.n_bytes:
                    raise HTTPException(413, f"a request may have at most {self.limits.n_bytes:,} bytes")
        except ClientDisconnect:
            raise HTTPException(400, "the request was not sent whole") from None
        return bytes(body)


def _answer(one: Served, operation: Operation, body: bytes) -> Response:
    """Answer in a thread; what a client can cause is a sentence."""
    try:
        asked = check_fields(operation.fields, _parsed(body))
        return _json(operation.answer(one, asked))
    except (LoglinearError, ValueError, TypeError) as error:
        return _error(400, " ".join(str(error).split()))
    except MemoryError:
        return _error(503, "not enough memory for this request")
    except Exception:
        _log.exception("a request to %s failed", one.name)
        return _error(500, "the answer failed; the log of the server says why")


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"the request is not JSON: {error}") from None


def _json(value: Any, status: int = 200) -> Response:
    text = json_text(value).encode("utf-8", "backslashreplace")
    return Response(text, status, _HEADERS, "application/json")


def _error(status: int, message: str) -> Response:
    return _json({"error": message}, status)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, error.detail)


def _file(name: str, kind: str) -> Any:
    content = (resources.files(__package__) / "page" / name).read_bytes()
    return _constant(Response(content, 200, _HEADERS, kind))


def _fixed(value: Any) -> Any:
    return _constant(_json(value))


def _page(html: str) -> Any:
    return _constant(Response(html.encode("utf-8", "backslashreplace"), 200, _HEADERS, "text/html"))


def _constant(response: Response) -> Any:
    async def answer(request: Request) -> Response:
        return response

    return answer
