"""Tenants, hosts that share a drive: as tables and as texts, and what does not go with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flashgc import _core, _origins
from flashgc._core import ConfigError
from flashgc.options import TENANT_KEYS

if TYPE_CHECKING:
    from flashgc._origins import Places
    from flashgc.experiment import Experiment

#: The option that has the tenants, and the list of tables in an experiment file.
PATH = "workload.tenant"
TABLES = "tenant"
#: Options that each tenant has itself, and its key.
_OWN = {
    "workload.source": "workload",
    "workload.arrivals": "arrivals",
    "workload.request_size": "request_size",
}


def gathered(values: Mapping[str, Any], places: Places) -> Mapping[str, Any]:
    """``values`` with every tenant as a text, whether it was a table or a text.

    Raises :class:`flashgc.ConfigError` with the place of the key that is wrong.

    >>> gathered({"tenant": [{"name": "db", "workload": "zipf", "weight": 3}]}, {})
    {'workload': {'tenant': ['name=db; workload=zipf; weight=3']}}
    """
    workload = values.get("workload", {})
    if not isinstance(workload, Mapping):
        return values
    tables, listed = values.get(TABLES), workload.get("tenant")
    if tables is None and listed is None:
        return values
    if tables is not None and listed is not None:
        raise ConfigError(
            f"{places.get(TABLES, TABLES)}: found [[tenant]] beside tenant in [workload]; hint: "
            "write all tenants in one way"
        )
    found = listed if tables is None else tables
    path = PATH if tables is None else TABLES
    where = places.get(path, TABLES)
    if isinstance(found, str | Mapping):
        found = [found]
    if not isinstance(found, list) or not found:
        raise ConfigError(f"{where}: found {found!r}, expected tables; hint: write [[tenant]]")
    texts = [_text(one, f"{path}.{index}", places, where) for index, one in enumerate(found)]
    rest = {section: keys for section, keys in values.items() if section != TABLES}
    return {**rest, "workload": {**workload, "tenant": texts}}


def _text(one: Any, path: str, places: Places, where: str) -> str:
    """A tenant as a text."""
    where = places.get(path, where)
    if isinstance(one, Mapping):
        parts = [_part(key, value, f"{path}.{key}", places, where) for key, value in one.items()]
        one = "; ".join(parts)
    if not isinstance(one, str):
        raise ConfigError(f"{where}: found {one!r}, expected a tenant; hint: write [[tenant]]")
    _at(where, "tenant", one)
    return one


def _part(key: Any, value: Any, path: str, places: Places, where: str) -> str:
    where = places.get(path, where)
    if key not in TENANT_KEYS:
        hint = _core.suggest(str(key), list(TENANT_KEYS))
        raise ConfigError(f"{where}: unknown key '{key}' of a tenant; hint: {hint}")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        example = TENANT_KEYS[key].example
        raise ConfigError(f"{where}: found {value!r}, expected a value; hint: write {example}")
    in_bytes = key == "request_size" and not isinstance(value, str)
    text = f"{value}B" if in_bytes else str(value)
    _at(where, f"tenant.{key}", text)
    return f"{key}={text}"


def _at(where: str, key: str, text: str) -> None:
    try:
        _core.check(key, text)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def workloads(asked: Experiment) -> list[str]:
    """The workloads of the tenants; none where the drive has one host.

    >>> from flashgc.experiment import experiment
    >>> workloads(experiment({"workload": {"tenant": ["name=a; workload=zipf:read=0.5"]}}))
    ['zipf:read=0.5']
    """
    return [workload_of(text) for text in asked[PATH] or ()]


def workload_of(tenant: str) -> str:
    """The workload in the text of a tenant."""
    parts = (part.partition("=") for part in tenant.split(";"))
    return next(value.strip() for key, _, value in parts if key.strip() == "workload")


def check(asked: Experiment, places: Places) -> None:
    """Refuses options that tenants have themselves, and those of tenants where there are none."""
    if PATH not in asked:
        if "drive.arbitration" in asked:
            raise ConfigError(
                f"{_origins.subject(places, 'drive.arbitration')} only applies to tenants, found "
                "none; hint: give --tenant, or [[tenant]] in a file"
            )
        return
    for path, key in _OWN.items():
        if path in asked:
            raise ConfigError(
                f"{_origins.subject(places, path)}: found beside tenants, which have their own; "
                f"hint: write {key}= in each tenant"
            )
    if "run.passes" in asked:
        raise ConfigError(
            f"{_origins.subject(places, 'run.passes')} does not apply to tenants, whose traces "
            "begin again at their end; hint: give requests, for example 1000000"
        )
