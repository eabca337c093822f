//! The writer of a snapshot's bytes.

use std::io;

use xxhash_rust::xxh3::Xxh3Default;

use super::{Fault, tag};

/// Bytes that are gathered before they are hashed and passed on.
const GATHER: usize = 1 << 16;

/// Takes the bytes of a snapshot, counts and hashes them. It keeps the first error and drops all
/// later bytes, so that only [`Writer::finish`] must be checked.
pub struct Writer<'a> {
    to: &'a mut dyn io::Write,
    gathered: Vec<u8>,
    hash: Xxh3Default,
    bytes: u64,
    failed: Option<io::Error>,
}

impl<'a> Writer<'a> {
    /// A writer to `to`.
    pub fn new(to: &'a mut dyn io::Write) -> Self {
        let gathered = Vec::with_capacity(GATHER);
        Self { to, gathered, hash: Xxh3Default::new(), bytes: 0, failed: None }
    }

    /// Writes `bytes` as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.gathered.len() + bytes.len() > GATHER {
            self.pass_on();
        }
        if bytes.len() > GATHER {
            self.out(bytes);
        } else {
            self.gathered.extend_from_slice(bytes);
        }
    }

    /// Begins a part called `name`. A reader that expects another part here gets a fault.
    pub fn section(&mut self, name: &str) {
        self.bytes(&tag(name).to_le_bytes());
    }

    /// Notes that this object cannot be saved.
    pub fn refuse(&mut self, why: Fault) {
        self.failed.get_or_insert_with(|| io::Error::new(io::ErrorKind::Unsupported, why));
    }

    /// Ends the snapshot. Returns its length in bytes and their XXH3.
    ///
    /// # Errors
    /// The first error of writing, or the reason why an object cannot be saved.
    pub fn finish(mut self) -> io::Result<(u64, u64)> {
        self.pass_on();
        match self.failed {
            Some(error) => Err(error),
            None => Ok((self.bytes, self.hash.digest())),
        }
    }

    fn pass_on(&mut self) {
        let mut gathered = std::mem::take(&mut self.gathered);
        self.out(&gathered);
        gathered.clear();
        self.gathered = gathered;
    }

    fn out(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.failed = self.to.write_all(bytes).err();
    }
}
