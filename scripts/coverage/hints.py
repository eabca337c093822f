"""The share of followed hints that cure their finding: ``make coverage``.

Random configurations run. Each hint of a finding is followed as its words say: an option gets
the value that the hint names, is left out, or gets more or less of what it has. The configuration
runs again, and the finding is cured if it is gone. The table has the share of each finding.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from typing import Any

import flashgc
from flashgc._core import ConfigError

Options = dict[str, Any]

#: Factors of "more", "a longer", "a higher", and of "fewer", "a lower".
MORE, LESS = 4, 1 / 4

#: Findings whose hint names no option, but another drive or trace.
NO_OPTION = ("identical-runs", "as-read")


def drawn(seed: int) -> Options:
    """A random configuration that is likely to have findings."""
    draw = random.Random(seed)
    options: Options = {
        "workload": draw.choice(
            ["uniform", "hotcold:f=0.05,r=0.95", "hotcold:f=0.2,r=0.8", "zipf:theta=1.1"]
        ),
        "blocks": draw.choice([40, 100, 200]),
        "pages_per_block": draw.choice([8, 32]),
        "spare": draw.choice(["10%", "20%"]),
        "victim": draw.choice(["greedy", "random", "cost-benefit", "d-choices"]),
        "frontier": "pool",
        "seed": seed,
        "runs": draw.choice([1, 2]),
    }
    if draw.random() < 0.5:
        options["placement"] = draw.choice(["none", "sepbit", "sfs", "dac", "fadac"])
        length = draw.choice([None, "0.05x", "1x", "5x", "20x"])
        if length is not None:
            options |= {"writes": length, "warmup": draw.choice(["1/3", "2x", "0.3x"])}
        return options
    workload = options["workload"]
    options.pop("frontier")
    return {
        **options,
        "workload": f"{workload}{',' if ':' in workload else ':'}read=0.5",
        "kind": "timed",
        "times": "read=60us,program=600us,erase=3ms,transfer=10us",
        "requests": draw.choice([300, 3000, 20_000]),
        "preemption": draw.choice(["none", "pgc", "suspend"]),
        "arrivals": draw.choice(["closed:threads=8", "closed:threads=32", "poisson:rate=500"]),
        "warmup": draw.choice(["auto", "0.1x", "2x"]),
        "blocks": 300,
    }


def scaled(value: Any, factor: float) -> Any:
    """A number or a text with a unit, times a factor.

    >>> scaled("5x", 4), scaled(8, 0.25), scaled("10%", 4)
    ('20x', 2, '40%')
    """
    match = re.fullmatch(r"([\d.]+)(\D*)", str(value))
    if match is None:
        raise ValueError(value)
    number = float(match[1]) * factor
    text = f"{number:g}"
    return int(number) if isinstance(value, int) else text + match[2]


def followed(options: Options, hint: str) -> Options | None:
    """The options after the hint is followed; ``None`` if it names no option.

    >>> followed({"writes": "5x", "warmup": "2x"}, "leave out writes and warmup")
    {}
    >>> followed({"requests": 300}, "more requests")
    {'requests': 1200}
    >>> followed({}, 'write_pacing="yes" with gc_low=4')
    {'write_pacing': 'yes', 'gc_low': '4'}
    """
    usual = {"gc_low": 2, "requests": 1_000_000, "runs": 1, "blocks": 4096, "warmup": "2x"}
    about = re.search(r"more (\w+): about (\d+) drive writes", hint)
    if about:
        return {**options, about[1]: f"{about[2]}x"}
    if within := re.search(r"a larger (\w+) in (\w+)", hint):
        spec = options.get(within[2], "suspend=20us")
        return {**options, within[2]: f"{spec},{within[1]}=100000"}
    if left_out := re.search(r"leave out (\w+)(?: and (\w+))?", hint):
        return {key: value for key, value in options.items() if key not in left_out.groups()}
    if values := re.findall(r"(\w+)=\"?([^\s\",;]+)\"?", hint):
        return options | dict(values)
    change = re.search(r"(more|fewer|a longer|a higher|a lower) (\w+)", hint)
    if change is None or (change[2] not in usual and change[2] not in options):
        return None
    factor = LESS if change[1] in ("fewer", "a lower") else MORE
    name = change[2]
    try:
        return {**options, name: scaled(options.get(name, usual.get(name)), factor)}
    except ValueError:
        return {**options, name: "8x"}


def campaign(seeds: range) -> tuple[Counter[str], Counter[str], list[str]]:
    """Counts of followed hints and of cured findings, and a text for each uncured case."""
    followed_hints, cured, left = Counter[str](), Counter[str](), []
    for seed in seeds:
        options = drawn(seed)
        try:
            result = flashgc.run(**options)
        except ConfigError:
            continue
        for finding in result.findings:
            if finding.hint is None or finding.id in NO_OPTION:
                continue
            followed_hints[finding.id] += 1
            more = followed(options, finding.hint)
            why = "no option"
            if more is not None:
                try:
                    again = flashgc.run(**more)
                    if finding.id not in {other.id for other in again.findings}:
                        cured[finding.id] += 1
                        continue
                    why = "still said"
                except ConfigError as error:
                    why = str(error)
            left.append(f"{finding.id}, seed {seed}: {finding.hint}: {why}")
    return followed_hints, cured, left


def main() -> int:
    """Prints the shares; exits with 1 if fewer than nine of ten are cured."""
    parser = argparse.ArgumentParser(description="Follows the hints of findings.")
    parser.add_argument("--count", type=int, default=300, help="configurations")
    given = parser.parse_args()
    followed_hints, cured, left = campaign(range(1, given.count + 1))
    print("| finding | followed | cured |\n|---|---|---|")
    for name, number in sorted(followed_hints.items()):
        print(f"| {name} | {number} | {100 * cured[name] / number:.0f}% |")
    whole, all_cured = followed_hints.total(), cured.total()
    print(f"| all | {whole} | {100 * all_cured / max(whole, 1):.0f}% |")
    for line in left:
        print(line, file=sys.stderr)
    return 0 if all_cured >= 0.9 * whole else 1


if __name__ == "__main__":
    sys.exit(main())
