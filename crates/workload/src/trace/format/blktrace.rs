//! The binary files of Linux blktrace: one for each CPU, or merged by `blkparse -d`. Decodes
//! records.

use super::events::{Flushes, Requeues};
use super::records::{BadValue, ByteOrder, RecordFormat, Records, fetch_again};
use super::{Format, SECTOR, Sample, Scaled, events, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::TraceError;
use crate::trace::format::ReadOptions;
use crate::trace::input::Input;
use crate::trace::lines::Decoder;
use crate::trace::parse::BadField;

pub(super) static FORMAT: Format = Format {
    name: "blktrace",
    summary: "binary files of Linux blktrace, of one CPU or merged by blkparse -d",
    columns: "records of 48 bytes in the recording machine's byte order: u32 magic 0x65617400 + \
              version 7, u32 sequence number, u64 time (ns), u64 sector (512 B), u32 bytes, u32 \
              action and flags, u32 process id, u32 device, u32 CPU, u16 error, u16 bytes of data \
              behind the record",
    example: "",
    detection: "the magic 0x656174 in the first 4 bytes, in either byte order",
    traps: "only one action is read, as in blkparse's text: D or else Q or else C, or the one that \
            --blkparse-action names. blktrace writes a file for each CPU, which holds a part of the \
            requests: merge them with blkparse -i NAME -d merged.bin, then read that file. Times \
            are the kernel's clock in files of blktrace and start near 0 in merged ones. The \
            device is major * 2^20 + minor. Flushes are read as in blkparse's text. Messages and \
            SCSI commands are ignored",
    single_device: false,
    references: false,
    sniff,
    open,
};

/// The size of a record in bytes, without the data that may follow it.
const RECORD: usize = 48;
/// The offsets of a record's fields, in bytes.
const TIME: usize = 8;
const SECTOR_AT: usize = 16;
const BYTES: usize = 24;
const ACTION: usize = 28;
const DEVICE: usize = 36;
const CPU: usize = 40;
const DATA: usize = 46;

/// The categories of an action, in its upper 16 bits (`blktrace_api.h`).
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const COMMAND: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;

/// The code of the action that gives a request back from the driver.
const REQUEUE: u32 = 6;
/// The actions with their codes, which are in the lowest 8 bits. The next higher bit marks a
/// message to a control group.
const LETTERS: [(char, u32); 5] = [('Q', 1), ('G', 4), ('D', 7), ('C', 8), ('I', 12)];

struct Blktrace {
    order: ByteOrder,
    action: char,
    code: u32,
    /// The CPU of all events so far; `Some(None)` if there are several CPUs.
    cpu: Option<Option<u32>>,
    flushes: Flushes,
    requeues: Requeues,
}

impl Blktrace {
    fn new(chosen: Option<char>, sample: &[u8]) -> Self {
        let order = match sample {
            [0x65, 0x61, 0x74, ..] => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        let reader = |action: char| {
            let code =
                LETTERS.iter().find(|(letter, _)| *letter == action).map_or(0, |pair| pair.1);
            let (flushes, requeues) = (Flushes::default(), Requeues::default());
            Self { order, action, code, cpu: None, flushes, requeues }
        };
        reader(events::choose(chosen, |action| super::records::sniff(reader(action), sample) > 0))
    }
}

impl RecordFormat for Blktrace {
    const NAME: &'static str = "blktrace";
    const LEAST: usize = RECORD;

    fn length(&self, head: &[u8]) -> Result<usize, BadValue> {
        let magic = self.order.u32_at(head, 0);
        if magic >> 8 != 0x0065_6174 {
            return Err(BadValue {
                value: format!("{magic:#010x}"),
                expected: "the magic 0x65617407 of a record",
                hint: fetch_again(),
            });
        }
        if magic & 0xff != 7 {
            return Err(BadValue {
                value: format!("a record of version {}", magic & 0xff),
                expected: "version 7",
                hint: "print it with the blkparse that belongs to it, and read the text".into(),
            });
        }
        Ok(RECORD + usize::from(self.order.u16_at(head, DATA)))
    }

    fn parse(&mut self, record: &[u8]) -> Result<Option<Request>, BadField> {
        let action = self.order.u32_at(record, ACTION);
        if action & NOTIFY != 0 {
            return Ok(None);
        }
        let cpu = self.order.u32_at(record, CPU);
        self.cpu = match self.cpu {
            None => Some(Some(cpu)),
            Some(known) => Some(known.filter(|known| *known == cpu)),
        };
        let is_requeue = action & 0xff == REQUEUE && self.action == 'D';
        if (action & 0xff != self.code && !is_requeue) || action & COMMAND != 0 {
            return Ok(None);
        }
        let (time_ns, device) =
            (self.order.u64_at(record, TIME), self.order.u32_at(record, DEVICE));
        let (flush, bytes) = (action & FLUSH != 0, self.order.u32_at(record, BYTES));
        if bytes == 0 {
            if is_requeue {
                return Ok(None);
            }
            self.flushes.note(flush, false, time_ns, device);
            return Ok(None);
        }
        let op = match action {
            discard if discard & DISCARD != 0 => Op::Trim,
            write if write & WRITE != 0 => Op::Write,
            _ => Op::Read,
        };
        let sector = self.order.u64_at(record, SECTOR_AT);
        let offset = Scaled { value: sector, unit: SECTOR, at: SECTOR_AT };
        let size = Scaled { value: bytes.into(), unit: 1, at: BYTES };
        let request = request(time_ns, op, device, offset, size)?;
        if let (true, Some(request)) = (is_requeue, request) {
            self.requeues.note(&request);
            return Ok(None);
        }
        let issued = request.and_then(|request| self.requeues.issue(request));
        if request.is_some() && issued.is_none() {
            return Ok(None);
        }
        let request = issued;
        self.flushes.note(flush, op == Op::Write && action & FUA != 0, time_ns, device);
        Ok(request)
    }

    fn flushes(&mut self) -> [Option<Request>; 2] {
        let Flushes { before, behind } = std::mem::take(&mut self.flushes);
        [before, behind]
    }

    fn number(&self, record: &[u8], at: usize) -> u64 {
        if at == SECTOR_AT {
            self.order.u64_at(record, at)
        } else {
            self.order.u32_at(record, at).into()
        }
    }

    fn note(&self) -> Option<String> {
        let (action, again) = (self.action, self.requeues.said());
        Some(match self.cpu {
            Some(Some(cpu)) => format!(
                "events with action {action} are read{again}; all are of CPU {cpu}: if blktrace wrote files of \
                 other CPUs too, merge them with blkparse -d"
            ),
            _ => format!("events with action {action} are read{again}"),
        })
    }
}

fn sniff(sample: &Sample) -> usize {
    // A file of another version also counts, so that opening it gives the right error.
    match sample.bytes {
        [0x65, 0x61, 0x74, _, ..] | [_, 0x74, 0x61, 0x65, ..] => super::MARKED,
        _ => 0,
    }
}

fn open(input: Input, options: &ReadOptions) -> Result<Box<dyn Decoder>, TraceError> {
    let format = Blktrace::new(options.blkparse_action, input.sample());
    Records::open(input, format, options.on_bad_line, 0)
}
