//! Reads the regular files of a tar archive, one after the other, as one stream. The `tar` crate
//! decodes the headers. The reader of that crate is not used: it borrows the archive while a member
//! is read, and the reader in this file must own its input.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use flashgc_base::sync::lock;

const RECORD: usize = 512;

/// Returns `true` if the data begin with a tar header whose checksum is right.
pub(crate) fn starts_archive(head: &[u8]) -> bool {
    head.len() >= RECORD && header(&head[..RECORD]).is_some()
}

fn header(record: &[u8]) -> Option<&tar::Header> {
    if &record[257..262] != b"ustar" {
        return None;
    }
    let header = tar::Header::from_byte_slice(record);
    // For the checksum, its own eight bytes count as blanks.
    let sum = record.iter().enumerate().fold(0u32, |sum, (at, &byte)| {
        sum + u32::from(if (148..156).contains(&at) { b' ' } else { byte })
    });
    (header.cksum().ok()? == sum).then_some(header)
}

/// A reader of the members of an archive. Two records of NUL bytes, or the end of the data, end the
/// archive.
///
/// Some public traces have archives that were truncated and then padded with NUL bytes. If a member
/// has only NUL bytes from some point to the end of the data, they count as padding, and a note
/// says so. A truncated archive without padding is an error.
pub(crate) struct Members<R> {
    inner: R,
    /// The number of bytes of the current member that were not read yet.
    remaining: u64,
    /// The number of NUL bytes between the end of the member and the next record.
    padding: u64,
    /// The number of NUL bytes that were read and not handed out, because they may be the padding
    /// of a truncated archive.
    held: u64,
    /// The bytes that were read and not handed out yet. They follow the `held` NUL bytes.
    ahead: Vec<u8>,
    given: usize,
    ended: bool,
    notes: Arc<Mutex<Vec<String>>>,
}

impl<R: Read> Members<R> {
    pub fn new(inner: R, notes: Arc<Mutex<Vec<String>>>) -> Self {
        let ahead = Vec::new();
        Self { inner, remaining: 0, padding: 0, held: 0, ahead, given: 0, ended: false, notes }
    }

    /// Moves to the next regular file. Returns `false` at the end of the archive.
    fn next_member(&mut self) -> io::Result<bool> {
        loop {
            io::copy(&mut self.inner.by_ref().take(self.padding), &mut io::sink())?;
            self.padding = 0;
            let mut record = Vec::with_capacity(RECORD);
            self.inner.by_ref().take(RECORD as u64).read_to_end(&mut record)?;
            if record.iter().all(|&byte| byte == 0) {
                return Ok(false);
            }
            if record.len() < RECORD {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some(header) = header(&record) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "no member header"));
            };
            let size = header.entry_size()?;
            let padding = size.next_multiple_of(RECORD as u64) - size;
            if header.entry_type().is_file() {
                (self.remaining, self.padding) = (size, padding);
                return Ok(true);
            }
            // Folders, links and the extended headers of the next member have no requests.
            let skipped = io::copy(&mut self.inner.by_ref().take(size), &mut io::sink())?;
            if skipped < size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.padding = padding;
        }
    }

    /// Reads more of the member into `ahead`. At the end of the data, the held NUL bytes become
    /// padding.
    fn read_ahead(&mut self, capacity: usize) -> io::Result<()> {
        let wanted = (capacity as u64).min(self.remaining) as usize;
        self.ahead.resize(wanted, 0);
        self.given = 0;
        let count = self.inner.read(&mut self.ahead)?;
        self.ahead.truncate(count);
        self.remaining -= count as u64;
        if count == 0 {
            if self.held == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let (held, missing) = (self.held, self.remaining);
            let note = format!(
                "the tar archive was cut short: {held} NUL bytes at its end are taken as padding, \
                 {missing} bytes of the member are missing"
            );
            lock(&self.notes).push(note);
            self.held = 0;
            self.ended = true;
        }
        Ok(())
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.ended {
                return Ok(0);
            }
            let pending = &self.ahead[self.given..];
            if let Some(solid) = pending.iter().rposition(|&byte| byte != 0).map(|last| last + 1) {
                // Other data follow the held NUL bytes, so these were data, too.
                if self.held > 0 {
                    let count = (self.held.min(buffer.len() as u64)) as usize;
                    buffer[..count].fill(0);
                    self.held -= count as u64;
                    return Ok(count);
                }
                let count = solid.min(buffer.len());
                buffer[..count].copy_from_slice(&pending[..count]);
                self.given += count;
                return Ok(count);
            }
            self.held += pending.len() as u64;
            self.ahead.clear();
            self.given = 0;
            if self.remaining > 0 {
                self.read_ahead(buffer.len().max(RECORD))?;
            } else if self.held > 0 {
                // The member is complete, so its last NUL bytes are data.
                let count = (self.held.min(buffer.len() as u64)) as usize;
                buffer[..count].fill(0);
                self.held -= count as u64;
                return Ok(count);
            } else if !self.next_member()? {
                self.ended = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in members {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn read(bytes: &[u8], step: usize) -> io::Result<(Vec<u8>, usize)> {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let mut members = Members::new(bytes, Arc::clone(&notes));
        let (mut all, mut buffer) = (Vec::new(), vec![0; step]);
        loop {
            match members.read(&mut buffer)? {
                0 => return Ok((all, notes.lock().unwrap().len())),
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
    }

    #[test]
    fn members_follow_each_other_and_keep_their_nul_bytes() {
        let zeros = [b"begin".as_slice(), &[0; 2000], b"end", &[0; 700]].concat();
        let bytes = archive(&[("a", b"one\n"), ("b", &zeros), ("c", b""), ("d", b"two\n")]);
        assert!(starts_archive(&bytes));
        let expected = [b"one\n".as_slice(), &zeros, b"two\n"].concat();
        for step in [1, 7, 512, 100_000] {
            assert_eq!(read(&bytes, step).unwrap(), (expected.clone(), 0), "{step}");
        }
    }

    #[test]
    fn a_cut_is_an_error_unless_it_was_padded() {
        let content = vec![b'x'; 5000];
        let whole = archive(&[("a", &content)]);
        let cut = &whole[..512 + 3000];
        assert_eq!(read(cut, 400).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let padded = [cut, &[0; 900]].concat();
        assert_eq!(read(&padded, 400).unwrap(), (content[..3000].to_vec(), 1));
    }
}
