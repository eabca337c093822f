//! Memory references that Valgrind's lackey prints. Reads lines; knows nothing of files.

use super::{Format, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "lackey",
    summary: "memory references of a program (valgrind --tool=lackey --trace-mem=yes)",
    columns: "I (instruction fetch) or L (load) or S (store) or M (modify), address (hexadecimal), \
              size (bytes)",
    example: " S 1fff000758,8",
    detection: "lines of I, L, S or M, a hexadecimal address, a comma and a size",
    traps: "fetches and loads are reads, a modify is a write; there are no times: all are 0; \
            Valgrind's own lines, which start with == or --, are ignored",
    single_device: true,
    references: true,
    ..Format::of_lines::<Lackey>()
};

#[derive(Default)]
struct Lackey;

const ADDRESS: &str = "an address, a hexadecimal number below 2^63";

impl TextFormat for Lackey {
    const COLUMNS: &'static [&'static str] = &["kind", "address,size"];
    const COMMA: bool = false;

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let (op, at) = match line {
            [b'I', b' ', b' ', ..] => (Op::Read, 3),
            [b' ', b'L', b' ', ..] => (Op::Read, 3),
            [b' ', b'S' | b'M', b' ', ..] => (Op::Write, 3),
            [b'=', b'=', ..] | [b'-', b'-', ..] => return Ok(None),
            _ => return Err(BadField::new(usize::from(line.starts_with(b" ")), "I, L, S or M")),
        };
        let mut at = Cursor { line, at };
        let address = hexadecimal(&mut at)?;
        at.comma("a comma after the address")?;
        let size_at = at.at;
        let size = at.integer("a size, a whole number of bytes")?;
        at.end("the end of the line after the size")?;
        let offset = Scaled { value: address, unit: 1, at: 3 };
        request(0, op, 0, offset, Scaled { value: size, unit: 1, at: size_at })
    }
}

#[inline]
fn hexadecimal(at: &mut Cursor) -> Result<u64, BadField> {
    let start = at.at;
    let mut value = 0u64;
    while let Some(digit) = at.peek().and_then(|byte| char::from(byte).to_digit(16)) {
        if value >> 59 != 0 {
            return Err(BadField::range(start, ADDRESS));
        }
        value = value << 4 | u64::from(digit);
        at.at += 1;
    }
    if at.at == start { at.bad(start, ADDRESS) } else { Ok(value) }
}
