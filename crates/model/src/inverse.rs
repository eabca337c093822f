//! Models solved for a parameter: how much spare space, or how many choices, a wanted write
//! amplification needs.

use crate::closed::greedy;
use crate::query::{Kept, Number, Query};
use crate::registry::ModelInfo;
use crate::{ModelError, root};

/// The least spare factor that an answer may have.
pub const LEAST_SPARE: f64 = 1e-6;
/// The largest spare factor that an answer may have.
pub const MOST_SPARE: f64 = 1.0 - 1e-6;

/// The spare factor at which `model` writes `wanted` pages for each host write. Where the model jumps
/// over `wanted`, which only `compact` and `mixed` superblocks do, it is that of the jump.
///
/// # Errors
/// A wanted value that no spare factor gives, with the range of possible values; parameters that
/// the model does not hold for.
pub fn spare_for(model: &ModelInfo, query: &Query, wanted: f64) -> Result<f64, ModelError> {
    if wanted.is_nan() || wanted <= 1.0 {
        return Err(ModelError::new(
            format!("wanted: found a write amplification of {wanted}, expected more than 1"),
            "2 is low, 5 is usual",
        ));
    }
    let least = model.least_spare(query).max(LEAST_SPARE);
    let (mut query, mut kept) = (query.clone(), Kept::default());
    let mut written = |spare: f64| -> Result<f64, ModelError> {
        query.set(Number::Spare, spare)?;
        model.write_amplification(&query, &mut kept)
    };
    // The write amplification of random cleaning is 1 / S_f, and that of nearly all other models is
    // lower. So the search begins at S_f = 1 / `wanted`, and goes outwards.
    let mut high = (1.0 / wanted).max(least).min(MOST_SPARE);
    while written(high)? > wanted {
        if high >= MOST_SPARE {
            return Err(unreachable(wanted, "at least", written(MOST_SPARE)?, MOST_SPARE));
        }
        high = (1.0 - (1.0 - high) / 4.0).min(MOST_SPARE);
    }
    let mut low = high;
    while written(low)? < wanted {
        if low <= least {
            return Err(unreachable(wanted, "at most", written(least)?, least));
        }
        high = low;
        low = (low / 2.0).max(least);
    }
    let mut failed = None;
    let solution = root::find("spare", low, high, |spare| match written(spare) {
        Ok(written) => written - wanted,
        Err(error) => {
            failed = Some(error);
            f64::NAN
        }
    });
    failed.map_or(solution, Err)
}

fn unreachable(wanted: f64, what: &str, limit: f64, spare: f64) -> ModelError {
    ModelError::new(
        format!(
            "wanted: found a write amplification of {wanted}, expected {what} {limit:.6}, which \
             the model gives at a spare factor of {spare}"
        ),
        "other parameters, such as pages a block, move the limit",
    )
}

/// The smallest d with which d choices and `c` stored blocks write at most (1 + `share`) times as
/// much as greedy under uniform writes. `None` if `most` choices are not enough.
///
/// # Errors
/// A share that is not above 0; parameters that the mean field does not hold for.
pub fn choices_within(
    model: &ModelInfo,
    query: &Query,
    share: f64,
    most: u32,
) -> Result<Option<u32>, ModelError> {
    if !(share > 0.0 && share.is_finite()) {
        return Err(ModelError::new(
            format!("within: found {share}, expected a share above 0"),
            "write 1%",
        ));
    }
    let limit = (1.0 + share) * greedy::solve(&query.drive()?).write_amplification;
    let (mut query, mut kept) = (query.clone(), Kept::default());
    // With stored blocks d is at least 2.
    let least = if query.get(Number::C) > 0.0 { 2 } else { 1 };
    let mut enough = |d: u32| -> Result<bool, ModelError> {
        query.set(Number::D, d.into())?;
        Ok(model.write_amplification(&query, &mut kept)? <= limit)
    };
    // More choices never write more. So d is doubled until it is enough, and then found by
    // bisection.
    let (mut few, mut many) = (least - 1, least);
    while !enough(many)? {
        if many >= most {
            return Ok(None);
        }
        (few, many) = (many, (many * 2).min(most));
    }
    while many - few > 1 {
        let middle = few.midpoint(many);
        if enough(middle)? { many = middle } else { few = middle }
    }
    Ok(Some(many))
}
