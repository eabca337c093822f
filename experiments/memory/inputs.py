"""Invented inputs for the programs whose memory is recorded, equal in every run.

``python3 inputs.py FOLDER`` writes to FOLDER a document, a web page, a table, a picture, a book
as PDF and the commands of a database.
"""

from __future__ import annotations

import random
import sys
import zlib
from pathlib import Path

SEED = 1

DATABASE = """\
create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x+1 from n where x<40000)\
 insert into t select x, hex(x*7919%40009)||'-row-'||x, x*1.5 from n;
create index tb on t(b);
update t set c=c+1 where a%3=0;
select count(*), sum(c) from t where b>'3';
select substr(b,1,2), count(*) from t group by 1 order by 2 desc limit 5;
delete from t where a%5=0;
select t.a, u.a from t join t u on u.b=t.b where t.a<2000 order by t.b limit 3;
"""


class Words:
    """Generates sentences of invented words."""

    def __init__(self) -> None:
        self.draw = random.Random(SEED)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = [
            "".join(self.draw.choice(letters) for _ in range(self.draw.randint(2, 9)))
            for _ in range(3000)
        ]

    def sentence(self, length: int = 12) -> str:
        """A sentence of ``length`` words."""
        return " ".join(self.draw.choice(self.words) for _ in range(length)).capitalize() + "."

    def paragraph(self) -> str:
        """Six sentences."""
        return " ".join(self.sentence(self.draw.randint(6, 16)) for _ in range(6))


def document(words: Words) -> str:
    """Headings, lists, tables and text in Markdown."""
    parts = []
    for number in range(60):
        if number % 12 == 0:
            parts.append(f"# {words.sentence(4)}")
        elif number % 7 == 0:
            parts.append("\n".join(f"- {words.sentence()}" for _ in range(3)))
        elif number % 9 == 0:
            rows = [
                f"| {words.sentence(2)} | *{words.sentence(2)}* | `{words.draw.random()}` |"
                for _ in range(5)
            ]
            parts.append("\n".join(["| a | b | c |", "|---|---|---|", *rows]))
        else:
            parts.append(words.paragraph())
    return "\n\n".join(parts)


def page(words: Words) -> str:
    """Sixty sections with a link and a table each, in HTML."""
    parts = ["<html><body><h1>x</h1>"]
    for number in range(60):
        parts.append(f"<h2>{words.sentence(4)}</h2><p>{words.paragraph()} ")
        parts.append(f"<a href='#{number}'>{words.sentence(3)}</a></p><table border=1>")
        for _ in range(12):
            cells = (words.sentence(words.draw.randint(1, 4)) for _ in range(6))
            parts.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        parts.append("</table>")
    return "".join(parts) + "</body></html>"


def table(words: Words) -> str:
    """Three thousand rows of numbers, a word and a formula."""
    rows = []
    for row in range(1, 3001):
        numbers = (f"{words.draw.random() * 1000:.4f}" for _ in range(6))
        formula = f"=B{row}*C{row}+SUM(D{row}:G{row})"
        rows.append(",".join([str(row - 1), *numbers, words.draw.choice(words.words), formula]))
    return "\n".join(rows) + "\n"


def picture(words: Words, width: int, height: int) -> bytes:
    """A noisy colour gradient, as PPM."""
    noise = words.draw.randrange
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            red, green = x * 255 // width + noise(24), y * 255 // height + noise(24)
            pixels += bytes((red & 255, green & 255, (x * y) >> 6 & 255))
    return b"P6 %d %d 255\n" % (width, height) + bytes(pixels)


def book(words: Words, pages: int) -> bytes:
    """Pages of text, coloured curves and an image, as PDF."""

    def stream(entries: bytes, content: bytes) -> bytes:
        head = b"<< %s/Length %d >>\nstream\n" % (entries, len(content))
        return head + content + (b"" if content.endswith(b"\n") else b"\n") + b"endstream"

    number = words.draw.randint
    pixels = bytes((x ^ y ^ c * 40) & 255 for y in range(256) for x in range(256) for c in range(3))
    image = b"/Type /XObject /Subtype /Image /Width 256 /Height 256 /ColorSpace /DeviceRGB"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
        stream(image + b" /BitsPerComponent 8 /Filter /FlateDecode ", zlib.compress(pixels)),
    ]
    kids = []
    for _ in range(pages):
        lines = " ".join(f"({words.sentence(10)}) Tj T*" for _ in range(45))
        parts = [f"BT /F1 10 Tf 12 TL 50 780 Td {lines} ET\n"]
        for _ in range(25):
            colour = " ".join(f"{words.draw.random():.2f}" for _ in range(3))
            points = [f"{number(50, 500)} {number(50, 250)}" for _ in range(4)]
            parts.append(f"{colour} rg {points[0]} m {' '.join(points[1:])} c f\n")
        parts.append("q 120 0 0 120 420 640 cm /I Do Q\n")
        objects.append(stream(b"", "".join(parts).encode()))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources"
            b" << /Font << /F1 3 0 R >> /XObject << /I 4 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), pages)
    text, starts = bytearray(b"%PDF-1.4\n"), []
    for index, content in enumerate(objects, 1):
        starts.append(b"%010d 00000 n \n" % len(text))
        text += b"%d 0 obj\n%s\nendobj\n" % (index, content)
    end, size = len(text), len(objects) + 1
    text += b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(starts)
    text += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, end)
    return bytes(text)


def main() -> None:
    """Writes all inputs."""
    folder = Path(sys.argv[1])
    words = Words()
    (folder / "document.md").write_text(document(words))
    (folder / "page.html").write_text(page(words))
    (folder / "table.csv").write_text(table(words))
    (folder / "picture.ppm").write_bytes(picture(words, 1200, 900))
    (folder / "book.pdf").write_bytes(book(words, 6))
    (folder / "database.sql").write_text(DATABASE)


if __name__ == "__main__":
    main()
