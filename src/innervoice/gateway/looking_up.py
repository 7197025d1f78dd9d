"""Requests that need no model: the list of models, one model, the version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innervoice.errors import UsageError
from innervoice.gateway.callers import Caller
from innervoice.gateway.fronts import Front
from innervoice.gateway.listings import model_body, models_body, shown_model, version_body
from innervoice.gateway.refusals import unknown_model
from innervoice.gateway.routes import Routes, UnknownModelError
from innervoice.wire.refusals import Refused

__all__ = ["looked_up"]


def looked_up(
    front: Front, value: Mapping[str, Any], routes: Routes, caller: Caller
) -> dict[str, Any]:
    """The response; raises `Refused` for anything that does not exist. A caller sees only the models that it may use."""
    if front.verb == "models":
        names = tuple(name for name in routes.names() if caller.may_ask(name))
        return models_body(front, names, {name: _reached(name, routes) for name in names})
    if front.verb == "version":
        return version_body(front)
    if front.verb in ("model", "show"):
        name = front.model or shown_model(value) or ""
        if not caller.may_ask(name):
            raise Refused(unknown_model(front.dialect, name, looked_up=True))
        try:
            return model_body(front, name, {name: routes.route(name).candidates[0].name})
        except UnknownModelError as error:
            refusal = unknown_model(front.dialect, name, error.nearest, looked_up=True)
            raise Refused(refusal) from None
    raise AssertionError(f"{front.verb} is looked up elsewhere")


def _reached(name: str, routes: Routes) -> str:
    try:
        return routes.route(name).candidates[0].name
    except UsageError:
        return name
