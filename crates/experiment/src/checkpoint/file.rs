//! The layout of checkpoints on disk.
//!
//! ```text
//! file    magic(8) format(4) length(8) subject(length, JSON) xxh3(8) slot*
//! slot    index(4) kind(1) rounds(4) length(8) xxh3(8) content(length)
//! content index(4) kind(1) rounds(4) state
//! ```
//!
//! Numbers are little-endian. The content repeats the fields of its slot, so that each byte of the
//! file is covered by a digest or compared with another. A new file is written next to the old one,
//! flushed to disk and renamed. At any time, one of the two files is complete.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flashgc_base::snapshot::{FORMAT, Fault, Reader, Value, Writer};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

const MAGIC: &[u8; 8] = b"flashgcC";
/// The number of bytes of a slot before its content.
const SLOT: usize = 25;

/// The kind of content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub(super) enum SlotKind {
    /// The state of a run that has not ended.
    UnderWay,
    /// The figures of a finished run.
    Done,
}

/// The entry of one run in a checkpoint file.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) index: u32,
    pub(super) kind: SlotKind,
    /// The number of rounds of the run: its first length and each lengthening. A round that is
    /// under way counts. A finished run has 1.
    pub(super) rounds: u32,
    /// The offset in the file at which the content begins, in bytes.
    start: u64,
    length: u64,
    digest: u64,
}

impl Slot {
    pub(super) fn new(index: u32, kind: SlotKind, rounds: u32) -> Self {
        Self { index, kind, rounds, start: 0, length: 0, digest: 0 }
    }

    fn name(&self) -> (u32, SlotKind, u32) {
        (self.index, self.kind, self.rounds)
    }

    fn header(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(SLOT);
        let mut to = Writer::new(&mut bytes);
        (self.name(), self.length, self.digest).put(&mut to);
        to.finish()?;
        Ok(bytes)
    }
}

/// A slot for a run, and the function that writes the state of that run.
pub(super) type New<'a> = (Slot, &'a dyn Fn(&mut Writer<'_>));

/// A checkpoint file that is open.
pub(super) struct Stored {
    file: Option<File>,
    subject: String,
    slots: Vec<Slot>,
}

fn damaged() -> Fault {
    Fault::new("it is damaged; hint: run anew")
}

/// Converts an I/O error to a fault with a text for users.
pub(super) fn text(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(),
        // The text is `No such file or directory (os error 2)`: the number does not help the user.
        kind => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or(&text);
            let hint = if kind == io::ErrorKind::NotFound { "; hint: check the path" } else { "" };
            Fault::new(format!("{text}{hint}"))
        }
    }
}

impl Stored {
    /// Returns a checkpoint without a file and without slots.
    pub(super) fn nothing() -> Self {
        Self { file: None, subject: String::new(), slots: Vec::new() }
    }

    /// Opens the checkpoint at `path` and checks all of its digests.
    ///
    /// # Errors
    /// Fails if there is no file, if it is no checkpoint, or if it is damaged.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let file = File::open(path).map_err(text)?;
        let length = file.metadata().map_err(text)?.len();
        let mut from = BufReader::new(&file);
        let mut head = [0; 20];
        let is_ours = from.read_exact(&mut head).is_ok() && head.starts_with(MAGIC);
        if !is_ours {
            return Err(Fault::new("it is no checkpoint"));
        }
        let format = u32::from_le_bytes(array(&head[8..12]));
        if format != FORMAT {
            return Err(Fault::new(format!(
                "it has format {format}, expected {FORMAT}: another version of flashgc wrote it"
            )));
        }
        let subject_length = u64::from_le_bytes(array(&head[12..]));
        if subject_length > length {
            return Err(damaged());
        }
        let mut subject = vec![0; subject_length as usize];
        from.read_exact(&mut subject).map_err(text)?;
        let mut digest = [0; 8];
        from.read_exact(&mut digest).map_err(text)?;
        if xxh3_64(&subject) != u64::from_le_bytes(digest) {
            return Err(damaged());
        }
        let mut start = head.len() as u64 + subject_length + 8;
        let mut slots: Vec<Slot> = Vec::new();
        while start < length {
            let slot = read_slot(&mut from, &mut start, length)?;
            if slots.iter().any(|other| other.index == slot.index) {
                return Err(damaged());
            }
            slots.push(slot);
        }
        let subject = String::from_utf8(subject).map_err(|_| damaged())?;
        Ok(Self { file: Some(file), subject, slots })
    }

    pub(super) fn subject(&self) -> &str {
        &self.subject
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Reads the state of run `index`; the checkpoint must have one.
    pub(super) fn read<T>(
        &mut self,
        index: u32,
        take: impl FnOnce(&mut Reader<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let slot = self.slots.iter().find(|slot| slot.index == index).ok_or_else(damaged)?;
        let mut file = self.file.as_ref().ok_or_else(damaged)?;
        file.seek(SeekFrom::Start(slot.start)).map_err(text)?;
        let mut from = Reader::new(&mut file, slot.length);
        if <(u32, SlotKind, u32)>::take(&mut from)? != slot.name() {
            return Err(damaged());
        }
        let taken = take(&mut from)?;
        from.end()?;
        Ok(taken)
    }

    /// Writes a checkpoint of `subject` to `path`. The new file has the slots of `self` and the
    /// slot `new`, which replaces an older slot of the same run.
    ///
    /// # Errors
    /// Fails if the file cannot be written. The old file at `path` is then unchanged.
    pub(super) fn rewritten(
        &self,
        path: &Path,
        subject: &str,
        new: Option<New<'_>>,
    ) -> io::Result<Self> {
        let beside = beside(path);
        let written = self.write(&beside, subject, new).and_then(|stored| {
            std::fs::rename(&beside, path)?;
            flush_folder(path);
            Ok(stored)
        });
        if written.is_err() {
            // If this leftover cannot be removed, nothing can be done about it.
            let _ = std::fs::remove_file(&beside);
        }
        written
    }

    fn write(&self, path: &Path, subject: &str, new: Option<New<'_>>) -> io::Result<Self> {
        let mut file =
            File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        let mut head = Vec::new();
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&FORMAT.to_le_bytes());
        head.extend_from_slice(&(subject.len() as u64).to_le_bytes());
        head.extend_from_slice(subject.as_bytes());
        head.extend_from_slice(&xxh3_64(subject.as_bytes()).to_le_bytes());
        file.write_all(&head)?;
        let mut at = head.len() as u64;
        let mut slots = Vec::new();
        for slot in &self.slots {
            if new.as_ref().is_some_and(|(new, _)| new.index == slot.index) {
                continue;
            }
            let mut old = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
            old.seek(SeekFrom::Start(slot.start))?;
            file.write_all(&slot.header()?)?;
            if io::copy(&mut old.take(slot.length), &mut file)? != slot.length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            slots.push(Slot { start: at + SLOT as u64, ..slot.clone() });
            at += SLOT as u64 + slot.length;
        }
        if let Some((mut slot, save)) = new {
            file.write_all(&[0; SLOT])?;
            let mut to = Writer::new(&mut file);
            slot.name().put(&mut to);
            save(&mut to);
            (slot.length, slot.digest) = to.finish()?;
            slot.start = at + SLOT as u64;
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&slot.header()?)?;
            slots.push(slot);
        }
        file.sync_all()?;
        Ok(Self { file: Some(file), subject: subject.to_string(), slots })
    }
}

/// Reads the slot at `start`, checks its digest, and sets `start` to the end of the slot.
fn read_slot(from: &mut impl Read, start: &mut u64, end: u64) -> Result<Slot, Fault> {
    let mut header = [0; SLOT];
    from.read_exact(&mut header).map_err(text)?;
    let mut bytes = header.as_slice();
    let taken = <((u32, SlotKind, u32), u64, u64)>::take(&mut Reader::new(&mut bytes, SLOT as u64));
    let ((index, kind, rounds), length, digest) = taken.map_err(|_| damaged())?;
    *start += SLOT as u64;
    if length > end - *start {
        return Err(damaged());
    }
    let slot = Slot { index, kind, rounds, start: *start, length, digest };
    *start += length;
    let mut hash = Xxh3Default::new();
    let mut content = from.take(length);
    let mut buffer = vec![0; 1 << 16];
    let mut first = Vec::new();
    loop {
        let count = content.read(&mut buffer).map_err(text)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
        first.extend_from_slice(&buffer[..count.min(9 - first.len().min(9))]);
    }
    let mut bytes = first.as_slice();
    let name = <(u32, SlotKind, u32)>::take(&mut Reader::new(&mut bytes, first.len() as u64));
    if content.limit() > 0 || hash.digest() != digest || name != Ok(slot.name()) {
        return Err(damaged());
    }
    Ok(slot)
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

/// Returns the path of the new file, before it is renamed to `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Flushes the renaming of `path` to disk, if the system can do so. If a power failure undoes the
/// renaming, the old file at `path` is still complete.
fn flush_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
}

/// Returns the XXH3 of a file, in hexadecimal digits.
pub(super) fn digest_of(path: &Path) -> io::Result<String> {
    let mut hash = Xxh3Default::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:016x}", hash.digest())),
            count => hash.update(&buffer[..count]),
        }
    }
}
