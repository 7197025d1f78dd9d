"""The models that the page suggests for a plan."""

from __future__ import annotations

from functools import lru_cache

from innervoice.catalog.lookup import all_hosts, all_model_rows

__all__ = ["suggested_models"]


@lru_cache(maxsize=1)
def suggested_models() -> list[str]:
    """The first name of each row of the catalog that names a host, as provider/model, in the order of the hosts."""
    order = {host.id: number for number, host in enumerate(all_hosts())}
    named = dict.fromkeys(
        (row.hosts[0], row.match[0].removesuffix("*").removesuffix("-"))
        for row in all_model_rows()
        if row.hosts and row.hosts[0] in order and not row.guess
    )
    models = sorted(named, key=lambda name: order[name[0]])
    return [f"{host}/{model}" for host, model in models if _is_a_name(model)]


def _is_a_name(model: str) -> bool:
    """Whether the rest of a pattern names a model, and not a whole family."""
    return "*" not in model and not model.endswith(".") and any(map(str.isdigit, model))
