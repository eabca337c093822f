//! Workload specs with sizes: from the parameters `size` and `align` to requests of bytes.

use flashgc_base::naming::{option, subject};
use flashgc_base::spec::SpecError;

use super::bulk::Bulk;
use super::commands::Part;
use super::extents::{Extent, Extents};
use super::place::Shifted;
use super::sizes::{Sizes, gcd};
use super::spec::{GeneratorSpec, Weighted};
use super::{Random, bound32};

impl GeneratorSpec {
    /// Returns `true` if a generator gives its requests sizes, or boundaries where they begin.
    pub fn has_sizes(&self) -> bool {
        self.parts.iter().any(|part| part.size_params.is_given())
    }

    /// Returns `true` if every generator gives its requests sizes, so that the size that a run gives
    /// them means nothing.
    pub fn decides_sizes(&self) -> bool {
        self.parts.iter().all(|part| part.size_params.sizes.is_some())
    }

    /// Opens the requests of a workload that [has sizes](Self::has_sizes). Requests of a generator
    /// without sizes have `request_size` bytes.
    ///
    /// # Errors
    /// The errors of [`check_sizes`](Self::check_sizes).
    pub fn open_extents(
        &self,
        logical_pages: u32,
        page_size: u32,
        request_size: u32,
        seed: u64,
    ) -> Result<Extents, SpecError> {
        self.check_sizes(logical_pages, page_size, request_size)?;
        let mut parts = Vec::with_capacity(self.parts.len());
        for (index, part) in self.parts.iter().enumerate() {
            let name = self.name_of(index);
            let extent = part.extent(logical_pages, page_size, request_size)?;
            let sizes = extent.sizes.open(Bulk::new(seed, &format!("{name}/sizes")));
            let boundaries = extent.boundaries().map_err(|error| part.named(error))?;
            let drawn =
                part.plan.open(boundaries.end - boundaries.start, &Random { seed, name })?;
            let pages = Shifted::by(boundaries.start, drawn);
            let (weight, stream) = (part.weight, part.place.stream);
            let drawn = Part { weight, read: part.read, trim: part.trim, stream, pages };
            parts.push((drawn, extent, sizes));
        }
        Ok(Extents::new(parts, Bulk::new(seed, "workload/choices"), page_size))
    }

    /// Checks that the workload can be opened on `logical_pages` pages of `page_size` bytes, with
    /// requests of `request_size` bytes if a generator does not give them sizes.
    ///
    /// # Errors
    /// If no generator gives sizes, those of [`slots`](Self::slots). Otherwise: a page that is no
    /// power of two. A generator that names single pages. No room for a request, or too many places
    /// where one may begin. Only TRIMs, of which some might discard no page.
    pub fn check_sizes(
        &self,
        logical_pages: u32,
        page_size: u32,
        request_size: u32,
    ) -> Result<(), SpecError> {
        if !self.has_sizes() {
            return self.slots(logical_pages, page_size, request_size).map(drop);
        }
        if !page_size.is_power_of_two() {
            return Err(SpecError::new(
                format!("{self}: found a page of {page_size} bytes, expected a power of two"),
                "leave out size= and align=",
            ));
        }
        if self.decides_sizes() && request_size != page_size {
            return Err(SpecError::new(
                format!(
                    "{} {request_size}B does not go with size= in every generator, which gives each \
                     request its size",
                    subject("request_size")
                ),
                format!("leave {} out", option("request_size")),
            ));
        }
        let mut discards = false;
        for part in &self.parts {
            let names_pages = part.plan.fixed_pages().is_some() || part.plan.page_size().is_some();
            if names_pages && (part.size_params.is_given() || request_size != page_size) {
                return Err(SpecError::new(
                    format!(
                        "{}: found requests with sizes, expected pages of {page_size} bytes, because this \
                         workload names single pages",
                        part.params.owner()
                    ),
                    format!("leave out size= and align=, and {}", option("request_size")),
                ));
            }
            let extent = part.extent(logical_pages, page_size, request_size)?;
            extent.boundaries().map_err(|error| part.named(error))?;
            let only_trims = bound32(part.read) == 0 && bound32(part.trim) == bound32(1.0);
            let least = u64::from(extent.sizes.least());
            let begins_pages = extent.align % page_size == 0 && !extent.follows;
            let needed = if begins_pages { page_size.into() } else { 2 * u64::from(page_size) - 1 };
            discards |= !only_trims || least >= needed;
        }
        if discards {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "'{self}' only TRIMs, and a TRIM that covers no whole page of {page_size} bytes discards \
                 nothing"
            ),
            "larger sizes",
        ))
    }

    /// Returns `true` if some requests begin or end inside a page.
    pub fn cuts_pages(&self, page_size: u32, request_size: u32) -> bool {
        self.parts.iter().any(|part| {
            let sizes = part.sizes(request_size);
            let align = part.size_params.align.unwrap_or(sizes.least());
            !sizes.divisor().is_multiple_of(page_size) || !align.is_multiple_of(page_size)
        })
    }

    /// Returns the mean number of pages of a request, for whole pages the exact one. The places
    /// where requests begin count as equally likely.
    pub fn pages_a_request(&self, page_size: u32, request_size: u32) -> f64 {
        let of_part = |part: &Weighted| {
            let sizes = part.sizes(request_size);
            let align = part.size_params.align.unwrap_or(sizes.least());
            part.weight * sizes.mean(|bytes| pages_of(bytes, align, page_size))
        };
        self.parts.iter().map(of_part).sum()
    }

    /// Returns the number of page commands of each request if all have the same number.
    pub fn pages_of_each(&self, page_size: u32, request_size: u32) -> Option<u32> {
        if !self.has_sizes() {
            // Parts of pages that are discarded count, too.
            return Some((request_size / page_size).max(1));
        }
        let discards = self.parts.iter().any(|part| part.trim > 0.0);
        if discards && self.cuts_pages(page_size, request_size) {
            return None;
        }
        let size = |part: &Weighted| {
            let sizes = part.sizes(request_size);
            let pages = sizes.most().div_ceil(page_size);
            // Requests that begin at pages, or that begin and end in the same page.
            let align = part.size_params.align.unwrap_or(sizes.least());
            let begins_pages = align.is_multiple_of(page_size);
            let in_page = page_size.is_multiple_of(align) && sizes.most() <= align;
            let same = sizes.least().div_ceil(page_size) == pages;
            Some(pages).filter(|_| same && (begins_pages || in_page))
        };
        let first = size(self.parts.first()?)?;
        self.parts.iter().all(|part| size(part) == Some(first)).then_some(first)
    }
}

impl Weighted {
    /// Returns the sizes of the generator's requests: its own, or `request_size` bytes.
    fn sizes(&self, request_size: u32) -> Sizes {
        self.size_params.sizes.clone().unwrap_or_else(|| Sizes::single(request_size))
    }

    /// Returns the bytes of the generator's part of the drive, with its sizes and boundaries.
    fn extent(
        &self,
        logical_pages: u32,
        page_size: u32,
        request_size: u32,
    ) -> Result<Extent, SpecError> {
        let sizes = self.sizes(request_size);
        let pages = self.place.pages(logical_pages);
        let byte = |page: u32| u64::from(page) * u64::from(page_size);
        let follows = self.size_params.is_given() && self.plan.follows()?;
        // A request that follows another one may begin at any byte.
        let usual = if follows { 1 } else { sizes.least() };
        let align = self.size_params.align.unwrap_or(usual);
        Ok(Extent { sizes, align, bytes: byte(pages.start)..byte(pages.end), follows })
    }

    /// Names the generator in an error.
    fn named(&self, error: SpecError) -> SpecError {
        SpecError::new(format!("{}: {}", self.params, error.message), error.hint)
    }
}

/// Returns the mean number of pages of a request of `bytes` bytes that begins at a multiple of
/// `align`, if all these are equally likely within a page of `page_size` bytes.
fn pages_of(bytes: u32, align: u32, page_size: u32) -> f64 {
    let step = gcd(align, page_size);
    let (whole, rest) = ((bytes - 1) / page_size, (bytes - 1) % page_size + 1);
    // The places from which the rest does not go beyond its page.
    let within = (page_size - rest) / step + 1;
    f64::from(whole) + 2.0 - f64::from(within) / f64::from(page_size / step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_pages_of_a_request_are_those_counted() {
        for (bytes, align, page) in [
            (4096, 4096, 4096),
            (4097, 4096, 4096),
            (512, 512, 4096),
            (5000, 24, 4096),
            (1, 3, 512),
        ] {
            let begins: Vec<u64> = (0..u64::from(page)).map(|n| n * u64::from(align)).collect();
            let (size, page_bytes) = (u64::from(bytes), u64::from(page));
            let pages = |begin: &u64| (begin + size).div_ceil(page_bytes) - begin / page_bytes;
            let mean = begins.iter().map(pages).sum::<u64>() as f64 / begins.len() as f64;
            assert_eq!(pages_of(bytes, align, page), mean, "{bytes} at {align} on {page}");
        }
    }
}
