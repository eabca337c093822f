"""Writes a file of 64 MiB, and then 2,000 random pages of it, by ``mmap`` or by ``pwrite``."""

import mmap
import os
import random
import sys

SIZE, PAGE = 64 << 20, 4096

with open("data", "wb") as file:
    for _ in range(SIZE >> 20):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
with open(os.environ["FLASHGC_MARK"], "w") as marks:
    marks.write("stores\n")
descriptor = os.open("data", os.O_RDWR)
draw = random.Random(1)
places = [draw.randrange(SIZE // PAGE) * PAGE for _ in range(2000)]
if sys.argv[1] == "mmap":
    mapped = mmap.mmap(descriptor, SIZE)
    for at in places:
        mapped[at : at + PAGE] = bytes(PAGE)
    mapped.flush()
else:
    for at in places:
        os.pwrite(descriptor, bytes(PAGE), at)
os.fsync(descriptor)
