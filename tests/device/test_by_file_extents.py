"""``device exec --by-file``: the live pages of each row are the blocks that its files have."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.conftest import Command
from tests.device.conftest import needs_mounts
from tests.device.test_exec import LARGE, _everything_in_one_folder, python, run

from flashgc.device.files.grouping import pattern
from flashgc.device.files.owners import METADATA, OTHERS, UNNAMED

pytestmark = [needs_mounts, pytest.mark.xdist_group(__name__)]

__all__ = ["_everything_in_one_folder"]

#: Prints the blocks of every file in the working directory, by its name (FS_IOC_FIEMAP). Blocks
#: that were never written are left out.
EXTENTS = """
import fcntl, json, os, struct, sys
def blocks(path):
    count, start = 0, 0
    with open(path, 'rb') as file:
        while True:
            head = struct.pack('=QQIIII', start, (1 << 64) - 1 - start, 1, 0, 17, 0)
            told = fcntl.ioctl(file, 0xC020660B, head + bytes(56 * 17))
            mapped = struct.unpack_from('=I', told, 20)[0]
            for at in range(mapped):
                logical, _, length, _, _, flags = struct.unpack_from('=QQQQQI', told, 32 + 56 * at)
                count += 0 if flags & 0x802 else length // 4096
                start = logical + length
            if not mapped or flags & 1:
                return count
os.sync()
found = {}
for folder, _, files in os.walk('.'):
    for name in files:
        path = os.path.join(folder, name)
        if not os.path.islink(path) and os.stat(path).st_size:
            found[path[2:]] = (os.stat(path).st_ino, blocks(path))
json.dump(found, open(sys.argv[1], 'w'))
"""

SCRATCH = """
import os, tempfile
for turn in range(4):
    with tempfile.TemporaryFile(dir='.') as scratch:
        scratch.write(os.urandom(3 << 20)), scratch.flush(), os.fsync(scratch.fileno())
    with open(f'table.{"abcd"[turn]}', 'wb') as table:
        table.write(os.urandom(5 << 20)), table.flush(), os.fsync(table.fileno())
"""

#: Calls tmpfile() of the C library.
TMPFILE = """
import ctypes, os
c = ctypes.CDLL(None)
c.tmpfile.restype, data = ctypes.c_void_p, os.urandom(1 << 20)
for turn in range(4):
    scratch = ctypes.c_void_p(c.tmpfile())
    c.fwrite(data, 1, len(data), scratch), c.fflush(scratch), os.fsync(c.fileno(scratch))
    with open(f'rows.{"abcd"[turn]}', 'wb') as file:
        file.write(os.urandom(700 << 10)), file.flush(), os.fsync(file.fileno())
    c.fclose(scratch)
"""

GIT = """
import os, subprocess
def git(*words):
    name = ('-c', 'user.name=a', '-c', 'user.email=a@b')
    subprocess.run(['git', *name, *words], check=True, stdout=subprocess.DEVNULL)
git('init', '-q', '.')
for turn in range(12):
    for file in range(20):
        with open(f'source{file}.c', 'w') as to:
            to.write(os.urandom(4000 + 700 * file).hex())
    git('add', '.'), git('commit', '-qm', f'{turn}')
    if turn == 8:
        git('gc', '-q')
"""

NPM = """
import json, os, subprocess
def package(name, files):
    os.makedirs(name)
    for file in range(files):
        with open(f'{name}/part{file}.js', 'w') as to:
            to.write('// ' + os.urandom(2000 + 900 * file).hex())
    with open(f'{name}/package.json', 'w') as to:
        json.dump({'name': os.path.basename(name), 'version': '1.0.0'}, to)
packed = []
for name in ('left', 'right', 'middle'):
    package(f'from/{name}', 30)
    words = ['npm', 'pack', '--silent', f'./from/{name}']
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    packed.append(done.stdout.split()[-1])
os.makedirs('app')
quiet = ['--no-audit', '--no-fund', '--silent']
words = ['npm', 'install', '--offline', *quiet, '--cache', '../cache']
for _ in range(2):
    subprocess.run([*words, *(f'../{file}' for file in packed)], check=True, cwd='app')
"""

#: A database that makes, grows, alters and drops tables. Its temporary tables go with it.
MARIADB = """
import os, subprocess, time
where = [f'--datadir={os.getcwd()}/data', '--user=root']
install = ['mariadb-install-db', '--no-defaults', '--auth-root-authentication-method=normal']
subprocess.run([*install, *where], check=True, stdout=subprocess.DEVNULL)
socket = [f'--socket=/tmp/flashgc-{os.getpid()}.sock']  # Names of sockets are short.
server = subprocess.Popen(
    ['mariadbd', '--no-defaults', *where, *socket, '--skip-networking', '--bind-address=127.0.0.1',
     '--innodb-buffer-pool-size=16M', '--innodb-log-file-size=8M'], stderr=subprocess.DEVNULL)
client = ['mariadb', '--no-defaults', *socket, '-uroot', '-e']
end = time.monotonic() + 60
while subprocess.run([*client, 'select 1'], capture_output=True).returncode:
    assert time.monotonic() < end and server.poll() is None
    time.sleep(0.1)
rows = 'insert into t.a (b) select repeat(uuid(), 20) from seq_1_to_6000;'
for words in (
    'create database t; create table t.a (id int auto_increment primary key, b text);',
    'use t;' + rows, 'use t;' + rows, 'update t.a set b = repeat(md5(id), 30) where id % 3;',
    'create table t.gone select * from t.a; drop table t.gone;',
    'create temporary table t.tmp select * from t.a; delete from t.a where id % 2;',
    'alter table t.a add column c int, force; create table t.i engine=aria select * from t.a;',
    'optimize table t.a;', 'shutdown;',
):
    subprocess.run([*client, words], check=True, stdout=subprocess.DEVNULL)
assert server.wait(60) == 0
"""

PROGRAMS = {
    "scratch": (SCRATCH, ()),
    "tmpfile": (TMPFILE, ()),
    "git": (GIT, ("git",)),
    "npm": (NPM, ("npm",)),
    "mariadb": (MARIADB, ("mariadbd", "mariadb", "mariadb-install-db")),
}


@pytest.mark.parametrize(
    ("name", "filesystem"),
    [
        *((name, "ext4") for name in PROGRAMS),
        *((name, "xfs") for name, (_, needs) in PROGRAMS.items() if not needs),
        # Programs that start others take seconds: they run on the second file system in a soak.
        *(
            pytest.param(name, "xfs", marks=pytest.mark.soak)
            for name, (_, needs) in PROGRAMS.items()
            if needs
        ),
    ],
)
def test_live_pages_are_the_blocks_of_the_files(
    command: Command, tmp_path: Path, name: str, filesystem: str
) -> None:
    program, needs = PROGRAMS[name]
    if missing := [word for word in needs if shutil.which(word) is None]:
        pytest.skip(f"{missing[0]} is not installed")
    told = tmp_path / "extents.json"
    words = (*LARGE, "--fs", filesystem, "--by-file", *python(program + EXTENTS), told)
    found = run(command, *words)
    owners = {one["name"]: one["live_pages"] for one in found["by_file"]["owners"]}
    expected: Counter[str] = Counter()
    of_inode = {}
    for path, (inode, blocks) in json.loads(told.read_text()).items():
        of_inode.setdefault(inode, (path, blocks))
    for path, blocks in of_inode.values():
        row = pattern(path)
        expected[row if row in owners else OTHERS] += blocks
    fixed = {"before the command", "journal", METADATA, "unmounting", UNNAMED}
    rows = {row: pages for row, pages in owners.items() if row not in fixed and pages}
    assert rows == {row: pages for row, pages in expected.items() if pages}
    assert owners.get(UNNAMED, 0) == 0
    assert sum(rows.values()) > 500


@pytest.mark.parametrize("filesystem", ["btrfs", "f2fs"])
def test_file_systems_whose_pages_have_no_known_owners_are_refused(
    filesystem: str, command: Command
) -> None:
    done = command("device", "exec", "--fs", filesystem, "--by-file", "--", "true")
    assert done.returncode == 2
    assert f"which pages of the device {filesystem} gives to a file" in done.stderr
