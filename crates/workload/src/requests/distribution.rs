//! Distributions of sizes and times, as users type them: `exponential:32KiB`, `uniform:1ms:5ms`.
//! They know nothing of requests.

use std::f64::consts::TAU;
use std::fmt;

use flashgc_base::rng::Stream;
use flashgc_base::spec::{SpecError, suggest};

use crate::units::Quantity;

/// The distribution of one quantity, in bytes or nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    quantity: Quantity,
    law: Law,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// A constant: every draw has this value.
    Constant { value: f64 },
    /// Evenly distributed values between `low` and `high`.
    Uniform { low: f64, high: f64 },
    /// Exponential values, which are memoryless.
    Exponential { mean: f64 },
    /// Normal values; a draw below 0 counts as 0.
    Normal { mean: f64, deviation: f64 },
    /// Pareto values: P(X > x) = (scale / x)^shape for x of at least scale = mean (shape - 1) /
    /// shape.
    Pareto { mean: f64, shape: f64 },
}

/// The laws: the name of each, and the form in which users type it.
pub const LAWS: [(&str, &str); 5] = [
    ("constant", "constant:VALUE"),
    ("uniform", "uniform:LOW:HIGH"),
    ("exponential", "exponential:MEAN"),
    ("normal", "normal:MEAN:DEVIATION, draws below 0 count as 0"),
    ("pareto", "pareto:MEAN:SHAPE, with P(X > x) falling as x^-SHAPE, and SHAPE above 1"),
];

impl Distribution {
    /// Parses `LAW:VALUE[:VALUE]`, the value of the parameter `name`.
    ///
    /// # Errors
    /// The law is unknown, there are too few or too many values, or a value lacks its unit or is
    /// out of range.
    pub fn parse(name: &str, text: &str, quantity: Quantity) -> Result<Self, SpecError> {
        let mut pieces = text.split(':').map(str::trim);
        let law = pieces.next().unwrap_or_default();
        let values: Vec<&str> = pieces.collect();
        let Some((_, usage)) = LAWS.iter().find(|(known, _)| *known == law) else {
            return Err(SpecError::new(
                format!("{name}={text}: unknown distribution '{law}'"),
                suggest(law, LAWS.map(|(known, _)| known)),
            ));
        };
        let form = format!("write {name}={usage}");
        let quantity_of = |text: &&str| quantity.parse(name, text, &form);
        let law = match (law, &values[..]) {
            ("constant", [value]) => Law::Constant { value: quantity_of(value)? },
            ("uniform", [low, high]) => {
                Law::Uniform { low: quantity_of(low)?, high: quantity_of(high)? }
            }
            ("exponential", [mean]) => Law::Exponential { mean: quantity_of(mean)? },
            ("normal", [mean, deviation]) => {
                Law::Normal { mean: quantity_of(mean)?, deviation: quantity_of(deviation)? }
            }
            ("pareto", [mean, shape]) => {
                let shape = shape.parse().ok().filter(|shape: &f64| *shape > 1.0 && *shape <= 1e3);
                let shape = shape.ok_or_else(|| {
                    SpecError::new(
                        format!("{name}={text}: expected a shape above 1 and at most 1000"),
                        form.clone(),
                    )
                })?;
                Law::Pareto { mean: quantity_of(mean)?, shape }
            }
            _ => {
                let number = values.len();
                return Err(SpecError::new(
                    format!("{name}={text}: {number} is the wrong number of values"),
                    form,
                ));
            }
        };
        match law {
            Law::Uniform { low, high } if low > high => Err(SpecError::new(
                format!("{name}={text}: the lower value is above the higher"),
                form,
            )),
            _ => Ok(Self { quantity, law }),
        }
    }

    /// Makes an exponential distribution with this mean.
    pub fn exponential(quantity: Quantity, mean: f64) -> Self {
        Self { quantity, law: Law::Exponential { mean } }
    }

    /// Makes the distribution of a constant.
    pub fn constant(quantity: Quantity, value: f64) -> Self {
        Self { quantity, law: Law::Constant { value } }
    }

    /// Returns the mean in bytes or nanoseconds. It is the mean before negative draws become 0.
    pub fn mean(&self) -> f64 {
        match self.law {
            Law::Constant { value } => value,
            Law::Uniform { low, high } => (low + high) / 2.0,
            Law::Exponential { mean } | Law::Normal { mean, .. } | Law::Pareto { mean, .. } => mean,
        }
    }

    /// Returns the distribution of `factor` times the value.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let law = match self.law {
            Law::Constant { value } => Law::Constant { value: factor * value },
            Law::Uniform { low, high } => Law::Uniform { low: factor * low, high: factor * high },
            Law::Exponential { mean } => Law::Exponential { mean: factor * mean },
            Law::Normal { mean, deviation } => {
                Law::Normal { mean: factor * mean, deviation: factor * deviation }
            }
            Law::Pareto { mean, shape } => Law::Pareto { mean: factor * mean, shape },
        };
        Self { law, ..*self }
    }

    /// Draws one value, finite and at least 0.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match self.law {
            Law::Constant { value } => value,
            Law::Uniform { low, high } => low + (high - low) * stream.unit(),
            // 1 - u is never 0, so that its logarithm is finite.
            Law::Exponential { mean } => -mean * libm::log(1.0 - stream.unit()),
            Law::Normal { mean, deviation } => {
                // The method of Box and Muller (1958). The second number of the pair is not used,
                // so that each draw takes two random words.
                let radius = (-2.0 * libm::log(1.0 - stream.unit())).sqrt();
                let angle = TAU * stream.unit();
                (mean + deviation * radius * libm::cos(angle)).max(0.0)
            }
            Law::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * libm::pow(1.0 - stream.unit(), -1.0 / shape)
            }
        }
    }
}

/// Writes the distribution in a form that users can type.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: f64| self.quantity.format(value);
        match self.law {
            Law::Constant { value: only } => write!(f, "constant:{}", value(only)),
            Law::Uniform { low, high } => write!(f, "uniform:{}:{}", value(low), value(high)),
            Law::Exponential { mean } => write!(f, "exponential:{}", value(mean)),
            Law::Normal { mean, deviation } => {
                write!(f, "normal:{}:{}", value(mean), value(deviation))
            }
            Law::Pareto { mean, shape } => write!(f, "pareto:{}:{shape}", value(mean)),
        }
    }
}
