//! Proportions of pages and of commands: the classes of generators that have classes.

use flashgc_base::spec::{Param, Params, SpecError, count};

use super::class::Class;

pub(super) const PAGES: Param =
    Param::text("pages", Some("20/80")).help("pages of each class, as proportions");
pub(super) const SHARES: Param =
    Param::text("shares", Some("80/20")).help("commands of each class, as proportions");

/// The proportions of pages and of commands, one of each for a class.
#[derive(Debug)]
pub(super) struct Proportions {
    owner: String,
    pages: Vec<f64>,
    shares: Vec<f64>,
}

impl Proportions {
    /// Reads [`PAGES`] and [`SHARES`]. It is an error if a text is no list of proportions, or if
    /// the lists differ in length.
    pub fn read(params: &Params) -> Result<Self, SpecError> {
        let (pages, shares) = (proportions(params, &PAGES)?, proportions(params, &SHARES)?);
        if pages.len() != shares.len() {
            return Err(SpecError::new(
                format!(
                    "{}: found {} values in pages and {} in shares, expected the same number",
                    params.owner(),
                    pages.len(),
                    shares.len()
                ),
                "give one of each for every class, for example pages=1/9/90,shares=60/30/10",
            ));
        }
        Ok(Self { owner: params.owner().to_string(), pages, shares })
    }

    /// Reads as many numbers of pages as of shares, separated by `/`. Returns `None` if a list
    /// is none of proportions.
    pub fn of(owner: &str, pages: &str, shares: &str) -> Option<Self> {
        let (pages, shares) = (numbers(pages)?, numbers(shares)?);
        assert_eq!(pages.len(), shares.len(), "as many pages as shares");
        Some(Self { owner: owner.to_string(), pages, shares })
    }

    /// Returns the share of the commands of each class, as proportions.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Returns the classes on a drive of `pages` pages, one after the other. It is an error if a
    /// class has commands but no page.
    pub fn on(&self, pages: u32) -> Result<Vec<Class>, SpecError> {
        let sum: f64 = self.pages.iter().sum();
        let (mut classes, mut below, mut first) = (Vec::new(), 0.0, 0);
        for (number, (part, share)) in (1..).zip(self.pages.iter().zip(&self.shares)) {
            below += part;
            let end = (below / sum * f64::from(pages)).round().min(f64::from(pages)) as u32;
            if end == first && *share > 0.0 {
                return Err(SpecError::new(
                    format!(
                        "{}: none of {} is in class {number}, which has a share of the \
                         commands",
                        self.owner,
                        count(pages.into(), "page")
                    ),
                    "use more logical pages, or make the class larger",
                ));
            }
            classes.push(Class { first, pages: end - first });
            first = end;
        }
        Ok(classes)
    }
}

/// Reads numbers separated by `/`, none of them below 0 and not all of them 0.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let good = |value: &f64| value.is_finite() && *value >= 0.0;
    let parsed: Option<Vec<f64>> =
        text.split('/').map(|part| part.trim().parse().ok().filter(good)).collect();
    parsed.filter(|parts| parts.iter().sum::<f64>().is_normal())
}

/// Reads the numbers of a parameter.
fn proportions(params: &Params, param: &Param) -> Result<Vec<f64>, SpecError> {
    let (owner, text) = (params.owner(), params.text(param.name));
    numbers(text).ok_or_else(|| {
        let name = param.name;
        SpecError::new(
            format!(
                "{owner}: found {name}={text}, expected numbers from 0 separated by '/', at \
                     least one above 0"
            ),
            format!("{}, for example {name}={}", param.help, param.default.unwrap_or_default()),
        )
    })
}
