"""Runs MQSim and this drive on the same random writes with collections.

    git clone https://github.com/CMU-SAFARI/MQSim && make -C MQSim
    .venv/bin/python -m experiments.mqsim.compare MQSim [--depths 1,4,8] [--seeds 11,222,5555]

The drive has four dies on one channel, in packages of one, two or four. docs/validation.md has the
results, and says what was changed in MQSim's source for some of them. MQSim is called in a folder
of its own with copies of its settings.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import flashgc

READ, PROGRAM, ERASE, TRANSFER = 75.0, 750.0, 3800.0, 49.152  # microseconds
DIES, BLOCKS, PAGES_PER_BLOCK, PAGE = 4, 512, 64, 16384
REQUESTS = 20_000
#: Blocks of a die that are kept erased: MQSim's threshold of 5%.
LOW = 25
#: The spare factor that gives this drive MQSim's write amplification.
SPARE = 0.272
PACKAGES = (4, 2, 1)
SECTOR = 512


def settings(text: str, packages: int) -> str:
    """MQSim's own drive settings with those of the job in their place."""
    values: dict[str, object] = {
        "Enabled_Preconditioning": "true",
        "Ideal_Mapping_Table": "true",
        "Transaction_Scheduling_Policy": "OUT_OF_ORDER",
        "Overprovisioning_Ratio": 0.2,
        "GC_Exec_Threshold": 0.05,
        "GC_Block_Selection_Policy": "GREEDY",
        "Dynamic_Wearleveling_Enabled": "false",
        "Static_Wearleveling_Enabled": "false",
        "Flash_Channel_Count": 1,
        # Whole nanoseconds for two bytes: 6 ns, so 16 KiB take 49.152 us.
        "Channel_Transfer_Rate": 333,
        "Chip_No_Per_Channel": packages,
        "CMD_Suspension_Support": "NONE",
        "Block_Erase_Latency": int(ERASE * 1000),
        "Die_No_Per_Chip": DIES // packages,
        "Plane_No_Per_Die": 1,
        "Block_No_Per_Plane": BLOCKS,
        "Page_No_Per_Block": PAGES_PER_BLOCK,
        "Page_Capacity": PAGE,
    }
    for bit in ("LSB", "CSB", "MSB"):
        values[f"Page_Read_Latency_{bit}"] = int(READ * 1000)
        values[f"Page_Program_Latency_{bit}"] = int(PROGRAM * 1000)
    for name, value in values.items():
        text, found = re.subn(rf"<{name}>[^<]*<", f"<{name}>{value}<", text)
        if found != 1:
            raise SystemExit(f"error: ssdconfig.xml has {found} settings {name}")
    return text


def workload(text: str, packages: int, depth: int, seed: int) -> str:
    """The first stream of MQSim's own workload with the job in its place."""
    flow = re.search(r"<(IO_Flow_Parameter_Set_Synthetic)>.*?</\1>", text, re.S)
    if flow is None:
        raise SystemExit("error: workload.xml has no synthetic stream")
    one = flow[0]
    values: dict[str, object] = {
        "Device_Level_Data_Caching_Mode": "TURNED_OFF",
        "Channel_IDs": 0,
        "Chip_IDs": ",".join(map(str, range(packages))),
        "Die_IDs": ",".join(map(str, range(DIES // packages))),
        "Plane_IDs": 0,
        "Initial_Occupancy_Percentage": 100,
        "Working_Set_Percentage": 100,
        "Read_Percentage": 0,
        "Address_Alignment_Unit": PAGE // SECTOR,
        "Average_Request_Size": PAGE // SECTOR,
        "Seed": seed,
        "Average_No_of_Reqs_in_Queue": depth,
        "Stop_Time": 0,
        "Total_Requests_To_Generate": REQUESTS,
    }
    for name, value in values.items():
        one = re.sub(rf"<{name}>[^<]*<", f"<{name}>{value}<", one)
    scenario = f"<IO_Scenario>{one}</IO_Scenario>"
    return f"<MQSim_IO_Scenarios>{scenario}</MQSim_IO_Scenarios>"


def by_mqsim(place: Path, packages: int, depth: int, seed: int) -> tuple[float, float, int] | None:
    """Mean response time in us, write amplification and writes never answered; None if it ends."""
    with tempfile.TemporaryDirectory() as folder:
        drive, job = Path(folder, "ssd.xml"), Path(folder, "job.xml")
        drive.write_text(settings((place / "ssdconfig.xml").read_text(), packages))
        job.write_text(workload((place / "workload.xml").read_text(), packages, depth, seed))
        subprocess.run(
            [(place / "MQSim").resolve(), "-i", drive.name, "-w", job.name],
            cwd=folder,
            input="\n",
            text=True,
            capture_output=True,
            check=False,
        )
        written = Path(folder, "job_scenario_1.xml")
        if not written.exists():
            return None
        text = written.read_text()

    def figure(name: str) -> float:
        found = re.search(rf'{name}(?:>|=")([0-9.]+)', text)
        return float(found[1]) if found else 0.0

    copies = figure("Total_GC_Executions") * figure("Average_Page_Movement_For_GC")
    answered = round(figure("Bytes_Transferred") / PAGE)
    lost = round(figure("Request_Count")) - answered
    return figure("Device_Response_Time"), 1 + copies / REQUESTS, lost


def here(packages: int, depth: int) -> tuple[float, float]:
    """Mean response time in us and write amplification of this drive, of five runs."""
    result = flashgc.run(
        "uniform",
        kind="timed",
        ways=packages,
        dies=DIES // packages,
        blocks=DIES * BLOCKS,
        pages_per_block=PAGES_PER_BLOCK,
        page_size=f"{PAGE}B",
        spare=SPARE,
        victim="greedy",
        gc_low=LOW,
        times=f"read={READ}us,program={PROGRAM}us,erase={ERASE}us,"
        f"transfer={TRANSFER}us,command=0.29us",
        arrivals=f"closed:threads={depth}",
        warmup="3x",
        requests=REQUESTS,
        runs=5,
        jobs=1,
    )
    if result.timing is None:
        raise AssertionError
    return result.timing.latency_us.write.mean, result.write_amplification


def main() -> None:
    """Prints a line for each depth and arrangement of the dies."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("mqsim", type=Path, help="folder of MQSim, built")
    parser.add_argument("--depths", default="1,4,8")
    parser.add_argument("--seeds", default="11,222,5555")
    given = parser.parse_args()
    for depth in map(int, given.depths.split(",")):
        for packages in PACKAGES:
            seeds = map(int, given.seeds.split(","))
            runs = [by_mqsim(given.mqsim, packages, depth, seed) for seed in seeds]
            ended = [run for run in runs if run is not None]
            theirs = "no run ended"
            if ended:
                mean, amplification = (statistics.fmean(run[at] for run in ended) for at in (0, 1))
                lost = ", ".join(str(run[2]) for run in ended)
                theirs = f"{mean:.0f} us, WA {amplification:.3f}, not answered {lost}"
            ours = here(packages, depth)
            print(
                f"depth {depth}, {packages} packages of {DIES // packages} dies: MQSim {theirs} "
                f"({len(runs) - len(ended)} of {len(runs)} runs stopped); "
                f"here {ours[0]:.0f} us, WA {ours[1]:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
