//! Writes traces in flashgc's own formats, plain or compressed. A file gets its name only when it
//! is complete. Pipes and devices are written directly.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::address_map::PagingOptions;
use super::error::{Fault, TraceError};
use super::format::csv_header;
use super::format::native::NativeWriter;
use super::format::pages::PagesWriter;
use super::parse::{put_digits, put_microseconds};
use super::request::{Declared, Fields, Request};
use super::reuse::{Filter, Reference};
use crate::Op;

/// A format in which traces are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// The normalised CSV.
    Csv,
    /// flashgc's own binary format.
    Native,
    /// flashgc's own format for references to memory.
    Pages,
}

/// Options for writing references to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagesOptions {
    /// The size of a page in bytes, a power of two from 512 to 2^30.
    pub page_size: u32,
    /// The size in pages of an LRU memory. References that have no effect on an LRU memory of this
    /// size or larger are left out. With 0, only consecutive references to one page are merged.
    pub filter: u32,
}

impl Default for PagesOptions {
    /// The page size of the flash memory of Ji and Shin 2010, 2 KiB, and a filter of 64 pages: 1/8
    /// of the smallest page cache in their paper.
    fn default() -> Self {
        Self { page_size: 2048, filter: 64 }
    }
}

impl OutputFormat {
    /// Returns the extension of the format's files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => ".csv",
            Self::Native => ".flashgc",
            Self::Pages => ".pages",
        }
    }

    /// Returns the format for the extension of a file name: `.csv`, `.flashgc` or `.pages`,
    /// possibly followed by `.zst` or `.gz`.
    ///
    /// # Errors
    /// The name has another extension.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let (stem, _) = Packing::of(path);
        match Path::new(stem).extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("flashgc") => Ok(Self::Native),
            Some("pages") => Ok(Self::Pages),
            _ => {
                let message = "found a name without a known format, expected one that ends in \
                               .csv, .flashgc or .pages, optionally followed by .zst or .gz";
                Err(TraceError::new(path, Fault::Format, message)
                    .hint("for example trace.csv or trace.flashgc.zst"))
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// Returns the name without the extension of the compression, and the compression.
    fn of(path: &Path) -> (&str, Self) {
        let name = path.to_str().unwrap_or_default();
        match (name.strip_suffix(".zst"), name.strip_suffix(".gz")) {
            (Some(stem), _) => (stem, Self::Zstd),
            (_, Some(stem)) => (stem, Self::Gzip),
            _ => (name, Self::Plain),
        }
    }
}

/// The file that is written, possibly through a compressor.
enum Sink {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl Sink {
    fn finish(self) -> io::Result<File> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

/// The destination of the written bytes.
enum Output {
    /// A new file. It is written under a temporary name and then renamed.
    File { partial: PathBuf, target: PathBuf },
    /// An existing pipe or device.
    Through(PathBuf),
}

/// A partial file that was not changed for this time counts as abandoned. Process numbers alone are
/// not enough, because another machine may share the folder.
const ABANDONED: Duration = Duration::from_secs(600);

impl Output {
    fn of(path: &Path) -> io::Result<Self> {
        if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            return Ok(Self::Through(path.to_owned()));
        }
        let target = follow(path)?;
        let name = target.file_name().unwrap_or_default().to_owned();
        remove_abandoned(&target, &name);
        let mut partial = name;
        partial.push(format!(".{}.partial", std::process::id()));
        Ok(Self::File { partial: target.with_file_name(partial), target })
    }

    /// Opens the file for writing. Anything that exists under the name of the partial file is
    /// replaced: a link is not followed, and an old file is not written to.
    fn open(&self, is_private: bool) -> io::Result<File> {
        match self {
            Self::File { target, .. } if target.is_dir() => {
                Err(io::Error::other("found a folder, expected the name of a file"))
            }
            Self::File { partial, .. } => {
                let _ = std::fs::remove_file(partial);
                let mut options = File::options();
                options.write(true).create_new(true);
                #[cfg(unix)]
                if is_private {
                    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                }
                #[cfg(not(unix))]
                let _ = is_private;
                options.open(partial)
            }
            Self::Through(path) => File::options().write(true).open(path),
        }
    }

    fn complete(&self) -> io::Result<()> {
        match self {
            Self::File { partial, target } => std::fs::rename(partial, target),
            Self::Through(_) => Ok(()),
        }
    }

    fn discard(&self) {
        if let Self::File { partial, .. } = self {
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// Removes the unfinished file of this process for `path`, if there is one. Its writer was left
/// behind because it waits for input, and can no longer complete the file.
pub fn discard_unfinished(path: &Path) {
    if let Ok(output) = Output::of(path) {
        output.discard();
    }
}

/// Returns the file to which `path` leads through symbolic links. The file need not exist.
fn follow(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40; // the limit of Linux
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink()) {
            return Ok(path);
        }
        let leads_to = std::fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(leads_to);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Removes the partial files of `target` that killed processes left behind.
fn remove_abandoned(target: &Path, name: &OsStr) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let old = entry.metadata().and_then(|meta| meta.modified()).ok();
        let old = old.and_then(|time| time.elapsed().ok()).is_some_and(|age| age >= ABANDONED);
        if old && writer_of(&entry.file_name(), name).is_some_and(is_gone) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns the number of the process that wrote a partial file of `name`, from the name of that
/// file.
fn writer_of(partial: &OsString, name: &OsStr) -> Option<u32> {
    let rest = partial.to_str()?.strip_prefix(name.to_str()?)?;
    rest.strip_prefix('.')?.strip_suffix(".partial")?.parse().ok()
}

/// Returns `true` if no process has this number. If the system does not tell, returns `false`.
fn is_gone(process: u32) -> bool {
    let table = Path::new("/proc");
    table.join("self").exists() && !table.join(process.to_string()).exists()
}

enum Lines {
    Csv { sink: Sink, text: Vec<u8>, fields: Fields },
    Native(NativeWriter<Sink>),
    Pages(Box<Pages>),
}

/// References that are being written to a file.
struct Pages {
    writer: PagesWriter<Sink>,
    filter: Filter,
    paging: PagingOptions,
    accesses: u64,
}

impl Pages {
    fn write(&mut self, requests: &[Request]) -> io::Result<()> {
        self.accesses += requests.len() as u64;
        let mut each = |reference| self.writer.write(reference);
        for request in requests {
            if !matches!(request.op, Op::Read | Op::Write) {
                return Err(io::Error::other(
                    "found no read or write, expected references to memory",
                ));
            }
            for reference in Reference::of(request, self.paging.pages(request)) {
                self.filter.push(reference, &mut each)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<(Sink, u64)> {
        self.filter.finish(&mut |reference| self.writer.write(reference))?;
        let references = self.writer.references();
        Ok((self.writer.finish(self.accesses)?, references))
    }
}

/// A writer of a trace file. If it is dropped before [`finish`](Self::finish), no file is left. A
/// process that is killed leaves `NAME.PID.partial`, which is removed the next time that NAME is
/// written.
pub struct TraceWriter {
    path: PathBuf,
    output: Output,
    lines: Option<Lines>,
    requests: u64,
}

impl TraceWriter {
    /// Starts a file. The extension of the name determines the compression and, unless it is given,
    /// the format. If the name is a symbolic link, the link stays, and its target is written.
    ///
    /// # Errors
    /// The extension has no format, or the file cannot be created.
    pub fn create(
        path: impl AsRef<Path>,
        format: Option<OutputFormat>,
    ) -> Result<Self, TraceError> {
        Self::create_with(path, format, PagesOptions::default(), Declared::default())
    }

    /// Starts a file like [`create`](Self::create). `pages` has the options for references to
    /// memory, and `declared` the properties of all requests.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create), a page size that is not a power of two from 512 to
    /// 2^30, or optional fields in a file of references to memory, which cannot store them.
    pub fn create_with(
        path: impl AsRef<Path>,
        format: Option<OutputFormat>,
        pages: PagesOptions,
        declared: Declared,
    ) -> Result<Self, TraceError> {
        Self::create_for(path.as_ref(), format, pages, declared, false)
    }

    /// Starts a file like [`create_with`](Self::create_with). On Unix only the owner of the file
    /// can read it.
    ///
    /// # Errors
    /// The errors of [`create_with`](Self::create_with).
    pub fn create_private(
        path: impl AsRef<Path>,
        format: Option<OutputFormat>,
        pages: PagesOptions,
        declared: Declared,
    ) -> Result<Self, TraceError> {
        Self::create_for(path.as_ref(), format, pages, declared, true)
    }

    fn create_for(
        path: &Path,
        format: Option<OutputFormat>,
        pages: PagesOptions,
        declared: Declared,
        is_private: bool,
    ) -> Result<Self, TraceError> {
        let path = path.to_owned();
        let format = match format {
            Some(format) => format,
            None => OutputFormat::of(&path)?,
        };
        let page_size = pages.page_size;
        if !page_size.is_power_of_two() || !(512..=1 << 30).contains(&page_size) {
            let message =
                format!("found a page size of {page_size} bytes, expected a power of two");
            return Err(
                TraceError::new(&path, Fault::Option, message).hint("2048 or 4096 is usual")
            );
        }
        let lost = declared.fields.differs(Fields::NONE).filter(|_| format == OutputFormat::Pages);
        if let Some(fields) = lost {
            let message =
                format!("found requests with {fields}, and .pages has no place for {fields}");
            return Err(TraceError::new(&path, Fault::Option, message)
                .hint("write .flashgc or .csv instead"));
        }
        let output =
            Output::of(&path).map_err(|error| TraceError::io(&path, "create the file", &error))?;
        let start = || -> io::Result<Lines> {
            let file = BufWriter::with_capacity(1 << 18, output.open(is_private)?);
            let mut sink = match Packing::of(&path).1 {
                Packing::Plain => Sink::Plain(file),
                Packing::Gzip => {
                    Sink::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
                }
                Packing::Zstd => {
                    let mut encoder = zstd::stream::write::Encoder::new(file, 0)?;
                    encoder.include_checksum(true)?;
                    Sink::Zstd(encoder)
                }
            };
            Ok(match format {
                OutputFormat::Csv => {
                    writeln!(sink, "{}", csv_header(declared.fields))?;
                    Lines::Csv { sink, text: Vec::new(), fields: declared.fields }
                }
                OutputFormat::Native => Lines::Native(NativeWriter::new(sink, declared)?),
                OutputFormat::Pages => Lines::Pages(Box::new(Pages {
                    writer: PagesWriter::new(sink, page_size, pages.filter)?,
                    filter: Filter::new(pages.filter),
                    paging: PagingOptions {
                        page_size: page_size.into(),
                        ..PagingOptions::default()
                    },
                    accesses: 0,
                })),
            })
        };
        match start() {
            Ok(lines) => Ok(Self { path, output, lines: Some(lines), requests: 0 }),
            Err(error) => {
                output.discard();
                Err(TraceError::io(&path, "create the file", &error))
            }
        }
    }

    /// Appends requests.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub fn write(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        self.requests += requests.len() as u64;
        let result = match &mut self.lines {
            Some(Lines::Csv { sink, text, fields }) => {
                text.clear();
                for request in requests {
                    csv_line(request, *fields, text);
                }
                sink.write_all(text)
            }
            Some(Lines::Native(writer)) => writer.write(requests),
            Some(Lines::Pages(pages)) => pages.write(requests),
            None => Ok(()),
        };
        result.map_err(|error| TraceError::unwritten(&self.path, &error))
    }

    /// Sets the number of accesses that the references stand for. A copy calls this with the number
    /// of the copied file, because that number may differ from the number of references written.
    pub fn stand_for(&mut self, accesses: u64) {
        if let Some(Lines::Pages(pages)) = &mut self.lines {
            pages.accesses = accesses;
        }
    }

    /// Completes the file and gives it its name. Returns the number of requests in the file. It is
    /// smaller than the number of requests written if references to memory are left out.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub fn finish(mut self) -> Result<u64, TraceError> {
        let mut requests = self.requests;
        let finish = |lines: Lines| -> io::Result<()> {
            let sink = match lines {
                Lines::Csv { sink, .. } => sink,
                Lines::Native(writer) => writer.finish()?,
                Lines::Pages(pages) => {
                    let (sink, references) = pages.finish()?;
                    requests = references;
                    sink
                }
            };
            sink.finish()?;
            self.output.complete()
        };
        match self.lines.take().map(finish) {
            Some(Err(error)) => {
                self.output.discard();
                Err(TraceError::unwritten(&self.path, &error))
            }
            _ => Ok(requests),
        }
    }
}

impl Drop for TraceWriter {
    fn drop(&mut self) {
        if self.lines.take().is_some() {
            self.output.discard();
        }
    }
}

/// Appends a line of the normalised CSV, with the columns of `fields`.
fn csv_line(request: &Request, fields: Fields, text: &mut Vec<u8>) {
    put_microseconds(request.time_ns, text);
    text.extend_from_slice(match request.op {
        Op::Write => b",W,",
        Op::Read => b",R,",
        Op::Trim => b",D,",
        Op::Dirty => b",M,",
        Op::Flush => b",F,",
        Op::Clean => b",C,",
    });
    if request.offset < 0 {
        text.push(b'-');
    }
    put_digits(request.offset.unsigned_abs(), 1, text);
    text.push(b',');
    put_digits(request.size, 1, text);
    text.push(b',');
    put_digits(request.device.into(), 1, text);
    for field in fields.each() {
        (field.write)(request, text);
    }
    text.push(b'\n');
}
