"""Records what the engine decides: ``python tests/decisions/record.py [--digests] [NAME...]``.

Without names every configuration is recorded; a name may be a pattern (``'timed/host/*'``). What
becomes another value is printed, one line a field. ``--digests`` writes digests alone, and fails
where anything else has changed: for a change of names that is to change no decision.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from decisions import made_traces, measuring
from decisions.configurations import ALL


def main(arguments: list[str]) -> int:
    """Records the configurations, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--digests", action="store_true")
    asked = parser.parse_args(arguments)
    names = {configuration.id for configuration in ALL}
    records = measuring.load() if measuring.RECORDED.exists() else {}
    records = {name: record for name, record in records.items() if name in names}
    for name in asked.names:
        if not fnmatch.filter(names, name):
            print(f"error: no configuration is called {name}", file=sys.stderr)
            return 2
    chosen = [
        one
        for one in ALL
        if not asked.names or any(fnmatch.fnmatchcase(one.id, name) for name in asked.names)
    ]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        made_traces.write(Path(folder))
        for configuration in chosen:
            found = measuring.measure(configuration, Path(folder))
            before = records.get(configuration.id)
            if asked.digests and before is not None:
                kept = {**found, "values": before["values"]}
                changed = list(measuring.differences(before, {**found, "digest": before["digest"]}))
                bad += len(changed)
                records[configuration.id] = kept
            else:
                changed = list(measuring.differences(before, found)) if before else ["new"]
                records[configuration.id] = found
            for line in changed:
                print(f"{configuration.id}: {line}")
    measuring.save(records)
    if bad:
        print(f"error: {bad} fields beside digests have changed, and are not recorded; hint: "
              "name the configurations, without --digests", file=sys.stderr)  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
