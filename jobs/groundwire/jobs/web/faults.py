"""What goes wrong with a request, in one form: `{"error": {"code", "message"}}`. No text of the request is in it."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from groundwire.scorer import ConfigError, GiveUp, GroundwireError, RetryLater, SkipThis

__all__ = ["FAULTS", "Fault", "FaultBody", "answer", "install"]


class FaultDetail(BaseModel):
    """What is wrong."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    code: str
    """A word that programs can branch on."""
    message: str
    """One line for a person."""


class FaultBody(BaseModel):
    """The body of every answer that isn't a success."""

    error: FaultDetail


class Fault(Exception):  # noqa: N818 - it is an answer, not a failure of ours
    """Raised by a route: the request is answered with this status, code and message."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after = status, code, retry_after


_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
FAULTS: dict[int | str, dict[str, Any]] = {
    401: {"model": FaultBody, "description": "No credentials."},
    403: {"model": FaultBody, "description": "Wrong credentials."},
    404: {"model": FaultBody, "description": "There is no such thing."},
    408: {"model": FaultBody, "description": "The body didn't arrive in time."},
    413: {"model": FaultBody, "description": "The body is too long."},
    422: {"model": FaultBody, "description": "The request can't be used; the message says why."},
    503: {"model": FaultBody, "description": "Try again after the time that Retry-After says."},
}
"""The faults that every route behind a secret can answer with, as OpenAPI describes them."""


def answer(status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The response of a fault."""
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Give every fault of the application the one form."""
    app.add_exception_handler(Fault, _fault)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(GroundwireError, _own)


async def _fault(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Fault)  # noqa: S101 - as it was registered
    headers = {} if error.retry_after is None else {"Retry-After": str(max(round(error.retry_after), 1))}
    return answer(error.status, error.code, str(error), headers=headers)


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - as it was registered
    if error.status_code == 400:  # the framework's word for a body that isn't JSON
        return answer(422, "invalid_json", "the body is no JSON that can be read")
    code = _CODES.get(error.status_code, "refused")
    return answer(error.status_code, code, str(error.detail), headers=error.headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as it was registered
    first = error.errors()[0]
    places = [str(part) for part in first["loc"] if part != "body"]
    where = ".".join(part for part in places if part.replace("_", "").isalnum())  # a validator's own name is no place
    said = str(first["msg"]).removeprefix("Value error, ")
    return answer(422, "invalid_request", f"{where}: {said}" if where else said)


async def _own(_: Request, error: Exception) -> JSONResponse:
    match error:
        case SkipThis():
            return answer(422, "unusable", str(error))
        case RetryLater(after=after):
            return answer(503, "try_later", str(error), headers={"Retry-After": str(max(round(after), 1))})
        case GiveUp():
            return answer(503, "judge_lost", "the judge can't be asked; the service's log says why")
        case ConfigError():
            return answer(422, "not_possible", str(error))
        case _:
            return answer(503, "failed", "the service could not answer")
