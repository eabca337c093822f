"""``flashgc compare`` with several files: runs experiments, and reads saved results."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashgc._core import ConfigError
from flashgc._origins import Given
from flashgc.command.options import asked
from flashgc.results import Comparison, Result
from flashgc.terminal.progress import Bar

if TYPE_CHECKING:
    from flashgc.experiment import Experiment
    from flashgc.store.keeping import Keeping

#: Extensions of files with results; all other files are experiments.
SAVED = (".json", ".results")
#: The maximum number of results that a ranking takes from one file of results.
_MOST = 100

#: A result with its name.
NamedResult = tuple[str, Result]


def is_several(files: Sequence[Path]) -> bool:
    """True if these are several experiments, or saved results."""
    return len(files) > 1 or any(file.suffix in SAVED for file in files)


def compared(
    files: Sequence[Path], typed: dict[str, Any], results: str | None, *, quiet: bool
) -> tuple[Comparison, int]:
    """The ranking of all results of the files, and the number of those found in ``results``.

    Typed options apply to every experiment. Raises :class:`flashgc.ConfigError`.
    """
    from flashgc.ranking import rank

    given = [name for name, value in typed.items() if value not in (None, ())]
    experiments = [file for file in files if file.suffix not in SAVED]
    if given and not experiments:
        flag = given[0].partition("__")[2].replace("_", "-")
        raise ConfigError(
            f"--{flag} only applies to experiments, and all files have results; hint: leave it out"
        )
    if results is not None and not experiments:
        raise ConfigError(
            "--results only applies to experiments, and all files have results; hint: leave it out"
        )
    pairs: list[NamedResult] = []
    left_out: list[dict[str, Any]] = []
    count = 0
    for file, name in zip(files, names(files), strict=True):
        if file.suffix == ".json":
            more = _saved(file)
        elif file.suffix == ".results":
            more = _results_of_store(file)
        else:
            comparison, before = _run(file, typed, results, quiet=quiet)
            count += before
            left_out += [
                {"name": f"{name}: {left_out.name}", "reason": left_out.reason}
                for left_out in comparison.left_out
            ]
            more = _distinct(comparison.results)
        pairs += [(f"{name}: {part}" if part else name, result) for part, result in more]
    ranking = rank([result for _, result in pairs], [name for name, _ in pairs])
    return ranking.with_left_out(left_out), count


def names(files: Sequence[Path]) -> list[str]:
    """Return the names of the files, without folders and extensions if they are still distinct.

    >>> names([Path("a/old.toml"), Path("new.toml")]), names([Path("a/x.toml"), Path("b/x.toml")])
    (['old', 'new'], ['a/x.toml', 'b/x.toml'])
    """
    stems = [file.stem for file in files]
    if len(set(stems)) == len(stems):
        return stems
    whole = [str(file) for file in files]
    twice = next((name for name in whole if whole.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice} is given twice; hint: give it once")
    return whole


def _run(
    file: Path, typed: dict[str, Any], results: str | None, *, quiet: bool
) -> tuple[Comparison, int]:
    from flashgc.configuration import configurations
    from flashgc.execution import COMPARED_RUNS
    from flashgc.experiment import experiment

    given = asked(file, dict(typed))
    what = experiment(given.values, given.places)
    configs = configurations(what, given.places, default_runs=COMPARED_RUNS, python=given.python)
    comparison, keeping = simulated(what, configs, given, results, quiet=quiet)
    if keeping is not None and keeping.error is not None:
        raise keeping.error
    return comparison, 0 if keeping is None else keeping.found


def simulated(
    what: Experiment,
    configs: Sequence[Mapping[str, Any]],
    given: Given,
    results: str | None,
    *,
    quiet: bool,
) -> tuple[Comparison, Keeping | None]:
    """The ranking of an experiment's configurations, and the file of results that was used."""
    from flashgc.command.output import say_memory
    from flashgc.execution import COMPARED_RUNS, keeping_in, simulate

    say_memory(configs, quiet=quiet)
    with Bar(sum(config["runs"] for config in configs), quiet=quiet) as bar:
        keeping = keeping_in(results, "compare", "--results", bar.expect)
        done = simulate(
            what,
            given.python,
            places=given.places,
            default_runs=COMPARED_RUNS,
            progress=bar,
            leave_out=True,
            keeping=keeping,
        )
    return Comparison.from_dicts(done.ranking, done.results, done.left_out), keeping


def _saved(file: Path) -> list[NamedResult]:
    """The results in a document that ``run`` or ``compare`` wrote."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such file; hint: flashgc run --out writes one") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: no JSON document: {error}; hint: flashgc run --out") from None
    ranked = document.get("ranking") if isinstance(document, Mapping) else None
    if isinstance(ranked, list) and all(isinstance(rank, Mapping) for rank in ranked):
        return _distinct([_result_in(file, rank.get("result")) for rank in ranked])
    return [("", _result_in(file, document))]


def _result_in(file: Path, document: Any) -> Result:
    from flashgc.ranking import rank

    keys = ("write_amplification", "run_values", "config", "digest")
    if not (isinstance(document, Mapping) and all(key in document for key in keys)):
        raise ConfigError(
            f"{file}: neither a result nor a comparison; hint: flashgc run --out writes a result"
        )
    try:
        result = Result.from_dict(document)
        rank([result])
    except (ConfigError, TypeError, KeyError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{file}: not as flashgc wrote it: {error}; hint: flashgc run --out writes a result"
        ) from None
    return result


def _results_of_store(file: Path) -> list[NamedResult]:
    from flashgc.store import Store

    with Store(file, "EXPERIMENT", make=False) as store:
        results = []
        for key, _, kept in store.each([("status", "=", "result")]):
            if kept.result is None:
                raise ConfigError(f"{file}: result {key[:12]}: {kept.reason}")
            results.append(Result.from_dict(kept.result))
    if not 1 <= len(results) <= _MOST:
        raise ConfigError(
            f"{file} has {len(results)} results, expected 1 to {_MOST}; hint: flashgc results list "
            f"{shlex.quote(str(file))}"
        )
    return _distinct(results)


def _distinct(results: Sequence[Result]) -> list[NamedResult]:
    """The results of one file, with names from the options in which they differ, the policy first.

    Names of traces are shortened as far as they stay distinct.
    """
    from flashgc._naming import name
    from flashgc.reports.wording import texts

    if len(results) == 1:
        return [("", results[0])]
    whole: list[Any] = [result.to_dict()["config"] for result in results]
    workloads = list(dict.fromkeys(config["workload"] for config in whole))
    short = dict(zip(workloads, texts("workload", workloads), strict=True))
    configs = [{**config, "workload": short[config["workload"]]} for config in whole]
    return [
        (name(config, configs), result) for config, result in zip(configs, results, strict=True)
    ]
