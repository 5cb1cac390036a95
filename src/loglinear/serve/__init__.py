"""A server for trained models: JSON for programs, one page for people. Needs ``pip install 'loglinear[serve]'``.

    abilities.py     what each kind of model can be asked; a file per kind
    requests.py      the fields of a request: what is checked, and the same as JSON schema
    application.py   addresses, limits of size and time, errors as sentences
    reference.py     OpenAPI, and the page that shows it
    server.py        listens at an address until it is interrupted
    page/            the page: HTML, style and script, without anything from elsewhere
"""

from __future__ import annotations

from loglinear.serve.application import Limits, make_app
from loglinear.serve.server import serve

__all__ = ["Limits", "make_app", "serve"]
