//! The models by name: their parameters, their answers, and the parameters that they hold for.

pub mod mean_field;

use crate::ModelError;
use crate::closed::separation::Pool;
use crate::closed::superblock::{self, Solution};
use crate::closed::{Closed, desnoyers, fifo, greedy, random};
use crate::meanfield::{Frontier, Selection, windowed};
use crate::query::{Kept, Number, Query, Workload};

/// One model, as listings, help texts and queries need it.
pub struct ModelInfo {
    /// The name people type.
    pub name: &'static str,
    /// The source file whose `//!` header documents it.
    pub source: &'static str,
    /// The parameters that change the model's answers, besides `pages_per_block` and `spare`.
    pub takes: &'static [&'static str],
    /// The victim policy that it is a model of, as `flashgc run` names it, with its parameters in
    /// braces; `None` if there is no such policy.
    pub policy: Option<&'static str>,
    /// `true` if one answer takes so long that somebody may want to stop it.
    pub slow: bool,
    answer: fn(&Query, &mut Kept) -> Result<Answer, ModelError>,
    write_amplification: fn(&Query, &mut Kept) -> Result<f64, ModelError>,
}

/// The answer of a model.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Page programs for each host write.
    pub write_amplification: f64,
    /// The residual of the model's own equation, which its documentation gives.
    pub residual: f64,
    /// Share of blocks with i valid pages just before a collection, i = 0..b; `None` if the model
    /// does not give it.
    pub valid: Option<Vec<f64>>,
    /// Chance that the block taken has i valid pages, i = 0..b; `None` if the model does not give
    /// it.
    pub victim: Option<Vec<f64>>,
    /// Chance that the stored block with the fewest valid pages has i of them, i = 0..b; `None`
    /// without memory.
    pub memory: Option<Vec<f64>>,
    /// The pools of a separation, one a class.
    pub pools: Option<Vec<Pool>>,
    /// The rest of the answer for a drive of superblocks.
    pub superblocks: Option<Solution>,
}

impl ModelInfo {
    /// Returns the whole answer of the model.
    ///
    /// # Errors
    /// Parameters that the model does not hold for.
    pub fn answer(&self, query: &Query, kept: &mut Kept) -> Result<Answer, ModelError> {
        let answer = (self.answer)(query, kept)?;
        settled(self.name, query, answer.residual)?;
        Ok(answer)
    }

    /// The write amplification alone, which is faster.
    ///
    /// # Errors
    /// Parameters that the model does not hold for.
    pub fn write_amplification(&self, query: &Query, kept: &mut Kept) -> Result<f64, ModelError> {
        (self.write_amplification)(query, kept)
    }

    /// Returns `true` if its drives have finitely many superblocks.
    pub fn has_superblocks(&self) -> bool {
        self.takes.contains(&"superblock")
    }

    /// Returns a query of this model with the default parameters.
    pub fn query(&self) -> Query {
        if self.has_superblocks() { Query::of_superblocks() } else { Query::default() }
    }

    /// Returns the least spare factor above 0 that the model may have an answer for.
    pub fn least_spare(&self, query: &Query) -> f64 {
        if self.has_superblocks() {
            superblock::least_spare(query.superblock_count(), query.superblock_frontier)
        } else {
            0.0
        }
    }
}

/// Every model, in the order in which listings show them.
pub fn models() -> &'static [ModelInfo] {
    MODELS
}

static MODELS: &[ModelInfo] = &[
    ModelInfo {
        name: "meanfield",
        source: include_str!("registry/mean_field.rs"),
        takes: &["d", "c", "workload", "frontier"],
        policy: Some("d-choices:d={d},c={c}"),
        slow: true,
        answer: |query, _| mean_field::answer(query),
        write_amplification: |query, _| Ok(mean_field::answer(query)?.write_amplification),
    },
    ModelInfo {
        name: "greedy",
        source: include_str!("closed/greedy.rs"),
        takes: &["workload", "frontier", "ties"],
        policy: Some("greedy:ties={ties}"),
        slow: true,
        answer: |query, _| {
            if query.workload == Workload::Uniform {
                return Ok(greedy::solve(&query.drive()?).into());
            }
            mean_field::two_classes("greedy", query, &Selection::Greedy { ties: query.ties })
        },
        write_amplification: |query, kept| {
            let drive = query.drive()?;
            if query.workload == Workload::Uniform {
                let sums = kept.greedy(drive.pages_per_block());
                return Ok(sums.write_amplification(drive.spare()));
            }
            let selection = Selection::Greedy { ties: query.ties };
            Ok(mean_field::two_classes("greedy", query, &selection)?.write_amplification)
        },
    },
    ModelInfo {
        name: "fifo",
        source: include_str!("closed/fifo.rs"),
        takes: &["workload", "frontier", "blocks"],
        policy: Some("fifo"),
        slow: false,
        answer: |query, kept| Ok(fifo::solve(&query.drive()?, kept.classes(query)?)?.into()),
        write_amplification: |query, kept| {
            fifo::write_amplification(query.drive()?.spare(), kept.classes(query)?)
        },
    },
    ModelInfo {
        name: "random",
        source: include_str!("closed/random.rs"),
        takes: &["workload", "frontier", "blocks"],
        policy: Some("random"),
        slow: false,
        answer: |query, kept| Ok(random::solve(&query.drive()?, kept.classes(query)?).into()),
        write_amplification: |query, _| Ok(random::write_amplification(query.drive()?.spare())),
    },
    ModelInfo {
        name: "windowed",
        source: include_str!("meanfield/windowed.rs"),
        takes: &["window", "workload", "frontier"],
        policy: Some("windowed:w={window}"),
        slow: false,
        answer: |query, _| {
            uniform_only("windowed", query)?;
            Ok(windowed::solve(&query.drive()?, query.window())?.into())
        },
        write_amplification: |query, _| {
            uniform_only("windowed", query)?;
            let solution = windowed::solve(&query.drive()?, query.window())?;
            settled("windowed", query, solution.residual)?;
            Ok(solution.write_amplification)
        },
    },
    ModelInfo {
        name: "desnoyers",
        source: include_str!("closed/desnoyers.rs"),
        takes: &["workload", "frontier", "blocks"],
        policy: Some("greedy"),
        slow: false,
        answer: |query, kept| {
            one_frontier("desnoyers", query)?;
            Ok(desnoyers::solve(&query.drive()?, kept.classes(query)?)?.into())
        },
        write_amplification: |query, kept| {
            one_frontier("desnoyers", query)?;
            desnoyers::write_amplification(&query.drive()?, kept.classes(query)?)
        },
    },
    ModelInfo {
        name: "separation",
        source: include_str!("closed/separation.rs"),
        takes: &["workload", "cleaner", "blocks"],
        policy: None,
        slow: false,
        answer: |query, kept| {
            let solved = kept.pools(query)?.divide(query.drive()?.spare())?;
            Ok(Answer {
                write_amplification: solved.write_amplification,
                residual: solved.residual,
                valid: None,
                victim: None,
                memory: None,
                pools: Some(solved.pools),
                superblocks: None,
            })
        },
        write_amplification: |query, kept| {
            let solved = kept.pools(query)?.divide(query.drive()?.spare())?;
            settled("separation", query, solved.residual)?;
            Ok(solved.write_amplification)
        },
    },
    ModelInfo {
        name: "superblock",
        source: include_str!("closed/superblock.rs"),
        takes: &["superblock", "parity", "blocks", "frontier"],
        policy: Some("greedy"),
        slow: false,
        answer: |query, kept| {
            let solution = solve_superblocks(query, kept)?;
            Ok(Answer {
                write_amplification: solution.write_amplification,
                residual: solution.residual,
                valid: None,
                victim: None,
                memory: None,
                pools: None,
                superblocks: Some(solution),
            })
        },
        write_amplification: |query, kept| Ok(solve_superblocks(query, kept)?.write_amplification),
    },
];

fn solve_superblocks(query: &Query, kept: &mut Kept) -> Result<Solution, ModelError> {
    let drive = query.superblocks()?;
    drive.solve(kept.greedy(drive.pages()))
}

/// The largest residual that a model's equation may have.
pub const LARGEST_RESIDUAL: f64 = 1e-10;

/// Refuses an answer that does not solve the model's equation.
fn settled(name: &str, query: &Query, residual: f64) -> Result<(), ModelError> {
    if residual <= LARGEST_RESIDUAL {
        return Ok(());
    }
    Err(ModelError::new(
        format!(
            "{name}: found no answer for {} pages a block and a spare factor of {:e}: {residual:.1e} \
             is left of its equation, expected at most {LARGEST_RESIDUAL:e}",
            query.get(Number::PagesPerBlock),
            query.get(Number::Spare)
        ),
        "parameters that are less extreme",
    ))
}

/// Refuses workloads that do not write all pages equally often.
fn uniform_only(name: &str, query: &Query) -> Result<(), ModelError> {
    if query.workload == Workload::Uniform {
        return Ok(());
    }
    Err(ModelError::new(
        format!(
            "{name}: found {}, expected uniform writes: the model treats all pages alike",
            writes_of(query)
        ),
        "meanfield and greedy take hot and cold data, fifo takes all",
    ))
}

/// Refuses two frontiers for workloads that do not write all pages equally often.
fn one_frontier(name: &str, query: &Query) -> Result<(), ModelError> {
    if query.frontier == Frontier::Single || query.workload == Workload::Uniform {
        return Ok(());
    }
    Err(ModelError::new(
        format!(
            "{name}: found a double frontier with {}, expected a single one: the model mixes host \
             writes and copies",
            writes_of(query)
        ),
        "meanfield and greedy take hot and cold data with it",
    ))
}

fn writes_of(query: &Query) -> &'static str {
    match query.workload {
        Workload::Uniform => "uniform writes",
        Workload::HotCold => "hot and cold data",
        Workload::Zipf => "zipf",
        Workload::Classes(_) => "classes of data",
    }
}

impl From<Closed> for Answer {
    fn from(closed: Closed) -> Self {
        let Closed { write_amplification, residual, valid, victim } = closed;
        Self {
            write_amplification,
            residual,
            valid,
            victim,
            memory: None,
            pools: None,
            superblocks: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_solve_the_equation_is_no_answer() {
        let query = Query::default();
        assert!(settled("x", &query, 1e-11).is_ok());
        for residual in [1.1e-10, f64::INFINITY, f64::NAN] {
            let error = settled("x", &query, residual).unwrap_err().to_string();
            assert!(error.starts_with("x: found no answer for 64 pages a block"), "{error}");
        }
    }
}
