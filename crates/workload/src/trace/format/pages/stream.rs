//! Reads a `pages` trace from start to end, compressed or not, and checks all of it.

use super::layout::{self, Header, PIECE, Piece};
use crate::Op;
use crate::trace::error::{Fault, Place, TraceError};
use crate::trace::format::ReadOptions;
use crate::trace::input::Input;
use crate::trace::lines::{Counts, Decoder, Recorded};
use crate::trace::request::Request;

/// The hint for a damaged file.
const DAMAGED_HINT: &str = "fetch the file again, or record it again";

pub(in crate::trace::format) fn open(
    mut input: Input,
    _options: &ReadOptions,
) -> Result<Box<dyn Decoder>, TraceError> {
    let mut bytes = [0; PIECE];
    let filled = input.fill(&mut bytes)?;
    let header = if filled < PIECE {
        Err(format!("found {filled} bytes, expected a header of {PIECE}: the file is cut off"))
    } else {
        Header::parse(&bytes)
    };
    let header = header.map_err(|message| {
        let hint = if message.contains("version") { "use a newer flashgc" } else { DAMAGED_HINT };
        TraceError::new(&input.path, Fault::Damaged, message).at(Place::Byte(0)).hint(hint)
    })?;
    let payload = Vec::new();
    Ok(Box::new(Stream { input, header, payload, blocks: 0, references: 0, end: None }))
}

struct Stream {
    input: Input,
    header: Header,
    payload: Vec<u8>,
    blocks: u64,
    references: u64,
    /// The number of accesses that all references stand for; `None` until the end is reached.
    end: Option<u64>,
}

impl Stream {
    fn damaged(&self, byte: u64, message: &str) -> TraceError {
        TraceError::new(&self.input.path, Fault::Damaged, message)
            .at(Place::Block { block: self.blocks + 1, byte })
            .hint(DAMAGED_HINT)
    }

    fn finish(&mut self, byte: u64, references: u64, accesses: u64) -> Result<(), TraceError> {
        if references != self.references {
            return Err(self.damaged(byte, "the end does not fit the blocks: the file is damaged"));
        }
        if self.input.fill(&mut [0])? > 0 {
            return Err(self.damaged(byte, "found more bytes after the end of the references"));
        }
        self.end = Some(accesses);
        Ok(())
    }
}

impl Decoder for Stream {
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        if self.end.is_some() {
            return Ok(false);
        }
        let byte = self.input.position;
        let cut = "found the end of the file, expected more: the file is cut off";
        let mut bytes = [0; PIECE];
        if self.input.fill(&mut bytes)? < PIECE {
            return Err(self.damaged(byte, cut));
        }
        let piece = Piece::parse(&bytes).map_err(|message| self.damaged(byte, message))?;
        let length = if let Piece::Block { payload, .. } = piece { payload as usize } else { 0 };
        self.payload.resize(length, 0);
        if self.input.fill(&mut self.payload)? < length {
            return Err(self.damaged(byte, cut));
        }
        if !layout::fits(&bytes, &self.payload) {
            return Err(self.damaged(byte, "the checksum does not fit: the file is damaged"));
        }
        let references = match piece {
            Piece::Block { references, .. } => references,
            Piece::End { references, accesses } => {
                return self.finish(byte, references, accesses).map(|()| false);
            }
        };
        let before = out.len();
        let size = u64::from(self.header.page_size);
        let decoded = layout::decode(references, &self.payload, size, |reference| {
            let op = if reference.write { Op::Write } else { Op::Read };
            let offset = (reference.page * size) as i64;
            out.push(Request { offset, size, op, ..Request::default() });
        });
        if decoded.is_none() {
            out.truncate(before);
            let message = "the block's references make no sense: the file was written wrongly";
            return Err(self.damaged(byte, message));
        }
        self.references += u64::from(references);
        self.blocks += 1;
        Ok(true)
    }

    fn counts(&self) -> Counts {
        Counts::default()
    }

    fn note(&self) -> Option<String> {
        let filter = self.header.filter;
        (filter > 0).then(|| {
            format!(
                "the recording leaves out references that make no difference to an LRU memory of \
                 {filter} pages or more; use a memory of at least {filter} pages"
            )
        })
    }

    fn position(&self) -> u64 {
        self.input.position
    }

    fn recorded(&self) -> Option<Recorded> {
        let Header { page_size, filter } = self.header;
        Some(Recorded { page_size: page_size.into(), filter, accesses: self.end.unwrap_or(0) })
    }
}
