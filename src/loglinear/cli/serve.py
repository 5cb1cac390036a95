"""``loglinear serve``: trained models on a page where people can try them, and as JSON for programs."""

from __future__ import annotations

from typing import Annotated

import typer

from loglinear.cli import console

app = console.new_app()


@app.command()
@console.command
def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]MODEL...",
            help="Model files; each is named after its file unless NAME is given.",
            show_default=False,
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Train small models on Python's own text and serve them.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 for any free one.")] = 8000,
    seconds: Annotated[float, typer.Option(min=0.01, help="Refuse answers that take longer.")] = 10.0,
    request_size: Annotated[str, typer.Option(metavar="SIZE", help="Refuse requests that are larger.")] = "64K",
    threads: Annotated[int, typer.Option(min=1, help="How many answers are computed at a time.")] = 4,
) -> None:
    """Serve models: a page to type at and see what each model answers, and JSON for programs.

    Examples:
        loglinear serve reviews.ll chunks.ll
        loglinear serve --demo --port 8080
    """
    try:
        from loglinear.serve import Limits, serve
    except ImportError as error:
        raise ValueError(f"loglinear serve needs more packages ({error}): pip install 'loglinear[serve]'") from None
    from loglinear.data.memory import parse_memory
    from loglinear.models import load_predictor

    if not models and not demo:
        raise ValueError("give model files to serve, or --demo for models of Python's own text")
    served, examples = {}, {}
    for given in models or ():
        name, path = _named(given)
        if name in served:
            raise ValueError(f"two models are named {name!r}: name them apart, as NAME=MODEL")
        served[name] = load_predictor(path)
    if demo:
        from loglinear.demo.models import train_models

        trained = train_models(console.note)
        served.update({name: one.model for name, one in trained.items()})
        examples = {name: one.example for name, one in trained.items()}
    if host not in ("127.0.0.1", "localhost", "::1"):
        console.note(f"warning: everybody who can reach {host}:{port} can use the models; there is no password")
    limits = Limits(parse_memory(request_size), seconds, threads)
    serve(served, host=host, port=port, limits=limits, examples=examples, ready=_say)


def _named(given: str) -> tuple[str, str]:
    """Return the name and the path of a model, given as NAME=MODEL or as the path alone."""
    from pathlib import Path

    name, mark, path = given.partition("=")
    if not mark or Path(given).exists():
        name, path = Path(given).name.split(".")[0], given
    if not name or not all(c.isalnum() or c in "-_." for c in name):
        raise ValueError(f"{given}: a name has letters, digits, - and _; name the model as NAME=MODEL")
    return name, path


def _say(address: str) -> None:
    print(f"Serving at {address} (Ctrl-C stops)", flush=True)
