//! Splits a trace of many volumes in one pass, with memory that does not grow with its length. The
//! requests of each volume go to a spool file, from which each volume can be written as its own
//! trace. This module knows nothing of drives.
//!
//! The requests of a volume are coded as in flashgc's own format. The spool is one file without a
//! name. It has pieces of the volumes in any order; each piece has the position of the previous
//! piece of its volume. The memory has only the volumes and the requests that wait for the spool,
//! at most 32 MiB. No file is left, however the process ends.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use flashgc_base::sync::lock;
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_128;

use super::error::{Fault, TraceError};
use super::format::ReadOptions;
use super::format::native::NativeWriter;
use super::format::native::layout::{BLOCK_REQUESTS, Block, u32_at, u64_at};
use super::reader::{Progress, TraceReader, cancelled};
use super::request::{self, Coding, Declared, Fields, Request};
use crate::Op;

/// The rule by which requests belong to volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A volume has all requests to one device number, in any of the files.
    Volume,
    /// A volume is a file, with all its devices.
    File,
}

/// Options of a split.
#[derive(Clone, Debug)]
pub struct SplitOptions {
    /// Options for reading the files.
    pub read: ReadOptions,
    /// The rule by which requests belong to volumes.
    pub by: By,
    /// The largest number of bytes of requests that wait in memory for the spool.
    pub memory: usize,
}

impl SplitOptions {
    /// The default of [`Self::memory`]: with 10^4 volumes, about 400 requests of each are written
    /// to the spool at once.
    pub const MEMORY: usize = 32 << 20;
}

/// The position that stands for no previous piece.
const NONE: u64 = u64::MAX;
/// The number of bytes before the requests of a piece in the spool: position of the previous piece,
/// number of bytes, number of requests, time of the first request.
const PIECE: usize = 24;

/// A volume of a trace.
#[derive(Debug)]
pub struct Volume {
    /// The device's number in the trace, or the number of the file from 0.
    pub number: u32,
    /// The number of reads.
    pub reads: u64,
    /// The number of writes.
    pub writes: u64,
    /// The number of discards.
    pub discards: u64,
    /// The digest of all requests of the volume, in order. It does not depend on other parts of the
    /// trace.
    pub digest: u128,
    declared: Declared,
    /// The position of the volume's last piece in the spool.
    last: u64,
    /// The requests that are not in the spool yet.
    open: Block,
}

impl Volume {
    fn new(number: u32, declared: Declared) -> Self {
        let address_space = declared.address_space.unwrap_or(0).to_le_bytes();
        Self {
            number,
            reads: 0,
            writes: 0,
            discards: 0,
            digest: xxh3_128(&address_space),
            declared,
            last: NONE,
            open: Block::new(),
        }
    }

    /// Counts a request and adds it to the digest.
    fn count(&mut self, request: &Request) {
        match request.op {
            Op::Read => self.reads += 1,
            Op::Write => self.writes += 1,
            Op::Trim => self.discards += 1,
            Op::Dirty | Op::Clean | Op::Flush => {}
        }
        let mut bytes = [0; 45 + 8 * request::COUNT];
        bytes[..16].copy_from_slice(&self.digest.to_le_bytes());
        bytes[16..24].copy_from_slice(&request.time_ns.to_le_bytes());
        bytes[24..32].copy_from_slice(&request.offset.to_le_bytes());
        bytes[32..40].copy_from_slice(&request.size.to_le_bytes());
        bytes[40..44].copy_from_slice(&request.device.to_le_bytes());
        bytes[44] = request.op as u8;
        let mut end = 45;
        // The digest always includes streams. In a volume without streams, each request has the
        // value for no stream.
        for field in self.declared.fields.with(Fields::STREAM).each() {
            let value = (field.get)(request).to_le_bytes();
            let width = if field.coding == Coding::Byte { 1 } else { 8 };
            if field.is_replayed {
                bytes[end..end + width].copy_from_slice(&value[..width]);
                end += width;
            }
        }
        self.digest = xxh3_128(&bytes[..end]);
    }
}

/// Traces that are being split. Call `add` for each trace, then `finish`.
#[derive(Debug)]
pub struct Splitter {
    options: SplitOptions,
    folder: PathBuf,
    volumes: Vec<Volume>,
    slots: FxHashMap<u32, usize>,
    spool: BufWriter<File>,
    /// The number of bytes in the spool.
    bytes: u64,
    /// The number of bytes of memory for requests that wait.
    memory: usize,
    files: u32,
    /// The time of the latest request so far.
    end: u64,
    skipped: u64,
    notes: Vec<String>,
}

impl Splitter {
    /// Makes the spool file in `folder`. The file has no name, so none is left, however the process
    /// ends.
    ///
    /// # Errors
    /// No file can be created in the folder.
    pub fn new(folder: &Path, options: SplitOptions) -> Result<Self, TraceError> {
        let spool = tempfile::tempfile_in(folder).map_err(|error| unwritten(folder, &error))?;
        Ok(Self {
            options,
            folder: folder.to_owned(),
            volumes: Vec::new(),
            slots: FxHashMap::default(),
            spool: BufWriter::with_capacity(1 << 18, spool),
            bytes: 0,
            memory: 0,
            files: 0,
            end: 0,
            skipped: 0,
            notes: Vec::new(),
        })
    }

    /// Reads the trace at `path` once, and calls `go_on` with the progress between blocks. When
    /// splitting by volume, if the times of a trace begin before the end of the previous trace,
    /// they are moved to follow it.
    ///
    /// # Errors
    /// The reader finds a fault, the trace has references to memory, the spool cannot be written,
    /// or `go_on` returns `false` ([`Fault::Cancelled`]).
    pub fn add(
        &mut self,
        path: &Path,
        mut go_on: impl FnMut(&Progress) -> bool,
    ) -> Result<(), TraceError> {
        let mut reader = TraceReader::open_with(path, &self.options.read, &mut go_on)?;
        if reader.format().references {
            let message = format!(
                "found references to memory ({}), expected requests to volumes",
                reader.format().name
            );
            return Err(TraceError::new(path, Fault::Option, message)
                .hint("flashgc run takes references to memory"));
        }
        let (progress, declared) = (reader.progress(), reader.declared());
        let (file, by) = (self.files, self.options.by);
        self.files += 1;
        let mut begin = None;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            for request in &mut block {
                if by == By::Volume {
                    let goes_back = request.time_ns < self.end;
                    let moved =
                        begin.get_or_insert(if file > 0 && goes_back { self.end } else { 0 });
                    request.time_ns = request.time_ns.saturating_add(*moved);
                }
                let key = if by == By::Volume { request.device } else { file };
                self.push(key, request, declared)
                    .map_err(|error| unwritten(&self.folder, &error))?;
            }
            let times = block.iter().map(|request| request.time_ns);
            self.end = times.fold(self.end, u64::max);
            if !go_on(&progress) {
                return Err(cancelled(path));
            }
        }
        self.skipped += reader.skipped();
        for note in reader.notes() {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(())
    }

    fn push(&mut self, key: u32, request: &Request, declared: Declared) -> io::Result<()> {
        let slot = *self.slots.entry(key).or_insert_with(|| {
            self.volumes.push(Volume::new(key, declared));
            self.volumes.len() - 1
        });
        let volume = &mut self.volumes[slot];
        volume.count(request);
        let before = volume.open.memory();
        volume.open.push(request, volume.declared.fields);
        self.memory += volume.open.memory() - before;
        if volume.open.requests == BLOCK_REQUESTS {
            self.spool(slot)?;
        }
        if self.memory > self.options.memory {
            self.spool_all()?;
        }
        Ok(())
    }

    fn spool_all(&mut self) -> io::Result<()> {
        (0..self.volumes.len()).try_for_each(|slot| self.spool(slot))
    }

    /// Writes the waiting requests of a volume to the spool as a piece, and frees their memory.
    fn spool(&mut self, slot: usize) -> io::Result<()> {
        let volume = &mut self.volumes[slot];
        if volume.open.requests == 0 {
            return Ok(());
        }
        let block = std::mem::replace(&mut volume.open, Block::new());
        self.memory -= block.memory();
        let length: usize = block.parts().map(<[u8]>::len).sum();
        self.spool.write_all(&volume.last.to_le_bytes())?;
        self.spool.write_all(&(length as u32).to_le_bytes())?;
        self.spool.write_all(&block.requests.to_le_bytes())?;
        self.spool.write_all(&block.first_time.to_le_bytes())?;
        block.parts().try_for_each(|part| self.spool.write_all(part))?;
        volume.last = self.bytes;
        self.bytes += (PIECE + length) as u64;
        Ok(())
    }

    /// Returns the volumes of all traces, sorted by number.
    ///
    /// # Errors
    /// The spool cannot be written, for example because the disk is full.
    pub fn finish(mut self) -> Result<Volumes, TraceError> {
        let folder = self.folder.clone();
        let fault = |error: io::Error| unwritten(&folder, &error);
        self.spool_all().map_err(fault)?;
        let spool = self.spool.into_inner().map_err(|error| fault(error.into_error()))?;
        self.volumes.sort_by_key(|volume| volume.number);
        Ok(Volumes {
            list: self.volumes,
            spool: Mutex::new(spool),
            bytes: self.bytes,
            skipped: self.skipped,
            notes: self.notes,
        })
    }
}

/// Makes the error for a spool in `folder` that could not be written.
fn unwritten(folder: &Path, error: &io::Error) -> TraceError {
    TraceError::unwritten(folder, error)
        .hint("free some space, or give another folder by the variable TMPDIR")
}

/// The volumes of a trace that was split, and the spool with their requests.
#[derive(Debug)]
pub struct Volumes {
    list: Vec<Volume>,
    spool: Mutex<File>,
    bytes: u64,
    skipped: u64,
    notes: Vec<String>,
}

impl Volumes {
    /// Returns the volumes, sorted by number.
    pub fn list(&self) -> &[Volume] {
        &self.list
    }

    /// Returns the size of the spool in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of bad lines or records left out.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns notes for the user on how the files were read, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Writes the volume at `index` of the list as its own trace, in the `flashgc` format.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub fn write(&self, index: usize, path: &Path) -> Result<(), TraceError> {
        let volume = &self.list[index];
        let copy = || -> io::Result<()> {
            let out = BufWriter::new(File::create(path)?);
            let mut writer = NativeWriter::new(out, volume.declared)?;
            let mut payload = Vec::new();
            for piece in self.pieces(volume)?.into_iter().rev() {
                payload.resize(piece.length as usize, 0);
                self.read(piece.at + PIECE as u64, &mut payload)?;
                writer.write_coded(piece.requests, piece.first_time, &payload)?;
            }
            writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
            Ok(())
        };
        let folder = path.parent().unwrap_or(path);
        copy().map_err(|error| unwritten(folder, &error))
    }

    /// Returns the pieces of a volume, with the last one first.
    fn pieces(&self, volume: &Volume) -> io::Result<Vec<Piece>> {
        let (mut pieces, mut at) = (Vec::new(), volume.last);
        while at != NONE {
            let mut head = [0; PIECE];
            self.read(at, &mut head)?;
            pieces.push(Piece {
                at,
                length: u32_at(&head, 8),
                requests: u32_at(&head, 12),
                first_time: u64_at(&head, 16),
            });
            at = u64_at(&head, 0);
        }
        Ok(pieces)
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut spool = lock(&self.spool);
        spool.seek(SeekFrom::Start(at))?;
        spool.read_exact(bytes)
    }
}

/// The position of a piece in the spool, and the contents of its header.
struct Piece {
    at: u64,
    length: u32,
    requests: u32,
    first_time: u64,
}
