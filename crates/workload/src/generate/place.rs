//! Where a generator works and what its writes are called: a part of the drive, and a stream. Every
//! generator takes these parameters, so that tenants work side by side on one drive.

use std::ops::Range;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Kind, Param, Params, SpecError};
use flashgc_base::state;
use flashgc_base::stream::{NO_STREAM, StreamId};

use super::{BLOCK, Blocks};
use crate::Op;

/// The stream of a generator's writes.
pub(super) const STREAM: Param = Param {
    name: "stream",
    kind: Kind::Text,
    default: Some("none"),
    help: "stream of the writes, from 0 to 254",
};

/// Where the part of the drive begins on which a generator works. A page is the first of the part if
/// its number is nearest to this share of all: parts that share a border share no page.
pub(super) const FROM: Param = Param {
    name: "from",
    kind: Kind::Real { min: 0.0, max: 1.0 },
    default: Some("0"),
    help: "share of the logical pages before its part of the drive, rounded to a whole page",
};

/// Where that part ends, likewise.
pub(super) const TO: Param = Param {
    name: "to",
    kind: Kind::Real { min: 0.0, max: 1.0 },
    default: Some("1"),
    help: "share of the logical pages up to the end of its part, rounded to a whole page",
};

/// A part of a drive, and the stream of what is written there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub stream: StreamId,
    from: f64,
    to: f64,
}

impl Place {
    /// The parameters that a text leaves out where they have their defaults: older texts stay.
    pub const NAMES: [&str; 3] = [STREAM.name, FROM.name, TO.name];

    /// Errors: a stream that is none of 0 to 254; a part that ends before it begins.
    pub fn read(params: &Params) -> Result<Self, SpecError> {
        let (name, text) = (params.owner(), params.text(STREAM.name));
        let stream = match text {
            "none" => Some(NO_STREAM),
            // One text for each number.
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

    /// Whether it is the whole drive.
    pub fn is_whole(&self) -> bool {
        (self.from, self.to) == (0.0, 1.0)
    }

    /// The pages of the part of a drive of `logical_pages`; there may be none.
    pub fn pages(&self, logical_pages: u32) -> Range<u32> {
        let page = |share: f64| (share * f64::from(logical_pages)).round() as u32;
        page(self.from)..page(self.to)
    }
}

/// A generator whose pages begin at another page than 0.
pub(super) struct Shifted {
    inner: Box<dyn Blocks>,
    first: u32,
}

impl Shifted {
    /// The pages of `inner`, each `first` higher: itself where that changes nothing.
    pub fn by(first: u32, inner: Box<dyn Blocks>) -> Box<dyn Blocks> {
        if first == 0 { inner } else { Box::new(Self { inner, first }) }
    }
}

impl State for Shifted {
    state! {
        states: inner;
        fixed: first;
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
