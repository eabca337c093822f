//! The place of a generator: its part of the drive and the stream of its writes. Every generator
//! has these parameters, so that several tenants can share one drive.

use std::ops::Range;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::stream::{NO_STREAM, StreamId};

use super::{ALIGN, BLOCK, Blocks, SIZE};
use crate::Op;

/// The stream of a generator's writes.
pub(super) const STREAM: Param =
    Param::text("stream", Some("none")).help("stream of the writes, from 0 to 254");

/// The beginning of the generator's part of the drive, as a share of all pages. It is rounded to
/// the nearest page, so that adjacent parts share no page.
pub(super) const FROM: Param = Param::share("from", Some("0"))
    .help("share of the logical pages before its part of the drive, rounded to a whole page");

/// The end of the generator's part of the drive, as a share of all pages, rounded like `FROM`.
pub(super) const TO: Param = Param::share("to", Some("1"))
    .help("share of the logical pages up to the end of its part, rounded to a whole page");

/// A part of a drive, and the stream of writes to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub stream: StreamId,
    from: f64,
    to: f64,
}

impl Place {
    /// The parameters that a spec's text omits if they have their defaults, so that the texts of
    /// older versions do not change.
    pub const NAMES: [&str; 5] = [STREAM.name, FROM.name, TO.name, SIZE.name, ALIGN.name];

    /// Reads the place from the parameters. It is an error if the stream is not from 0 to 254, or
    /// if the part ends before it begins.
    pub fn read(params: &Params) -> Result<Self, SpecError> {
        let (name, text) = (params.owner(), params.text(STREAM.name));
        let stream = match text {
            "none" => Some(NO_STREAM),
            // Only the canonical text of each number is accepted.
            text => (0..NO_STREAM).find(|stream| stream.to_string() == text),
        };
        let Some(stream) = stream else {
            return Err(SpecError::new(
                format!("{name}: stream={text} is not a whole number from 0 to 254, or none"),
                format!("{}, for example stream=0", STREAM.help),
            ));
        };
        let (from, to) = (params.real(FROM.name), params.real(TO.name));
        if from >= to {
            return Err(SpecError::new(
                format!("{name}: found from={from} and to={to}, expected from below to"),
                "they are the two ends of its part of the drive, for example from=0.5,to=1",
            ));
        }
        Ok(Self { stream, from, to })
    }

    /// Returns `true` if the part is the whole drive.
    pub fn is_whole(&self) -> bool {
        (self.from, self.to) == (0.0, 1.0)
    }

    /// Returns the pages of the part on a drive of `logical_pages` pages. The range may be empty.
    pub fn pages(&self, logical_pages: u32) -> Range<u32> {
        let page = |share: f64| (share * f64::from(logical_pages)).round() as u32;
        page(self.from)..page(self.to)
    }
}

/// A generator whose first page is not page 0.
#[derive(State)]
pub(super) struct Shifted {
    #[snapshot(state)]
    inner: Box<dyn Blocks>,
    #[snapshot(skip)]
    first: u32,
}

impl Shifted {
    /// Adds `first` to each page of `inner`. If `first` is 0, returns `inner` itself.
    pub fn by(first: u32, inner: Box<dyn Blocks>) -> Box<dyn Blocks> {
        if first == 0 { inner } else { Box::new(Self { inner, first }) }
    }
}

impl Blocks for Shifted {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        self.inner.block(pages);
        pages.iter_mut().for_each(|page| *page += self.first);
    }

    fn ops(&self) -> Option<&[Op; BLOCK]> {
        self.inner.ops()
    }
}
