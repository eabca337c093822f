//! Workload specs, such as `hotcold:f=0.2,r=0.8` or a mixture `0.7*zipf + 0.3*sequential`: from the
//! text to a running workload. This module knows generators only through the registry.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use flashgc_base::naming::{choice, option};
use flashgc_base::spec::{Params, Spec, SpecError, count, suggest};
use flashgc_base::stream::NO_STREAM;

use super::bulk::Bulk;
use super::commands::{Commands, Part};
use super::extents::Cut;
use super::place::{Place, Shifted};
use super::sized::{Fit, Parts, Several};
use super::sizes::SizeParams;
use super::{Blocks, Generator, Random, bound32, generators};
use crate::Workload;

/// A generator or a mixture of generators, with all parameters. It can be opened any number of
/// times.
///
/// Its text (`Display`) has every parameter, except `stream`, `from`, `to`, `size` and `align` if
/// they have their defaults. The text parses back to the same workload.
#[derive(Clone, Debug)]
pub struct GeneratorSpec {
    /// The parts, at least one. Their weights sum to 1.
    pub(super) parts: Vec<Weighted>,
    /// `true` if the text has weights; `1*uniform` keeps its weight.
    mixture: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Weighted {
    pub weight: f64,
    /// The shares of the part's commands that are reads and TRIMs; 0 if the generator chooses the
    /// operations.
    pub read: f64,
    pub trim: f64,
    pub place: Place,
    pub size_params: SizeParams,
    pub params: Params,
    pub plan: Arc<dyn Generator>,
}

const FORM: &str =
    "write WEIGHT*NAME + WEIGHT*NAME, for example 0.7*zipf:theta=0.9 + 0.3*sequential";

impl GeneratorSpec {
    /// Parses `NAME:key=value,...` or `WEIGHT*NAME:key=value,... + WEIGHT*NAME...`. A generator
    /// that draws from a file reads the file now.
    ///
    /// It is an error if a name or a parameter is unknown, a value is out of range, the weights do
    /// not sum to 1, the workload has no writes, or a file is unreadable or faulty.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        Self::parse_any(text)?.writing(text)
    }

    /// Parses a spec like [`parse`](Self::parse), but allows a workload without writes. Only a
    /// drive with a clock can measure reads alone.
    pub fn parse_any(text: &str) -> Result<Self, SpecError> {
        let pieces = split(text);
        if let [(None, only)] = pieces[..] {
            return Ok(Self { parts: vec![Weighted::parse(1.0, only)?], mixture: false });
        }
        let mut parts = Vec::with_capacity(pieces.len());
        for (weight, piece) in pieces {
            let Some(weight) = weight else {
                return Err(SpecError::new(
                    format!("the weight of '{piece}' is missing in '{text}'"),
                    FORM,
                ));
            };
            if !(weight > 0.0 && weight <= 1.0) {
                return Err(SpecError::new(
                    format!(
                        "found the weight {weight} in '{text}', expected above 0 and at most 1"
                    ),
                    FORM,
                ));
            }
            parts.push(Weighted::parse(weight, piece)?);
        }
        let sum: f64 = parts.iter().map(|part| part.weight).sum();
        if (sum - 1.0).abs() > 1e-9 {
            // The sum is rounded for the message: 0.7 + 0.4 becomes 1.1.
            let sum = (sum * 1e12).round() / 1e12;
            return Err(SpecError::new(
                format!("the weights of '{text}' sum to {sum}, expected 1"),
                "change one of them",
            ));
        }
        Ok(Self { parts, mixture: true })
    }

    /// Returns the spec itself if some of its commands are writes. Without writes nothing wears,
    /// and no run would end.
    fn writing(self, text: &str) -> Result<Self, SpecError> {
        let writes = |part: &Weighted| bound32(part.read + part.trim) < bound32(1.0);
        if self.parts.iter().any(writes) {
            return Ok(self);
        }
        let place = if self.mixture { " in at least one part" } else { "" };
        Err(SpecError::new(
            format!("'{text}' has no writes"),
            format!("read + trim must be below 1{place}"),
        ))
    }

    /// Returns the number of logical pages if the workload determines it, like a frequency table.
    /// For a mixture it is the largest number. A part that covers less than the whole drive
    /// determines nothing.
    pub fn fixed_pages(&self) -> Option<u32> {
        let whole = self.parts.iter().filter(|part| part.place.is_whole());
        whole.filter_map(|part| part.plan.fixed_pages()).max()
    }

    /// Returns `true` if any of the writes have a stream.
    pub fn has_streams(&self) -> bool {
        self.parts.iter().any(|part| part.place.stream != NO_STREAM)
    }

    /// Returns the files that the parts are read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let frequency = self.parts.iter().filter(|part| part.params.owner() == "frequency");
        frequency.map(|part| PathBuf::from(part.params.text("path"))).collect()
    }

    /// Checks that the workload suits pages of `bytes` bytes.
    pub fn check_page_size(&self, bytes: u64) -> Result<(), SpecError> {
        for part in &self.parts {
            if let Some(size) = part.plan.page_size().filter(|&size| size != bytes as f64) {
                let name = part.params.owner();
                return Err(SpecError::new(
                    format!(
                        "{name}: found pages of {size} bytes, expected the drive's {bytes} \
                             bytes"
                    ),
                    format!(
                        "{name}:page={}KiB, or {}",
                        bytes as f64 / 1024.0,
                        choice("page_size", format!("{}KiB", size / 1024.0))
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Opens the workload over logical pages `0..logical_pages`. It never ends, and is the same for
    /// the same seed on every machine. Every command is a whole page.
    ///
    /// It is an error if the workload [has sizes](Self::has_sizes), because these need the size of a page;
    /// if there are no logical pages, fewer than [`GeneratorSpec::fixed_pages`], or
    /// too few for the parameters, for example no hot page, or no page of a part of the drive.
    pub fn open(&self, logical_pages: u32, seed: u64) -> Result<Box<dyn Workload>, SpecError> {
        if self.has_sizes() {
            return Err(SpecError::new(
                format!("'{self}' has requests of bytes, and only whole pages can be drawn here"),
                "leave out size= and align=",
            ));
        }
        self.open_on(logical_pages, Fit::Page, seed)
    }

    /// Opens the workload over the slots of requests on `logical_pages` pages. `fit` relates the
    /// sizes of requests and pages.
    fn open_on(
        &self,
        logical_pages: u32,
        fit: Fit,
        seed: u64,
    ) -> Result<Box<dyn Workload>, SpecError> {
        if logical_pages == 0 {
            return Err(SpecError::new("a workload needs at least 1 logical page, found 0", ""));
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        for (index, part) in self.parts.iter().enumerate() {
            let name = self.name_of(index);
            parts.push(Part {
                weight: part.weight,
                read: part.read,
                trim: part.trim,
                stream: part.place.stream,
                pages: part.open(logical_pages, fit, &Random { seed, name })?,
            });
        }
        Ok(Box::new(Commands::new(parts, Bulk::new(seed, "workload/choices"))))
    }

    /// Returns the name under which part number `index` draws its random numbers.
    pub(super) fn name_of(&self, index: usize) -> String {
        if self.mixture { format!("workload/{index}") } else { "workload".to_string() }
    }

    /// Opens the workload over `logical_pages` pages of `page_size` bytes, with requests of
    /// `request_size` bytes.
    ///
    /// Requests with the size of a page are those of [`open`](Self::open). A page holds `page_size
    /// / request_size` smaller requests, and each is drawn independently. A write of a part leaves
    /// the rest of its page unchanged, a read of a part reads the whole page, and a TRIM of a part
    /// discards nothing and is left out. A larger request is a run of pages that begins at a
    /// multiple of its size; pages after the last whole request are never addressed. The shares of
    /// a generator are shares of its requests.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), for as many logical pages as there are slots. A request
    /// size that is neither a divisor nor a multiple of the page size. No slots, or more than can
    /// be drawn from. Parts of pages in a workload that has only TRIMs. A request size other than
    /// the page size, if a generator determines its pages or their size. If a generator gives sizes,
    /// only those of [`open_extents`](Self::open_extents).
    pub fn open_sized(
        &self,
        logical_pages: u32,
        page_size: u32,
        request_size: u32,
        seed: u64,
    ) -> Result<Box<dyn Workload>, SpecError> {
        if self.has_sizes() {
            let requests = self.open_extents(logical_pages, page_size, request_size, seed)?;
            return Ok(Box::new(Cut::new(requests)));
        }
        let slots = self.open_slots(logical_pages, page_size, request_size, seed)?;
        Ok(match Fit::new(page_size, request_size)? {
            Fit::Page => slots,
            Fit::Part(parts) => Box::new(Parts::new(slots, parts, request_size)),
            Fit::Pages(pages) => Box::new(Several::new(slots, pages)),
        })
    }

    /// Opens the workload of [`open_sized`](Self::open_sized) with one command a request. The
    /// command's page is the number of the request's slot, which begins at byte
    /// `page * request_size`.
    ///
    /// # Errors
    /// The errors of [`open_sized`](Self::open_sized).
    pub(crate) fn open_slots(
        &self,
        logical_pages: u32,
        page_size: u32,
        request_size: u32,
        seed: u64,
    ) -> Result<Box<dyn Workload>, SpecError> {
        self.slots(logical_pages, page_size, request_size)?;
        self.open_on(logical_pages, Fit::new(page_size, request_size)?, seed)
    }

    /// Returns the number of requests of `request_size` bytes that lie side by side on
    /// `logical_pages` pages of `page_size`.
    ///
    /// # Errors
    /// The errors of [`open_sized`](Self::open_sized) that are not errors of [`open`](Self::open).
    pub fn slots(
        &self,
        logical_pages: u32,
        page_size: u32,
        request_size: u32,
    ) -> Result<u32, SpecError> {
        let fit = Fit::new(page_size, request_size)?;
        if fit != Fit::Page {
            self.check_places(page_size, request_size)?;
        }
        let trims = |part: &Weighted| bound32(part.read) == 0 && bound32(part.trim) == bound32(1.0);
        if matches!(fit, Fit::Part(_)) && self.parts.iter().all(trims) {
            return Err(SpecError::new(
                format!(
                    "'{self}' only TRIMs, and a TRIM of {request_size} bytes of a page of {page_size} \
                     bytes discards nothing"
                ),
                format!("a larger {}", option("request_size")),
            ));
        }
        fit.slots(logical_pages)
    }

    /// Refuses generators that determine their pages or the size of a page.
    fn check_places(&self, page_size: u32, request_size: u32) -> Result<(), SpecError> {
        let fixed =
            |part: &&Weighted| part.plan.fixed_pages().is_some() || part.plan.page_size().is_some();
        match self.parts.iter().find(fixed) {
            None => Ok(()),
            Some(part) => Err(SpecError::new(
                format!(
                    "{}: found requests of {request_size} bytes, expected one page of {page_size} \
                     bytes, because this workload names single pages",
                    part.params.owner()
                ),
                choice("request_size", format!("{page_size}B")),
            )),
        }
    }
}

impl Weighted {
    fn parse(weight: f64, text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let Some(info) = generators().iter().find(|info| info.name == spec.name) else {
            let hint = if spec.name.contains('+') {
                FORM.to_string()
            } else {
                suggest(&spec.name, generators().iter().map(|info| info.name))
            };
            return Err(SpecError::new(format!("unknown workload '{}'", spec.name), hint));
        };
        let params = Params::resolve(&spec, info.params)?;
        let share = |name| if info.decides_ops() { 0.0 } else { params.real(name) };
        let (read, trim) = (share("read"), share("trim"));
        let sum = read + trim;
        if sum > 1.0 {
            return Err(SpecError::new(
                format!("{}: read and trim sum to {sum}, expected at most 1", info.name),
                "they are shares of all commands; the rest are writes",
            ));
        }
        let plan = (info.plan)(&params)?;
        let (place, size_params) = (Place::read(&params)?, SizeParams::read(&params)?);
        if size_params.is_given() {
            plan.follows()?;
        }
        let params = params.without_defaults(info.params, &Place::NAMES);
        Ok(Self { weight, read, trim, place, size_params, params, plan })
    }

    /// Opens the generator on its part of the drive.
    fn open(
        &self,
        logical_pages: u32,
        fit: Fit,
        random: &Random,
    ) -> Result<Box<dyn Blocks>, SpecError> {
        let places = fit.places(self.place.pages(logical_pages));
        if places.is_empty() {
            return Err(SpecError::new(
                format!(
                    "{}: no request fits in its part of a drive of {}",
                    self.params,
                    count(logical_pages.into(), "logical page")
                ),
                "set from and to further apart, or use a larger drive",
            ));
        }
        let pages = self.plan.open(places.end - places.start, random)?;
        Ok(Shifted::by(places.start, pages))
    }
}

/// Writes the spec with all parameters, as results record it.
impl fmt::Display for GeneratorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str(" + ")?;
            }
            if self.mixture {
                write!(f, "{}*", part.weight)?;
            }
            write!(f, "{}", part.params)?;
        }
        Ok(())
    }
}

/// Splits a text into the parts of a mixture. A `+` separates two parts only if a weight follows
/// it, because paths and exponents can contain a `+`.
fn split(text: &str) -> Vec<(Option<f64>, &str)> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices('+') {
        if weight(&text[at + 1..]).0.is_some() {
            pieces.push(weight(&text[from..at]));
            from = at + 1;
        }
    }
    pieces.push(weight(&text[from..]));
    pieces
}

/// Splits `0.7*zipf` or `70%*zipf` into its weight and the rest.
fn weight(piece: &str) -> (Option<f64>, &str) {
    let weighted = piece.split_once('*').and_then(|(weight, rest)| {
        let weight = weight.trim();
        let value = match weight.strip_suffix('%') {
            Some(percent) => percent.trim_end().parse::<f64>().ok()? / 100.0,
            None => weight.parse().ok()?,
        };
        Some((value, rest.trim()))
    });
    match weighted {
        Some((value, rest)) => (Some(value), rest),
        None => (None, piece.trim()),
    }
}
