"""Checks SNIA's rule on the JSON of ``flashgc qualify``: ``python snia.py FILE``."""

import json
import sys


def steady(rounds):
    """True if five rounds have a range of at most 20% and a line that changes by at most 10%."""
    mean = sum(rounds) / 5
    slope = sum((at - 2) * value for at, value in enumerate(rounds)) / 10
    return max(rounds) - min(rounds) <= 0.2 * mean and abs(4 * slope) <= 0.1 * mean


def faults(test):
    """Yield what is wrong with one test."""
    first, last = test["window"]["first"], test["window"]["last"]
    tracked = test["tracked"]
    if last - first != 4 or last != len(tracked) or last > 25:
        yield "the window is not the last five of at most 25 rounds"
    verdicts = [steady(tracked[at : at + 5]) for at in range(len(tracked) - 4)]
    if verdicts[-1] != test["window"]["met"]:
        yield f"the rule is {'met' if verdicts[-1] else 'not met'}, and the file says otherwise"
    if any(verdicts[:-1]):
        yield "an earlier window is steady"
    if not verdicts[-1] and last < 25:
        yield "it ended before round 25"
    for cell in test["cells"]:
        mean = sum(cell["by_round"]) / 5
        if abs(cell[test["tracked_figure"]] / mean - 1) > 1e-9:
            yield f"a cell of {cell['size']} bytes is not the mean of its rounds"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        tests = json.load(file)["rounds"]
    found = [f"{test['name']}: {fault}" for test in tests for fault in faults(test)]
    print("\n".join(found) or "every test follows SNIA's rule")
    sys.exit(bool(found))
