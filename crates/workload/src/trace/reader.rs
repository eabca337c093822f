//! Reads a trace of any format as a stream of requests. This module combines detection, formats and
//! decompression, which are in other modules.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flashgc_base::naming::{choice, option};
use flashgc_base::spec::SpecError;
use flashgc_base::sync::lock;
use rustc_hash::{FxHashMap, FxHashSet};

use super::address_map::{Numbering, PagingOptions};
use super::detect::{detect, doubts, explain};
use super::disorder::{Disorder, InOrder, goes_back};
use super::error::{Fault, TraceError};
use super::evidence::against_units;
use super::format::{self, ACTIONS, DeviceNumbers, Format, ReadOptions, Sample};
use super::input::Input;
use super::lines::{Decoder, Recorded};
use super::per_cpu;
use super::request::{Declared, Request};
use crate::Op;

/// The smallest number of requests that are checked for evidence while a file is read.
const SOME: usize = 256;

/// The progress of a reader in its file, before decompression.
#[derive(Clone, Debug)]
pub struct Progress {
    read: Arc<AtomicU64>,
    /// The size of the file in bytes; 0 if the trace does not come from a file.
    pub total: u64,
}

impl Progress {
    /// Returns the number of bytes read so far. It may be called from another thread.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// A trace that is being read. To stop early, drop it.
pub struct TraceReader {
    path: PathBuf,
    format: &'static Format,
    layers: Vec<&'static str>,
    notes: Arc<std::sync::Mutex<Vec<String>>>,
    /// Figures of the sample that are evidence against the format.
    doubts: Vec<String>,
    /// The number of requests read, and the number at which requests are next checked for evidence.
    /// `None` if no later check is needed, because the sample has all requests, has the middle and
    /// the end of the file, or has shown evidence already.
    unweighed: Option<(u64, u64)>,
    decoder: Box<dyn Decoder>,
    /// The devices that are read, with `true` for those that have had requests; `None` if all
    /// devices are read.
    chosen: Option<FxHashMap<u32, bool>>,
    ranks: Option<FxHashMap<u32, u32>>,
    progress: Progress,
    keep_flushes: bool,
    /// The number of flushes so far, of the devices that are read.
    flushes: u64,
    /// The number of requests so far, and the last request; `None` unless times that go back are
    /// refused.
    last: Option<(u64, Option<Request>)>,
    /// `true` after an error. The trace then ends.
    failed: bool,
    /// `true` if the user named the format, and no line or record of it was read yet.
    is_unproven: bool,
}

impl std::fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceReader")
            .field("path", &self.path)
            .field("format", &self.format.name)
            .field("layers", &self.layers)
            .finish_non_exhaustive()
    }
}

impl TraceReader {
    /// Opens a trace file, plain or compressed.
    ///
    /// # Errors
    /// The file cannot be opened or is empty, or its format is unknown, unclear or not the chosen
    /// one.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TraceError> {
        Self::open_with(path, options, |_| true)
    }

    /// Opens a trace file like [`open`](Self::open). If ranked device numbers need a pass over the
    /// file, `go_on` is called now and then.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), and [`Fault::Cancelled`] if `go_on` returns `false`.
    pub fn open_with(
        path: impl AsRef<Path>,
        options: &ReadOptions,
        go_on: impl FnMut(&Progress) -> bool,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let mut reader = Self::start(Input::open(path)?, options)?;
        let format = reader.format;
        if options.device_numbers == DeviceNumbers::Ranked
            && !matches!(format.name, "csv" | "flashgc" | "pages")
        {
            let mut devices: Vec<u32> = if format.single_device {
                vec![0]
            } else {
                reader.devices(go_on)?.into_iter().collect()
            };
            devices.sort_by_key(u32::to_string);
            let ranks = (0..).zip(devices).map(|(rank, device)| (device, rank)).collect();
            if !format.single_device {
                reader = Self::start(Input::open(path)?, options)?;
            }
            reader.ranks = Some(ranks);
        }
        Ok(reader)
    }

    /// Returns the evidence on the format of a file: each format that fits its start, with the
    /// evidence against that format.
    ///
    /// # Errors
    /// The file cannot be opened or decompressed.
    pub fn evidence(
        path: impl AsRef<Path>,
        options: &ReadOptions,
    ) -> Result<Vec<String>, TraceError> {
        let input = Input::open(path.as_ref())?;
        let mut sample = Sample::new(input.sample(), input.sample_is_all());
        sample.later = input.later();
        Ok(explain(&input.path, &sample, options))
    }

    /// Reads a trace from any stream of bytes. Error messages have `name` instead of a path. Ranked
    /// device numbers need a file.
    pub fn from_stream(
        name: &str,
        stream: Box<dyn Read + Send>,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let path = Path::new(name);
        if options.device_numbers == DeviceNumbers::Ranked {
            let message = "ranked device numbers need a file, which can be read twice";
            return Err(TraceError::new(path, Fault::Option, message));
        }
        Self::start(Input::unwrap(path, stream)?, options)
    }

    fn start(input: Input, options: &ReadOptions) -> Result<Self, TraceError> {
        let path = input.path.clone();
        let mut sample = Sample::new(input.sample(), input.sample_is_all());
        sample.later = input.later();
        if sample.bytes.is_empty() {
            let message = "the trace is empty, expected at least one request";
            let error = TraceError::new(&path, Fault::Empty, message);
            let is_pipe = std::fs::metadata(&path).is_ok_and(|meta| !meta.is_file());
            let hint = "a pipe can be read only once, and this needs more: write it to a file";
            return Err(if is_pipe { error.hint(hint) } else { error });
        }
        let format = match options.format {
            _ if options.columns.is_some() => &format::columns::FORMAT,
            Some(format) => format,
            None => detect(&path, &sample)?,
        };
        let mut doubts = doubts(&path, &sample, format, options);
        if !doubts.is_empty() {
            doubts = vec![format!("is this {}? {}", format.name, doubts.join(", and "))];
        }
        // A compressed file can be read only from its start, so later requests are checked when
        // they are read.
        let is_whole = input.sample_is_all() || !sample.later.is_empty() || !doubts.is_empty();
        let unweighed = (!is_whole).then_some((0, 1));
        check_options(&path, format, options)?;
        let layers = input.layers.clone();
        let notes = Arc::clone(&input.notes);
        let progress = Progress { read: Arc::clone(&input.file_read), total: input.file_size };
        let cpus = per_cpu::find(format.name, &input);
        let mut decoder = (format.open)(input, options)?;
        if cpus.is_some() || options.disorder == Disorder::Sort {
            decoder = Box::new(InOrder::new(decoder, cpus));
        }
        let chosen = (!options.devices.is_empty())
            .then(|| options.devices.iter().map(|device| (*device, false)).collect());
        Ok(Self {
            path,
            format,
            layers,
            notes,
            unweighed,
            doubts,
            decoder,
            chosen,
            ranks: None,
            progress,
            keep_flushes: options.keep_flushes,
            flushes: 0,
            last: (options.disorder == Disorder::Refuse).then_some((0, None)),
            failed: false,
            is_unproven: options.format.is_some() && options.columns.is_none(),
        })
    }

    /// Replaces the content of `block` with the next requests, at most some thousands of them.
    /// While a trace is sorted, `block` may be empty. Returns `false` at the end; `block` is then
    /// empty.
    ///
    /// # Errors
    /// A line is bad and not skipped, or the data are damaged. `block` then has the requests before
    /// the fault, and the next call returns `false`.
    pub fn next_block(&mut self, block: &mut Vec<Request>) -> Result<bool, TraceError> {
        block.clear();
        if self.failed {
            return Ok(false);
        }
        let flushes = self.decoder.counts().flushes;
        let mut result = self.decoder.next_block(block);
        self.failed = result.is_err();
        if let Err(error) = &mut result
            && error.fault == Fault::BadRecord
            && self.is_unproven
            && block.is_empty()
            && self.decoder.counts().ignored == 0
        {
            let format = option("format");
            error.hint = format!("leave {format} out, and the file shows it; or {}", error.hint);
        }
        self.is_unproven &= self.failed;
        self.weigh(block);
        if let Some(chosen) = &mut self.chosen {
            block.retain(|request| {
                let is_request = request.op != Op::Flush;
                chosen.get_mut(&request.device).map(|seen| *seen |= is_request).is_some()
            });
        }
        if self.decoder.counts().flushes > flushes {
            let flushes = block.iter().filter(|request| request.op == Op::Flush).count();
            self.flushes += flushes as u64;
            block.retain(|request| self.keep_flushes || request.op != Op::Flush);
        }
        if let Some((number, last)) = &mut self.last {
            for request in &*block {
                *number += 1;
                if let Some(last) = last.filter(|last| request.time_ns < last.time_ns) {
                    self.failed = true;
                    return Err(goes_back(&self.path, *number, &last, request));
                }
                *last = Some(*request);
            }
        }
        if let Some(ranks) = &self.ranks {
            for at in 0..block.len() {
                let Some(&rank) = ranks.get(&block[at].device) else {
                    let device = block[at].device;
                    let message = format!(
                        "found device {device}, which was not there in the pass before: the file \
                         has grown"
                    );
                    block.truncate(at);
                    self.failed = true;
                    return Err(TraceError::new(&self.path, Fault::Damaged, message)
                        .hint("copy the file first"));
                };
                block[at].device = rank;
            }
        }
        result
    }

    /// Checks the requests of `block` for figures that are evidence against the format, if enough
    /// requests were read since the last check.
    fn weigh(&mut self, block: &[Request]) {
        let Some((read, next)) = &mut self.unweighed else { return };
        *read += block.len() as u64;
        if *read < *next || block.len() < SOME {
            return;
        }
        *next = 2 * *read;
        let figures = against_units(self.format, block);
        if let Some(figure) = figures.first() {
            let name = self.format.name;
            self.doubts.push(format!("is this {name}? further on {}", figure));
            self.unweighed = None;
        }
    }

    /// Returns an iterator over the requests.
    pub fn requests(self) -> ReadRequests {
        ReadRequests { reader: self, block: Vec::new().into_iter(), failed: None, ended: false }
    }

    /// Reads the rest of the trace and returns the devices in it.
    fn devices(
        &mut self,
        mut go_on: impl FnMut(&Progress) -> bool,
    ) -> Result<FxHashSet<u32>, TraceError> {
        let (mut devices, mut block) = (FxHashSet::default(), Vec::new());
        while self.next_block(&mut block)? {
            devices.extend(block.iter().map(|request| request.device));
            if !go_on(&self.progress) {
                return Err(cancelled(&self.path));
            }
        }
        Ok(devices)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format, chosen or detected.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Returns `true` if only some devices are read.
    pub(crate) fn chooses_devices(&self) -> bool {
        self.chosen.is_some()
    }

    /// Returns the wrappers that were removed from the file, outermost first (`["zstd", "bzip2"]`);
    /// empty for a plain file.
    pub fn compression(&self) -> &[&'static str] {
        &self.layers
    }

    /// Returns the number of bad lines or records left out so far.
    pub fn skipped(&self) -> u64 {
        self.decoder.counts().skipped
    }

    /// Returns the number of good lines or records so far that are not requests, such as other
    /// events, flushes and comments.
    pub fn ignored(&self) -> u64 {
        self.decoder.counts().ignored
    }

    /// Returns the number of flushes so far, kept or not, of the devices that are read.
    pub fn flushes(&self) -> u64 {
        self.flushes
    }

    /// Returns the number of decompressed bytes that were decoded so far.
    pub fn position(&self) -> u64 {
        self.decoder.position()
    }

    /// Returns notes for the user, one sentence each: on how the file was read, and on figures that
    /// are evidence against it.
    pub fn notes(&self) -> Vec<String> {
        [self.reading().as_slice(), self.doubts()].concat()
    }

    /// Returns the notes on figures of the first requests that are evidence against the format.
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// Returns the columns that are read, with their units.
    pub fn columns(&self) -> String {
        self.decoder.columns().unwrap_or_else(|| self.format.columns.to_owned())
    }

    /// Returns the notes on how the file was read.
    pub fn reading(&self) -> Vec<String> {
        let notes = lock(&self.notes);
        notes.iter().cloned().chain(self.decoder.note()).chain(self.unseen()).collect()
    }

    /// Returns a note on the devices whose numbers were replaced by their ranks; `None` if no
    /// number changed.
    pub(crate) fn renumbered(&self) -> Option<String> {
        let mut new: Vec<(u32, u32)> =
            self.ranks.iter().flatten().map(|(device, rank)| (*rank, *device)).collect();
        new.sort_unstable();
        let (rank, device) = *new.iter().find(|(rank, device)| rank != device)?;
        let keep = option("native_devices");
        Some(match new.len() {
            1 => format!("device {device} is device {rank} of the copy ({keep} keeps its number)"),
            devices => format!(
                "{devices} devices are 0 to {} of the copy, in the order of their numbers as text: \
                 device {device} is {rank}, for example ({keep} keeps the numbers, and the order of pages)",
                devices - 1
            ),
        })
    }

    /// Returns a note on the chosen devices that have had no requests so far; `None` if there are
    /// none.
    fn unseen(&self) -> Option<String> {
        let chosen = self.chosen.as_ref()?;
        let mut unseen: Vec<u32> =
            chosen.iter().filter(|(_, seen)| !**seen).map(|(device, _)| *device).collect();
        unseen.sort_unstable();
        let named: Vec<String> = unseen.iter().map(u32::to_string).collect();
        (!named.is_empty()).then(|| format!("no requests of device {}", named.join(", ")))
    }

    /// Returns the properties of a recording of references to memory; `None` for other formats.
    pub fn recorded(&self) -> Option<Recorded> {
        self.decoder.recorded()
    }

    /// Returns the properties that the file declares for all its requests.
    pub fn declared(&self) -> Declared {
        self.decoder.declared()
    }

    /// Returns the size in bytes of the drive from which the trace was recorded; `None` if the file
    /// does not say it.
    pub fn address_space(&self) -> Option<u64> {
        self.declared().address_space
    }

    /// Returns the numbering of the trace's pages: the numbering that `paging` gives. If it gives
    /// none, pages of a trace that was recorded from a drive keep their numbers, and other pages
    /// are numbered by address.
    ///
    /// # Errors
    /// Pages should keep their numbers, but `paging` leaves some pages out.
    pub fn numbering(&self, paging: &PagingOptions) -> Result<Numbering, TraceError> {
        let usual = self.address_space().map_or(Numbering::Address, |_| Numbering::Given);
        let numbering = paging.numbering.unwrap_or(usual);
        if numbering == Numbering::Given && paging.paging.leaves_out() {
            let message = format!(
                "{} leaves out the last pages of a trace, and with {} the drive has all of them",
                choice("paging", "floor"),
                choice("numbering", "given")
            );
            return Err(TraceError::new(&self.path, Fault::Option, message).hint(format!(
                "{}, or {}",
                choice("paging", "covered"),
                choice("numbering", "address")
            )));
        }
        Ok(numbering)
    }

    /// Checks that the references of this trace can be counted in pages of `page_size` bytes.
    ///
    /// # Errors
    /// The references were recorded in larger pages.
    pub fn check_page_size(&self, page_size: u64) -> Result<(), TraceError> {
        match self.recorded() {
            Some(recorded) if recorded.page_size > page_size => {
                let message = format!(
                    "found a page size of {page_size} bytes, expected at least the {} bytes of the \
                     recording",
                    recorded.page_size
                );
                Err(TraceError::new(&self.path, Fault::Option, message).hint(format!(
                    "{}, or record again",
                    choice("page_size", format!("{}B", recorded.page_size))
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns the reader's progress, for a progress bar.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

/// Refuses options that have no effect on the format.
fn check_options(
    path: &Path,
    format: &'static Format,
    options: &ReadOptions,
) -> Result<(), TraceError> {
    let refused = |key: &str, formats: &[&str]| {
        let name = format.name;
        let message =
            format!("{} only applies to {}, found {name}", option(key), formats.join(", "));
        let hint = format!("leave {} out", option(key));
        Err(TraceError::new(path, Fault::Option, message).hint(hint))
    };
    if let Some(action) = options.blkparse_action {
        if !ACTIONS.contains(&action.to_string().as_str()) {
            let message = format!("found action '{action}', expected {}", ACTIONS.join(", "));
            return Err(TraceError::new(path, Fault::Option, message));
        }
        if !format::events::FORMATS.contains(&format.name) {
            return refused("blkparse_action", &format::events::FORMATS);
        }
    }
    if options.relations.is_some() && format.name != "pg-waldump" {
        return refused("relations", &["pg-waldump"]);
    }
    Ok(())
}

/// Parses device numbers separated by commas: the trace's own numbers, or `MAJOR:MINOR` as in
/// Linux.
///
/// # Errors
/// A word is not a number, a device is given twice, or there is no number.
pub fn parse_devices(text: &str) -> Result<Vec<u32>, SpecError> {
    let device_of = |word: &str| -> Option<u32> {
        match word.split_once(':') {
            None => word.parse().ok(),
            Some((major, minor)) => {
                let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
                (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
            }
        }
    };
    let mut devices = Vec::new();
    for word in text.split(',').map(str::trim) {
        let Some(device) = device_of(word) else {
            let message = format!("found '{}', expected a device number", word.escape_default());
            return Err(SpecError::new(message, "write 0,3 or, of Linux, 8:0"));
        };
        if devices.contains(&device) {
            return Err(SpecError::new(format!("device {word} is there twice"), "leave one out"));
        }
        devices.push(device);
    }
    Ok(devices)
}

/// Makes the error for work that the caller cancelled.
pub(crate) fn cancelled(path: &Path) -> TraceError {
    TraceError::new(path, Fault::Cancelled, "stopped before the end of the trace")
}

/// The requests of a [`TraceReader`], one by one. After an error there are no more.
pub struct ReadRequests {
    reader: TraceReader,
    block: std::vec::IntoIter<Request>,
    failed: Option<TraceError>,
    ended: bool,
}

impl ReadRequests {
    /// Returns the reader, for its counts.
    pub fn reader(&self) -> &TraceReader {
        &self.reader
    }
}

impl Iterator for ReadRequests {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(request) = self.block.next() {
                return Some(Ok(request));
            }
            if self.ended {
                return self.failed.take().map(Err);
            }
            let mut block = Vec::new();
            match self.reader.next_block(&mut block) {
                Ok(true) => {}
                Ok(false) => self.ended = true,
                Err(error) => {
                    self.failed = Some(error);
                    self.ended = true;
                }
            }
            self.block = block.into_iter();
        }
    }
}
