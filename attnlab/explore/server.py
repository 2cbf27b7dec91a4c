"""The server of `attnlab explore`: a page, and JSON over HTTP for one person on this machine."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from itertools import chain
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from attnlab.attention.interventions import Change
from attnlab.comparison.selection import read_settings
from attnlab.errors import RequestError, RunFailed
from attnlab.explore.session import Prediction, Session
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.shown.run_figures import run_title
from attnlab.views.html.page import explore_text, fragment_text
from attnlab.views.records import Record, Table

T = TypeVar("T")

_MOST_BYTES = 8_000_000  # of a request
_LINES = "application/x-ndjson"  # a line of JSON for each step of long work
# The first number of ids in each part of a page; those of a run's parts are 1,000 apart from the
# other run's.
_FIRST = {"maps": 1, "table": 500, "tools": 700}
_FORMATS = {"png": "image/png", "svg": "image/svg+xml", "csv": "text/csv; charset=utf-8"}


class Explorer:
    """Answers the requests of pages about one or two runs.

    One thread computes, which also made the sessions; a page sends its next input when it has the
    answer to the last one.
    """

    def __init__(self, sessions: Sequence[Session], thread: ThreadPoolExecutor, info: Any) -> None:
        self._sessions, self._thread, self._info = sessions, thread, info

    def application(self, token: str, hosts: Sequence[str] | None) -> ASGIApp:
        """Return the application; `hosts` are the values of `Host` that it accepts, None: all."""
        posts = {
            "predict": self._predict,
            "heads": self._heads,
            "rank": self._rank,
            "save": self._save,
        }
        routes = [Route(f"/{token}/", self._page)]
        for name, function in posts.items():
            routes.append(Route(f"/{token}/{name}", _answered(function), methods=["POST"]))
        return _Guard(Starlette(routes=routes), token, hosts)

    async def _page(self, request: Request) -> Response:
        return HTMLResponse(explore_text(self._info), headers={"Cache-Control": "no-store"})

    async def _predict(self, asked: Mapping[str, Any]) -> Response:
        prediction = await self._compute(self._prediction, asked)
        return JSONResponse(_described(prediction, self._slot(asked)))

    async def _heads(self, asked: Mapping[str, Any]) -> Response:
        slot = self._slot(asked)
        table = await self._compute(self._sessions[slot].heads, _epoch(asked))
        return JSONResponse({"html": _html([table], slot, "tools")})

    async def _rank(self, asked: Mapping[str, Any]) -> Response:
        slot = self._slot(asked)
        steps = self._sessions[slot].rank(_epoch(asked), self._entries(asked))
        first = await self._compute(next, steps)  # what is wrong is no stream
        return StreamingResponse(self._progress(first, steps, slot), media_type=_LINES)

    async def _progress(self, step: Any, steps: Iterator[Any], slot: int) -> AsyncIterator[str]:
        """Yield a line per head, then the table; closing the connection ends it."""
        while step is not None:
            if isinstance(step, Table):
                content: dict[str, Any] = {"html": _html([step], slot, "tools")}
            else:
                content = dict(zip(("done", "total"), step, strict=True))
            yield json.dumps(content) + "\n"
            step = await self._compute(next, steps, None)

    async def _save(self, asked: Mapping[str, Any]) -> Response:
        kind = str(asked.get("format"))
        if kind not in _FORMATS:
            raise RequestError(f"format: expected {', '.join(_FORMATS)}, got {kind}.")
        prediction = await self._compute(self._prediction, asked)
        layers = {layer.name: layer for layer in prediction.layers}
        layer = layers.get(str(asked.get("layer")))
        if layer is None:
            raise RequestError(f"layer: expected one of {', '.join(layers) or 'none'}.")
        draw = layer.table if kind == "csv" else partial(layer.picture, kind)
        headers = {"Content-Disposition": f'attachment; filename="attention.{kind}"'}
        content = await self._compute(draw)
        return Response(content, media_type=_FORMATS[kind], headers=headers)

    def _prediction(self, asked: Mapping[str, Any]) -> Prediction:
        session = self._sessions[self._slot(asked)]
        return session.predict(_epoch(asked), self._entries(asked), _changes(asked))

    def _entries(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a person gave, by field: texts, numbers of a series, bytes of an image."""
        entries, fields = asked.get("entries"), self._sessions[0].fields
        if not isinstance(entries, dict) or {*entries} != {*fields}:
            raise RequestError(f"entries: expected {', '.join(fields)}.")
        try:
            return {name: _READ[kind](entries[name]) for name, kind in fields.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise RequestError(f"entries: {error}.") from error

    def _slot(self, asked: Mapping[str, Any]) -> int:
        slot = asked.get("slot", 0)
        if slot not in range(len(self._sessions)):
            raise RequestError(f"slot: expected 0 to {len(self._sessions) - 1}, got {slot!r}.")
        return int(slot)

    async def _compute(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)


def prepare(
    folders: Sequence[RunDirectory],
    thread: ThreadPoolExecutor,
    listening: socket.socket,
    *,
    is_remote: bool,
) -> tuple[str, Callable[[], None]]:
    """Load runs in the thread; return the address of their page, and what serves it.

    Args:
        folders: One or two runs.
        thread: One thread, which computes.
        listening: The socket of the server.
        is_remote: Whether other machines may use the page.

    Raises:
        RequestError: A run can't be loaded, or the runs have different inputs.
    """
    sessions = [thread.submit(Session, folder).result() for folder in folders]
    if len({tuple(session.fields.items()) for session in sessions}) > 1:
        raise RequestError("RUN: expected two runs with the same inputs, such as texts or images.")
    token, (host, port) = secrets.token_urlsafe(16), listening.getsockname()[:2]
    hosts = None if is_remote else [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
    application = Explorer(sessions, thread, _info(sessions)).application(token, hosts)
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning", lifespan="off"))
    return f"http://{host}:{port}/{token}/", partial(server.run, sockets=[listening])


def _info(sessions: Sequence[Session]) -> dict[str, Any]:
    """Return what a page needs to know about the runs."""
    settings = [read_settings(session.run) for session in sessions]
    keys = sorted({*chain.from_iterable(settings)})
    rows = ([key, *(of_run.get(key, "-") for of_run in settings)] for key in keys)
    return {
        "runs": [
            {
                "title": run_title(session.run.status.read()),
                "folder": session.run.name,
                "epochs": session.epochs.numbers,
                "notes": session.epochs.notes,
                "epoch": session.epochs.numbers[session.epochs.first],
                "fields": session.fields,
                "starts": {name: _start(value) for name, value in session.starts.items()},
            }
            for session in sessions
        ],
        "differs": [row for row in rows if len({*row[1:]}) > 1],
    }


def _start(value: Any) -> Any:
    """Return a field's first value for JSON: an image as a data URL."""
    if isinstance(value, bytes):
        return f"data:image/png;base64,{base64.b64encode(value).decode()}"
    return value if isinstance(value, str) else [*map(float, value)]


def _answered(function: Callable[[Mapping[str, Any]], Any]) -> Callable[[Request], Any]:
    """Return an endpoint that gets JSON, and says in one sentence what is wrong."""

    async def answer(request: Request) -> Response:
        body = BytesIO()
        async for part in request.stream():
            if body.write(part) and body.tell() > _MOST_BYTES:
                return _wrong(413, f"The request is larger than {_MOST_BYTES:,} bytes.")
        try:
            asked = json.loads(body.getvalue())
            if not isinstance(asked, dict):
                raise ValueError("no object")
        except ValueError:  # also UnicodeDecodeError
            return _wrong(400, "The request isn't a JSON object.")
        try:
            return await function(asked)
        except (RequestError, RunFailed) as error:
            return _wrong(422, str(error))

    return answer


def _wrong(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


class _Guard:
    """Refuses requests of other pages and other names of this machine.

    A page of a stranger could send requests to this address (cross-site requests), or give its own
    name this address (DNS rebinding). So `Host` must be a known one, `Origin`, if there is one, the
    same, and the path must start with the token.
    """

    def __init__(self, inner: ASGIApp, token: str, hosts: Sequence[str] | None) -> None:
        self._inner, self._token, self._hosts = inner, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host = headers.get("host", "")
            is_known = self._hosts is None or host in self._hosts
            is_same = headers.get("origin", f"http://{host}") == f"http://{host}"
            is_ours = scope["path"].startswith(f"/{self._token}/")
            if not (is_known and is_same and is_ours):
                refusal = _wrong(403, "Open the address that attnlab explore printed.")
                return await refusal(scope, receive, send)
        await self._inner(scope, receive, send)


# --- from JSON, and to it ------------------------------------------------------------------------


def _epoch(asked: Mapping[str, Any]) -> int:
    epoch = asked.get("epoch")
    if type(epoch) is not int:
        raise RequestError(f"epoch: expected a number, got {epoch!r}.")
    return epoch


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    value.encode()  # half a surrogate pair is a ValueError
    return value


# From a field's value in JSON to what a predictor gets; an image is a data URL.
_READ: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "series": lambda value: [float(number) for number in value],
    "image": lambda value: base64.b64decode(value.partition(",")[2], validate=True),
}


def _changes(asked: Mapping[str, Any]) -> dict[str, Change]:
    """Return the changes of each layer, without layers that have none."""

    def change(heads: Any = (), hidden: Any = (), rows: Any = {}) -> Change:  # noqa: B006
        places = {int(row): place if place is None else int(place) for row, place in rows.items()}
        return Change([*map(int, heads)], [*map(int, hidden)], places)

    try:
        changes = {str(name): change(**parts) for name, parts in asked.get("changes", {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise RequestError(f"changes: {error}.") from error
    return {name: change for name, change in changes.items() if any(change)}


def _described(prediction: Prediction, slot: int) -> dict[str, Any]:
    """Return the answer to `predict`."""
    explored, score = prediction.explored, prediction.score
    shown = ("name", "rows", "columns", "row_words", "column_words")
    return {
        "output": explored.output,
        "table": _html([prediction.likely] if prediction.likely else [], slot, "table"),
        "maps": _html(prediction.maps(), slot, "maps"),
        "layers": [
            {"heads": len(layer.weights), **{name: getattr(layer, name) for name in shown}}
            for layer in prediction.layers
        ],
        "score": None if score is None else score._asdict(),
        "forecast": None if explored.forecast is None else [*map(float, explored.forecast)],
        "messages": prediction.messages,
    }


def _html(records: Sequence[Record], slot: int, part: str) -> str:
    """Return records as HTML for a part of a page."""
    return fragment_text(records, 1000 * slot + _FIRST[part])
