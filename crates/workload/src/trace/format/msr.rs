//! MSR Cambridge CSV. Reads lines; knows nothing of files.

use super::{Format, operation, request, scaled};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "msr",
    summary: "MSR Cambridge CSV (SNIA IOTTA), one volume a file",
    columns: "timestamp (Windows FILETIME: 100 ns since 1601), host, disk number, Read or Write, \
              offset (bytes), size (bytes), response time (100 ns)",
    example: "128166400000000000,web,0,Read,8192000,24576,113700",
    detection: "7 columns separated by commas, semicolons or tabs, the fourth Read or Write",
    traps: "columns may have blanks around them and stand in quotes; times are kept as nanoseconds since 1601. The device is the disk number. If a file \
            mixes hosts, a disk of the second host is 65536 + disk, and so on in order of \
            appearance",
    ..Format::of_lines::<Msr>()
};

/// The hosts seen so far, in order of appearance. Nearly all files have one host, so a line's host
/// is compared with the `current` host first.
#[derive(Default)]
struct Msr {
    hosts: Vec<Vec<u8>>,
    current: usize,
}

/// The number of device numbers that are reserved for the disks of one host. The numbers of the
/// next host's disks follow.
const DISKS: u64 = 1 << 16;

impl Msr {
    #[inline]
    fn host(&mut self, name: &[u8]) -> u64 {
        if self.hosts.get(self.current).is_none_or(|host| host != name) {
            self.change_host(name);
        }
        self.current as u64
    }

    #[cold]
    fn change_host(&mut self, name: &[u8]) {
        self.current = self.hosts.iter().position(|host| host == name).unwrap_or_else(|| {
            self.hosts.push(name.to_owned());
            self.hosts.len() - 1
        });
    }
}

impl TextFormat for Msr {
    const COLUMNS: &'static [&'static str] =
        &["timestamp", "host", "disk", "type", "offset", "size", "response"];
    const COMMA: bool = true;
    const NAMES: &'static [&'static str] =
        &["timestamp", "host", "disk", "type", "offset_bytes", "size_bytes", "response"];

    fn separates(byte: &u8) -> bool {
        b",;\t".contains(byte)
    }

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let mut at = Cursor::new(line);
        let ticks = at.integer("a timestamp, a whole number of 100 ns steps")?;
        let time_ns =
            ticks.checked_mul(100).ok_or(BadField::new(0, "a timestamp before the year 2185"))?;
        at.comma("a comma after the timestamp")?;
        let host = at.csv_field();
        at.comma("a comma after the host")?;
        let disk_at = at.at;
        let disk = at.small("a disk number")?;
        at.comma("a comma after the disk number")?;
        let op = if line[at.at..].starts_with(b"Write,") {
            at.at += 5;
            Op::Write
        } else if line[at.at..].starts_with(b"Read,") {
            at.at += 4;
            Op::Read
        } else {
            let start = at.at;
            let bad = BadField::new(start, "Read or Write");
            operation(at.csv_field()).filter(|op| *op != Op::Trim).ok_or(bad)?
        };
        at.comma("a comma after the type")?;
        let offset = scaled(&mut at, 1, "an offset, a whole number of bytes")?;
        at.comma("a comma after the offset")?;
        let size = scaled(&mut at, 1, "a size, a whole number of bytes")?;
        at.comma("a comma after the size")?;
        at.csv_field();
        at.end("the end of the line after the response time")?;
        let device = u32::try_from(self.host(host) * DISKS + u64::from(disk))
            .ok()
            .filter(|_| u64::from(disk) < DISKS)
            .ok_or(BadField::new(disk_at, "at most 65536 hosts of 65536 disks"))?;
        request(time_ns, op, device, offset, size)
    }
}
