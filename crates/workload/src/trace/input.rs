//! Opens a trace file and removes its wrappers: gzip, zstd, bzip2, xz and tar, in any nesting,
//! recognised by their first bytes. This module knows nothing of trace formats.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use flate2::bufread::GzDecoder;

use super::error::{Fault, TraceError, quote};

/// The number of first bytes from which compression, tar and the trace format are recognised.
const SAMPLE: usize = 128 << 10;
/// The largest number of nested wrappers. A file with more is malicious, not a trace.
const MAX_LAYERS: usize = 5;
const BUFFER: usize = 256 << 10;
/// The limit for the memory of one xz or zstd layer, whatever the file requests. `xz -9` needs 65
/// MiB, and `zstd --ultra -22` needs 128 MiB.
const WINDOW_LOG: u32 = 27;
const XZ_MEMORY: u64 = (1 << WINDOW_LOG) + (1 << 20);

/// The decompressed bytes of a trace, with a sample of the first ones.
pub(crate) struct Input {
    pub path: PathBuf,
    /// The wrappers that were removed, outermost first.
    pub layers: Vec<&'static str>,
    /// The first bytes of the data, or all of them if they are fewer than [`SAMPLE`].
    head: Vec<u8>,
    taken: usize,
    rest: Box<dyn Read + Send>,
    /// The number of decompressed bytes handed out so far.
    pub position: u64,
    /// The number of bytes read from the file so far.
    pub file_read: Arc<AtomicU64>,
    pub file_size: u64,
    /// Notes for the user on the wrappers. They are not errors.
    pub notes: Arc<Mutex<Vec<String>>>,
}

struct Counting {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The bytes of the sample, followed by the rest of the data.
type Peeked = io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// A decompressor. Its errors get its name, because a decompressor's own errors do not have it.
struct Layer<R> {
    name: &'static str,
    inner: R,
    produced: u64,
}

/// A reader of concatenated gzip files. If other bytes follow the last of them, it returns an error
/// that quotes these bytes.
struct GzipMembers<R> {
    /// The decoder of the current gzip file; `None` after the last one.
    decoder: Option<GzDecoder<R>>,
    produced: u64,
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let count = decoder.read(buffer)?;
            self.produced += count as u64;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            // `read` has checked the end and the checksum of this gzip file. Zeros may follow,
            // because tapes and disk images fill their last block with zeros.
            let source = decoder.get_mut();
            loop {
                let padding = source.fill_buf()?;
                let zeros = padding.iter().take_while(|byte| **byte == 0).count();
                if zeros == 0
                    || zeros < padding.len() && !padding[zeros..].starts_with(&[0x1f, 0x8b])
                {
                    break;
                }
                source.consume(zeros);
            }
            match decoder.get_mut().fill_buf()? {
                [] => self.decoder = None,
                [0x1f] | [0x1f, 0x8b, ..] => {
                    self.decoder = self.decoder.take().map(|end| GzDecoder::new(end.into_inner()));
                }
                garbage => {
                    let (start, produced) = (quote(garbage), self.produced);
                    return Err(io::Error::other(LayerError(format!(
                        "the gzip data end after {produced} bytes of content, and {start} behind \
                         them is no gzip"
                    ))));
                }
            }
        }
        Ok(0)
    }
}

/// The error of a layer, which `io::Error` carries through the outer layers.
#[derive(Debug)]
struct LayerError(String);

impl std::fmt::Display for LayerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LayerError {}

fn is_layer_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<LayerError>())
}

impl<R: Read> Read for Layer<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(count) => {
                self.produced += count as u64;
                Ok(count)
            }
            Err(error)
                if is_layer_error(&error)
                    || error.kind() == io::ErrorKind::Interrupted
                    || error.raw_os_error().is_some() =>
            {
                Err(error)
            }
            Err(error) => {
                let name = self.name;
                let what = if error.kind() == io::ErrorKind::UnexpectedEof {
                    format!("the {name} data are cut off")
                } else {
                    format!("the {name} data are damaged ({error})")
                };
                let produced = self.produced;
                Err(io::Error::other(LayerError(format!(
                    "{what} after {produced} bytes of content"
                ))))
            }
        }
    }
}

impl Input {
    /// Opens a file and removes all wrappers of the trace.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(|e| TraceError::io(path, "open the trace", &e))?;
        let meta = file.metadata().map_err(|e| TraceError::io(path, "open the trace", &e))?;
        if meta.is_dir() {
            return Err(TraceError::new(path, Fault::Io, "found a folder, expected a trace file")
                .hint("name one file in it"));
        }
        let file_read = Arc::new(AtomicU64::new(0));
        let bottom = Counting { file, read: Arc::clone(&file_read) };
        let mut input = Self::unwrap(path, Box::new(bottom))?;
        input.file_read = file_read;
        input.file_size = meta.len();
        Ok(input)
    }

    /// Removes the wrappers of `stream`. It need not be a file: tests and fuzzing read from memory.
    pub fn unwrap(path: &Path, mut stream: Box<dyn Read + Send>) -> Result<Self, TraceError> {
        let mut layers = Vec::new();
        let notes = Arc::new(Mutex::new(Vec::new()));
        loop {
            let mut head = Vec::new();
            stream
                .by_ref()
                .take(SAMPLE as u64)
                .read_to_end(&mut head)
                .map_err(|e| read_error(path, &e))?;
            let Some(name) = recognise(&head) else {
                return Ok(Self {
                    path: path.to_owned(),
                    layers,
                    head,
                    taken: 0,
                    rest: stream,
                    position: 0,
                    file_read: Arc::new(AtomicU64::new(0)),
                    file_size: 0,
                    notes,
                });
            };
            if layers.len() == MAX_LAYERS {
                let message = format!("found more than {MAX_LAYERS} layers of compression");
                return Err(TraceError::new(path, Fault::Format, message)
                    .hint("unpack the file before reading it"));
            }
            layers.push(name);
            let peeked: Peeked = io::Cursor::new(head).chain(stream);
            stream =
                layer(path, name, BufReader::with_capacity(BUFFER, peeked), Arc::clone(&notes))?;
        }
    }

    /// Returns the first bytes of the data, or all of them if they are fewer than [`SAMPLE`]. Call
    /// this only before anything is read.
    pub fn sample(&self) -> &[u8] {
        &self.head
    }

    /// Returns whole lines from the middle and from the end of a plain text file that is much
    /// larger than the sample; empty for other files.
    pub fn later(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let is_text = !self.head.contains(&0);
        if !self.layers.is_empty() || self.file_size < 3 * SAMPLE as u64 || !is_text {
            return text;
        }
        let Ok(mut file) = File::open(&self.path) else { return text };
        let part = (SAMPLE / 4) as u64;
        for start in [self.file_size / 2, self.file_size - part] {
            let mut bytes = Vec::new();
            let place = file.seek(io::SeekFrom::Start(start));
            if place.and_then(|_| file.by_ref().take(part).read_to_end(&mut bytes)).is_err() {
                return Vec::new();
            }
            let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
            let last = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
            text.extend_from_slice(bytes.get(first..last).unwrap_or_default());
        }
        text
    }

    /// Returns `true` if the sample is all of the data.
    pub fn sample_is_all(&self) -> bool {
        self.head.len() < SAMPLE
    }

    /// Reads into `buffer` until it is full or the data end. Returns the number of bytes read.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let target = &mut buffer[filled..];
            if self.taken < self.head.len() {
                let count = target.len().min(self.head.len() - self.taken);
                target[..count].copy_from_slice(&self.head[self.taken..self.taken + count]);
                self.taken += count;
                filled += count;
                continue;
            }
            match self.rest.read(target) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(&self.path, &error)),
            }
        }
        self.position += filled as u64;
        Ok(filled)
    }
}

fn read_error(path: &Path, error: &io::Error) -> TraceError {
    if is_layer_error(error) {
        return TraceError::new(path, Fault::Damaged, error.to_string())
            .hint("fetch the file again, or unpack what there is and read that");
    }
    TraceError::io(path, "read the trace", error)
}

/// Returns `true` if the data are compressed. `head` are their first bytes; 16 suffice.
#[must_use]
pub fn is_compressed(head: &[u8]) -> bool {
    recognise(head).is_some_and(|name| !matches!(name, "tar" | "utf-16"))
}

/// Returns the wrapper that begins the data, recognised by its magic bytes.
fn recognise(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x1f, 0x8b, 0x08, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("zstd"), // a skippable frame first
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => Some("bzip2"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..] => Some("xz"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some("7z"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [b'R', b'a', b'r', b'!', 0x1a, 0x07, ..] => Some("rar"),
        [0x5d, 0, 0, dictionary, ..] if is_lzma(head, *dictionary) => Some("lzma"),
        [0xff, 0xfe, _, 0, ..] => Some("utf-16"),
        [0xfe, 0xff, 0, ..] => Some("utf-16"),
        _ if super::tar::starts_archive(head) => Some("tar"),
        _ => None,
    }
}

/// Returns `true` if the first 13 bytes can be those of the old lzma format, which has no magic
/// number: common properties, a dictionary of 64 KiB to 1 GiB, and a size that is unknown or below
/// 2^40.
fn is_lzma(head: &[u8], dictionary: u8) -> bool {
    let Some(Ok(size)) = head.get(5..13).map(<[u8; 8]>::try_from) else { return false };
    let size = u64::from_le_bytes(size);
    let dictionary = u32::from_le_bytes([0, 0, dictionary, head[4]]);
    let is_usual = (1 << 16..=1 << 30).contains(&dictionary)
        && (dictionary.is_power_of_two() || dictionary.is_multiple_of(3));
    is_usual && (size == u64::MAX || size < 1 << 40)
}

/// Converts UTF-16 to UTF-8.
struct Utf16<R> {
    inner: R,
    big: bool,
    /// The bytes of UTF-8 that were not handed out yet.
    ahead: Vec<u8>,
    given: usize,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ahead.len() {
            let mut raw = Vec::with_capacity(1 << 16);
            self.inner.by_ref().take(1 << 16).read_to_end(&mut raw)?;
            if raw.is_empty() {
                return Ok(0);
            }
            if raw.len() % 2 == 1 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let half = |pair: &[u8]| {
                let pair = [pair[0], pair[1]];
                if self.big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
            };
            let mut halves: Vec<u16> = self.high.take().into_iter().collect();
            halves.extend(raw.chunks_exact(2).map(half));
            if halves.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
                self.high = halves.pop();
            }
            let text = char::decode_utf16(halves);
            let text: String =
                text.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            (self.ahead, self.given) = (text.into_bytes(), 0);
        }
        let count = buffer.len().min(self.ahead.len() - self.given);
        buffer[..count].copy_from_slice(&self.ahead[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

fn layer(
    path: &Path,
    name: &'static str,
    source: BufReader<Peeked>,
    notes: Arc<Mutex<Vec<String>>>,
) -> Result<Box<dyn Read + Send>, TraceError> {
    fn boxed<R: Read + Send + 'static>(name: &'static str, inner: R) -> Box<dyn Read + Send> {
        Box::new(Layer { name, inner, produced: 0 })
    }
    Ok(match name {
        "gzip" => boxed(name, GzipMembers { decoder: Some(GzDecoder::new(source)), produced: 0 }),
        "bzip2" => boxed(name, bzip2::bufread::MultiBzDecoder::new(source)),
        "zstd" => {
            let decoder = zstd::stream::read::Decoder::with_buffer(source)
                .and_then(|mut decoder| decoder.window_log_max(WINDOW_LOG).map(|()| decoder))
                .map_err(|e| TraceError::io(path, "start the zstd decoder", &e))?;
            boxed(name, decoder)
        }
        "xz" => {
            let flags = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)
                .map_err(|e| TraceError::io(path, "start the xz decoder", &e.into()))?;
            boxed(name, liblzma::bufread::XzDecoder::new_stream(source, stream))
        }
        "lzma" => {
            let stream = liblzma::stream::Stream::new_lzma_decoder(XZ_MEMORY)
                .map_err(|e| TraceError::io(path, "start the lzma decoder", &e.into()))?;
            boxed(name, liblzma::bufread::XzDecoder::new_stream(source, stream))
        }
        "utf-16" => {
            let mut inner = source;
            let mut mark = [0; 2];
            inner.read_exact(&mut mark).map_err(|e| read_error(path, &e))?;
            let big = mark == [0xfe, 0xff];
            boxed(name, Utf16 { inner, big, ahead: Vec::new(), given: 0, high: None })
        }
        "tar" => boxed(name, super::tar::Members::new(source, notes)),
        other => {
            let message =
                format!("found a {other} file, expected plain, gzip, zstd, bzip2, xz, lzma or tar");
            return Err(TraceError::new(path, Fault::Format, message)
                .hint("unpack it, or pack it with zstd"));
        }
    })
}
