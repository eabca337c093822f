#!/usr/bin/env bash
# Records the memory accesses of programs for data/memory again. Run it as any user on Debian 12:
#   apt-get install valgrind poppler-utils graphicsmagick w3m pandoc gnumeric sqlite3 zstd
#   experiments/memory/record.sh FOLDER [NAME]...
# A recording takes three to fifteen minutes on one core. Accesses depend on the versions of the
# programs and their libraries, so another system gives other traces.
set -euo pipefail

FLASHGC=${FLASHGC:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.venv/bin/flashgc}
ACCESSES=${ACCESSES:-200e6}  # of each program but pandoc, from its start: the first part of the longer ones
PAGE=${PAGE:-2KiB}           # the flash page of Ji and Shin 2010
FILTER=${FILTER:-128}        # pages: what is left out makes no difference to larger LRU memories

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { printf 'record: %s\nhint: %s\n' "$1" "$2" >&2; exit 2; }

[ $# -ge 1 ] || die "expected the folder to write to, found nothing" "record.sh FOLDER [NAME]..."
out=$(realpath -m -- "$1")
shift
mkdir -p "$out"
for tool in valgrind zstd python3; do
    command -v "$tool" >/dev/null || die "found no $tool" "apt-get install $tool"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/flashgc-memory.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
cd "$work"
python3 "$here/inputs.py" .
# With one thread, the order is always the same. Valgrind runs only one thread at a time anyway.
export OMP_NUM_THREADS=1 LC_ALL=C.UTF-8

record() {
    name=$1
    shift
    command -v "$1" >/dev/null || die "found no $1" "see the list at the top of this script"
    printf 'record: %s\n' "$*" >&2
    "$FLASHGC" trace record -o "$work/$name.pages" --page-size "$PAGE" --filter "$FILTER" \
        --accesses "$ACCESSES" -- "$@" >/dev/null
    zstd -q -19 --long=27 --force "$work/$name.pages" -o "$out/$name.pages.zst"
}

for name in "${@:-pdftoppm graphicsmagick w3m pandoc gnumeric sqlite}"; do
    for one in $name; do
        case $one in
        pdftoppm) record pdftoppm pdftoppm -r 72 book.pdf page ;;
        graphicsmagick) record graphicsmagick gm convert picture.ppm -resize 60% -rotate 90 -blur 0x1 out.jpg ;;
        w3m) record w3m w3m -dump page.html ;;
        # With all 200e6 accesses the file would have 1.2 MB.
        pandoc) ACCESSES=${ACCESSES_PANDOC:-160e6} record pandoc pandoc document.md -o document.docx ;;
        gnumeric) record gnumeric ssconvert table.csv table.xlsx ;;
        sqlite) record sqlite sqlite3 -init database.sql :memory: .quit ;;
        *) die "unknown recording '$one'" "pdftoppm graphicsmagick w3m pandoc gnumeric sqlite" ;;
        esac
    done
done
