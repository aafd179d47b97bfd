//! Parameters: declared once, validated, slewed at the cycle border.

/// The most parameters that one bench can declare.
pub const MAX_PARAMS: usize = 32;

/// How a control for the parameter divides its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal ratios; the range must be positive.
    Logarithmic,
}

/// One parameter that may change while the bench runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Stable name in files, scripts and output.
    pub id: &'static str,
    /// What a person reads; may change.
    pub label: &'static str,
    /// SI unit.
    pub unit: &'static str,
    /// Value at start unless the session says otherwise.
    pub default: f64,
    /// Smallest accepted value.
    pub min: f64,
    /// Largest accepted value.
    pub max: f64,
    /// Fastest change of the value that the bench sees, in units per second; `None` applies at once.
    pub slew_per_s: Option<f64>,
    /// How a control divides the range.
    pub scale: Scale,
    /// Names of the values 0, 1, …, if it is a choice; empty for a number.
    pub choices: &'static [&'static str],
    /// What has to happen before the bench can use a new value.
    pub applies: Applies,
    /// One sentence on what it does.
    pub help: &'static str,
}

/// What has to happen before the bench can use a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// Nothing: the loop takes the value as it is.
    Directly,
    /// Gains are designed and judged outside the loop, and come with the value ([`crate::bench::Update`]).
    ByDesign,
}

/// Why a parameter was not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    /// No such parameter.
    #[error("there is no parameter '{name}'; parameters: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// Outside its range, or not a number.
    #[error(
        "parameter '{id}' = {value} {unit} is refused: it must lie within {min} to {max} {unit}"
    )]
    OutOfRange {
        /// The parameter.
        id: &'static str,
        /// What was asked for.
        value: f64,
        /// Its unit.
        unit: &'static str,
        /// Smallest accepted value.
        min: f64,
        /// Largest accepted value.
        max: f64,
    },
}

impl ParamSpec {
    /// A number for whose values gains are designed; logarithmic unless its range begins at 0.
    pub const fn designed(
        id: &'static str,
        label: &'static str,
        unit: &'static str,
        default: f64,
        (min, max): (f64, f64),
        help: &'static str,
    ) -> Self {
        Self {
            id,
            label,
            unit,
            default,
            min,
            max,
            slew_per_s: None,
            scale: if min > 0.0 {
                Scale::Logarithmic
            } else {
                Scale::Linear
            },
            choices: &[],
            applies: Applies::ByDesign,
            help,
        }
    }

    /// Accepts a value within the range and refuses every other, NaN included. A choice has whole values.
    pub fn check(&self, value: f64) -> Result<f64, ParamError> {
        let is_whole = self.choices.is_empty() || value.fract() == 0.0;
        if (self.min..=self.max).contains(&value) && is_whole {
            Ok(value)
        } else {
            Err(ParamError::OutOfRange {
                id: self.id,
                value,
                unit: self.unit,
                min: self.min,
                max: self.max,
            })
        }
    }
}

/// Finds a parameter by its identifier.
pub fn find(specs: &[ParamSpec], id: &str) -> Result<usize, ParamError> {
    specs
        .iter()
        .position(|p| p.id == id)
        .ok_or_else(|| ParamError::Unknown {
            name: id.to_owned(),
            known: specs.iter().map(|p| p.id).collect::<Vec<_>>().join(", "),
        })
}

/// The values of a bench's parameters as the real-time loop holds them.
#[derive(Clone, Copy, Debug)]
pub struct ParamSet {
    specs: &'static [ParamSpec],
    targets: [f64; MAX_PARAMS],
    values: [f64; MAX_PARAMS],
}

impl ParamSet {
    /// All parameters at their defaults. Specifications past [`MAX_PARAMS`] are a programming error
    /// that the registry's own test catches.
    pub fn new(specs: &'static [ParamSpec]) -> Self {
        let mut set = Self {
            specs,
            targets: [0.0; MAX_PARAMS],
            values: [0.0; MAX_PARAMS],
        };
        for (i, spec) in specs.iter().take(MAX_PARAMS).enumerate() {
            set.targets[i] = spec.default;
            set.values[i] = spec.default;
        }
        set
    }

    /// The declarations, in the order of their indices.
    pub fn specs(&self) -> &'static [ParamSpec] {
        self.specs
    }

    /// The value that the bench sees in this cycle.
    pub fn get(&self, index: usize) -> f64 {
        self.values[index]
    }

    /// The value that was accepted last and that a slewed parameter moves to.
    pub fn target(&self, index: usize) -> f64 {
        self.targets[index]
    }

    /// Sets value and target at once: for the start of a run, before anything moves.
    pub fn preset(&mut self, id: &str, value: f64) -> Result<(), ParamError> {
        let index = find(self.specs, id)?;
        self.targets[index] = self.specs[index].check(value)?;
        self.values[index] = value;
        Ok(())
    }

    /// Accepts a new target within the range; every other is refused (`false`) and changes nothing, and
    /// so is a value that needs a design.
    /// A parameter without slew has the value from this cycle on.
    pub fn request(&mut self, index: usize, value: f64) -> bool {
        let Some(spec) = self.specs.get(index) else {
            return false;
        };
        if spec.check(value).is_err() || spec.applies == Applies::ByDesign {
            return false;
        }
        self.targets[index] = value;
        if spec.slew_per_s.is_none() {
            self.values[index] = value;
        }
        true
    }

    /// Sets value and target at once to what a design was made for; refuses what is out of range.
    pub fn take_designed(&mut self, index: usize, value: f64) -> bool {
        let fits = self
            .specs
            .get(index)
            .is_some_and(|s| s.check(value).is_ok());
        if fits {
            self.targets[index] = value;
            self.values[index] = value;
        }
        fits
    }

    /// Moves every slewed parameter toward its target for one cycle of `dt` seconds.
    pub fn advance(&mut self, dt: f64) {
        for (i, spec) in self.specs.iter().enumerate() {
            if let Some(rate) = spec.slew_per_s {
                let step = rate * dt;
                self.values[i] += (self.targets[i] - self.values[i]).clamp(-step, step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SPECS: [ParamSpec; 2] = [
        ParamSpec {
            id: "gain",
            label: "Gain",
            unit: "N/m",
            default: 1.0,
            min: 0.5,
            max: 2.0,
            slew_per_s: None,
            scale: Scale::Logarithmic,
            choices: &[],
            applies: Applies::Directly,
            help: "",
        },
        ParamSpec {
            id: "height",
            label: "Height",
            unit: "m",
            default: 0.0,
            min: -1.0,
            max: 1.0,
            slew_per_s: Some(0.5),
            scale: Scale::Linear,
            choices: &[],
            applies: Applies::Directly,
            help: "",
        },
    ];

    #[test]
    fn out_of_range_is_refused_with_the_range_and_changes_nothing() {
        let mut set = ParamSet::new(&SPECS);
        for bad in [0.49, 2.01, f64::NAN, f64::INFINITY] {
            let text = set.preset("gain", bad).unwrap_err().to_string();
            assert!(text.contains("0.5 to 2 N/m"), "{text}");
            assert!(!set.request(0, bad));
            assert_eq!((set.get(0), set.target(0)), (1.0, 1.0));
        }
    }

    #[test]
    fn a_slewed_parameter_moves_at_its_rate_and_ends_exactly() {
        let mut set = ParamSet::new(&SPECS);
        assert!(set.request(1, 0.3));
        assert_eq!(set.get(1), 0.0);
        for k in 1..=5 {
            set.advance(0.1);
            assert!((set.get(1) - 0.05 * f64::from(k)).abs() < 1e-12);
        }
        for _ in 0..5 {
            set.advance(0.1);
        }
        assert_eq!(set.get(1), 0.3);
    }

    #[test]
    fn an_unknown_parameter_is_named_with_the_known_ones() {
        let text = find(&SPECS, "gian").unwrap_err().to_string();
        assert!(
            text.contains("gian") && text.contains("gain, height"),
            "{text}"
        );
    }
}
