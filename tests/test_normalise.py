"""normalise.py on hand-written events, and the faults that it must report."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "record" / "normalise.py"
DEVICE = 1 << 20

# One of each kind as the kernel prints them: a read, a write whose process name holds
# a bracket and a blank, zeroes, a journal commit with a flush ahead, a discard, and a
# bare flush, which is queued as a write and issued as a flush.
EVENTS = """\
 mkfs.ext4-10 [001] ..... 50.000100: block_rq_issue: 7,0 R 4096 () 8 + 8 be,0,4 [mkfs.ext4]
 a (b) c-11 [001] ..... 50.000103: block_rq_issue: 7,0 W 8192 () 16 + 16 be,0,4 [a (b) c]
 kworker/0:1H-12 [000] ..... 51.000000: block_rq_issue: 7,0 NS 4096 () 16 + 8 be,0,4 [kworker]
 jbd2-13 [000] ..... 51.000001: block_rq_issue: 7,0 FWFSM 4096 () 24 + 8 be,0,4 [jbd2]
 jbd2-13 [000] ..... 51.000002: block_rq_issue: 7,0 DS 8192 () 16 + 16 be,0,4 [jbd2]
 postgres-14 [000] ..... 51.000003: block_bio_queue: 7,0 FWS 0 + 0 [postgres]
 kworker/0:1H-12 [000] ..... 51.000004: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker]
"""
ROWS = """\
time_us,op,offset_bytes,size_bytes,dev
0.000,R,4096,4096,0
3.000,W,8192,8192,0
999900.000,W,8192,4096,0
999901.000,W,12288,4096,0
999902.000,D,8192,8192,0
"""
# /sys/block/DEV/stat: reads 1 of 8 sectors; writes 3 and the bare flush, 16 + 8 + 8
# sectors; discards 1 of 16 sectors.
BEFORE = "5 0 40 0 7 0 56 0 0 0 0 2 0 16 0 0 0"
AFTER = "6 0 48 0 11 0 88 0 0 0 0 3 0 32 0 1 0"


def normalise(folder: Path, events: str = EVENTS, after: str = AFTER, device: int = DEVICE):
    for name, text in (("raw", events), ("before", BEFORE), ("after", after)):
        (folder / name).write_text(text)
    command = [sys.executable, SCRIPT, folder / "raw", folder / "out.csv", "--device-bytes", device]
    command += ["--stat-before", folder / "before", "--stat-after", folder / "after"]
    return subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)


def test_each_kind_of_event_becomes_its_row(tmp_path):
    done = normalise(tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_text() == ROWS
    # Pages 2, 3, then 2, then 3 again: 4 page writes of 2 distinct pages.
    assert "| overwrite factor | 2.00 |" in done.stdout


def test_a_request_that_the_block_layer_did_not_count_is_a_fault(tmp_path):
    done = normalise(tmp_path, after=AFTER.replace("6 0 48", "6 0 56"))
    assert done.returncode == 1
    assert "R sectors: trace has 8, the block layer counted 16" in done.stderr


def test_a_request_past_the_end_of_the_device_is_a_fault(tmp_path):
    done = normalise(tmp_path, device=12288)
    assert done.returncode == 1
    assert "ends outside the device" in done.stderr


def test_a_request_of_part_of_a_page_is_a_fault(tmp_path):
    done = normalise(tmp_path, events=EVENTS.replace("() 8 + 8", "() 9 + 8"))
    assert done.returncode == 1
    assert "is not whole pages" in done.stderr


def test_time_that_goes_back_is_a_fault(tmp_path):
    done = normalise(tmp_path, events=EVENTS.replace("51.000001", "50.999999"))
    assert done.returncode == 1
    assert "time goes back by 1 us" in done.stderr


def test_a_line_that_is_no_event_is_a_fault(tmp_path):
    done = normalise(tmp_path, events=EVENTS + "CPU:1 [LOST 12 EVENTS]\n")
    assert done.returncode == 1
    assert "not a block_rq_issue event" in done.stderr
