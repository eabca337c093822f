//! The parameters that models share, and the error for wrong parameters. Each parameter is checked
//! once.

/// The reason why a model has no answer: what was found, what was expected, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; hint: {hint}")]
pub struct ModelError {
    /// The fault, with the parameter's name first.
    pub message: String,
    /// A hint: the values that are allowed, or another model.
    pub hint: String,
}

impl ModelError {
    /// An error that says `message` and proposes `hint`.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// The most pages of a block that the models accept.
pub const LARGEST_BLOCK: u32 = 4096;

/// A drive with infinitely many blocks, given by its pages a block and its spare factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    pages_per_block: u32,
    spare: f64,
}

impl Drive {
    /// A drive of `pages_per_block` (b) pages a block of which the share `spare` (S_f, of the
    /// physical space) is not offered to the host.
    ///
    /// # Errors
    /// b outside 1 to [`LARGEST_BLOCK`]; S_f that is not strictly between 0 and 1.
    pub fn new(pages_per_block: u32, spare: f64) -> Result<Self, ModelError> {
        if !(1..=LARGEST_BLOCK).contains(&pages_per_block) {
            return Err(ModelError::new(
                format!("pages per block: found {pages_per_block}, expected 1 to {LARGEST_BLOCK}"),
                "drives have 64 to 2048",
            ));
        }
        Ok(Self { pages_per_block, spare: checked_spare(spare)? })
    }

    /// Pages a block, b.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Spare factor, S_f.
    pub fn spare(&self) -> f64 {
        self.spare
    }

    /// Share of valid pages, rho = 1 - S_f.
    pub fn rho(&self) -> f64 {
        1.0 - self.spare
    }
}

/// Returns `spare`, if it is a spare factor for which models hold.
pub(crate) fn checked_spare(spare: f64) -> Result<f64, ModelError> {
    if spare > 0.0 && spare < 1.0 {
        return Ok(spare);
    }
    let why = if spare == 0.0 {
        "without spare space nothing can be collected"
    } else if spare == 1.0 {
        "a drive without logical pages takes no writes"
    } else {
        "it is a share of the physical space"
    };
    Err(ModelError::new(
        format!("spare: found {spare}, expected more than 0 and less than 1: {why}"),
        "write 0.07 or 7%",
    ))
}

/// Rosenblum's hot and cold pages: the share f of the pages gets the share r of the writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotCold {
    f: f64,
    r: f64,
}

impl HotCold {
    /// Hot pages are the share `f` of the logical pages and get the share `r` of the writes.
    ///
    /// # Errors
    /// A share that is not strictly between 0 and 1.
    pub fn new(f: f64, r: f64) -> Result<Self, ModelError> {
        for (name, share) in [("f", f), ("r", r)] {
            if !(share > 0.0 && share < 1.0) {
                return Err(ModelError::new(
                    format!(
                        "hot and cold: found {name}={share}, expected more than 0 and less than 1"
                    ),
                    "f is the share of the pages that is hot, r the share of writes there: f=0.2,r=0.8",
                ));
            }
        }
        Ok(Self { f, r })
    }

    /// Share of the logical pages that is hot.
    pub fn f(&self) -> f64 {
        self.f
    }

    /// Share of the writes that goes to hot pages.
    pub fn r(&self) -> f64 {
        self.r
    }
}
