//! What can vary in a study.
//!
//! | name | what | simulate | session |
//! |---|---|---|---|
//! | `speed_kmh`, `uplift_n` | train speed, lift on the pantograph's lowest mass | yes | yes |
//! | `contact_stiffness_n_per_m` | between head and wire | yes | |
//! | `dropper_sigma_m` | installation: standard deviation of the droppers' lengths, drawn anew for each sample | yes | |
//! | `support_sigma_m` | installation: the same of the contact wire's heights at the supports | yes | |
//! | `contact_tension_factor`, `messenger_tension_factor` | on the tension of a wire | yes | |
//! | `mass_factor.N`, `stiffness_factor.N`, `damping_factor.N` | on the N-th mass from the head, its spring, its damper; in a session the specimen's, which the controller does not know of | yes | yes |
//! | `pad_factor`, `extra_delay_s` | on the rig's pad, further delay of its reference; unknown to the controller | | yes |
//! | `param.ID` | a parameter of the bench at its start | | yes |

use super::file::Base;
use super::random::{SplitMix, normal_quantile};
use rt_core::file::FieldError;
use rt_core::model::catenary::Line;
use rt_core::model::catenary::line::{InstallationErrors, Run, SpanUse};
use rt_core::model::pantograph::Pantograph;

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Train speed.
    Speed,
    /// Lift.
    Uplift,
    /// Between head and wire.
    ContactStiffness,
    /// Errors of the droppers' lengths.
    DropperSigma,
    /// Errors of the supports' heights.
    SupportSigma,
    /// Tension of the contact wire.
    ContactTension,
    /// Tension of the messenger wire.
    MessengerTension,
    /// A mass, from 1.
    Mass(usize),
    /// The spring below a mass, from 1.
    Stiffness(usize),
    /// The damper below a mass, from 1.
    Damping(usize),
    /// The rig's pad.
    Pad,
    /// Further delay.
    ExtraDelay,
    /// A parameter of the bench.
    Param(String),
}

const NAMES: &str = "speed_kmh, uplift_n, contact_stiffness_n_per_m, dropper_sigma_m, support_sigma_m, \
                     contact_tension_factor, messenger_tension_factor, mass_factor.N, stiffness_factor.N, \
                     damping_factor.N, pad_factor, extra_delay_s, param.ID";

impl Quantity {
    /// The quantity of a name.
    pub fn named(name: &str) -> Result<Self, FieldError> {
        let unknown = || {
            Err(FieldError::new(
                format!("'{name}'"),
                format!("cannot vary; expected one of: {NAMES}"),
            ))
        };
        let number = |text: &str| text.parse().ok().filter(|n| *n >= 1);
        Ok(match (name, name.split_once('.')) {
            ("speed_kmh", _) => Self::Speed,
            ("uplift_n", _) => Self::Uplift,
            ("contact_stiffness_n_per_m", _) => Self::ContactStiffness,
            ("dropper_sigma_m", _) => Self::DropperSigma,
            ("support_sigma_m", _) => Self::SupportSigma,
            ("contact_tension_factor", _) => Self::ContactTension,
            ("messenger_tension_factor", _) => Self::MessengerTension,
            ("pad_factor", _) => Self::Pad,
            ("extra_delay_s", _) => Self::ExtraDelay,
            (_, Some(("param", id))) => Self::Param(id.to_owned()),
            (_, Some((kind, which))) => match (kind, number(which)) {
                ("mass_factor", Some(n)) => Self::Mass(n),
                ("stiffness_factor", Some(n)) => Self::Stiffness(n),
                ("damping_factor", Some(n)) => Self::Damping(n),
                _ => return unknown(),
            },
            _ => return unknown(),
        })
    }

    /// Refuses a quantity that a base does not have.
    pub fn fits(&self, base: &Base) -> Result<(), String> {
        let (simulate, session) = match self {
            Self::Speed | Self::Uplift | Self::Mass(_) | Self::Stiffness(_) | Self::Damping(_) => {
                (true, true)
            }
            Self::ContactStiffness
            | Self::DropperSigma
            | Self::SupportSigma
            | Self::ContactTension
            | Self::MessengerTension => (true, false),
            Self::Pad | Self::ExtraDelay | Self::Param(_) => (false, true),
        };
        match base {
            Base::Simulate(_) if !simulate => Err("needs a session as base".into()),
            Base::Session { .. } if !session => Err("needs Simulate as base".into()),
            _ => Ok(()),
        }
    }

    /// Makes it so in a pantograph; `false` if it is none of a pantograph's. An error names a mass that is not there.
    pub fn apply_to_pantograph(
        &self,
        value: f64,
        pantograph: &mut Pantograph,
    ) -> Result<bool, String> {
        let (Self::Mass(n) | Self::Stiffness(n) | Self::Damping(n)) = self else {
            return Ok(false);
        };
        let count = pantograph.masses.len();
        let mass = pantograph.masses.get_mut(n - 1);
        let mass = mass.ok_or_else(|| {
            format!("there is no mass {n}; the pantograph has masses 1 to {count}")
        })?;
        match self {
            Self::Mass(_) => mass.mass_kg *= value,
            Self::Stiffness(_) => mass.stiffness_n_per_m *= value,
            _ => mass.damping_ns_per_m *= value,
        }
        Ok(true)
    }

    /// Makes it so in a line; `false` if it is none of a line's. `seed` is the sample's own.
    pub fn apply_to_line(&self, value: f64, line: &mut Line, seed: u64) -> bool {
        match self {
            Self::DropperSigma => {
                line.installation_errors = InstallationErrors::Drawn {
                    seed,
                    sigma_m: value,
                };
            }
            Self::SupportSigma => displace_supports(line, value, seed),
            Self::ContactTension => line.contact_wire.tension_n *= value,
            Self::MessengerTension => line.messenger_wire.tension_n *= value,
            _ => return false,
        }
        true
    }
}

/// Every support gets a kind of its own, whose contact wire is higher or lower by a normally distributed error.
fn displace_supports(line: &mut Line, sigma_m: f64, seed: u64) {
    let mut random = SplitMix::new(seed, 1);
    let uses: Vec<SpanUse> = line.span_uses().cloned().collect();
    let mut displaced = |of: &str, name: String| {
        let rise = sigma_m * normal_quantile(random.unit());
        if let Some(mut kind) = line.supports.get(of).cloned() {
            kind.contact_elevation_m += rise;
            line.supports.insert(name.clone(), kind);
        }
        name
    };
    let spans: Vec<SpanUse> = uses
        .iter()
        .enumerate()
        .map(|(i, of)| SpanUse {
            span: of.span.clone(),
            support: displaced(&of.support, format!("{} at {}", of.support, i + 1)),
        })
        .collect();
    let last = line.last_support.clone();
    line.last_support = displaced(&last, format!("{last} at the end"));
    line.section = vec![Run { repeat: 1, spans }];
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::file::{self, FileContent};
    use std::path::Path;

    fn shipped<T: FileContent + serde::de::DeserializeOwned>(path: &str) -> T {
        file::load(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../assets")
                .join(path),
        )
        .unwrap()
    }

    #[test]
    fn names_are_understood_or_answered_with_those_that_exist() {
        assert_eq!(Quantity::named("mass_factor.2").unwrap(), Quantity::Mass(2));
        assert_eq!(
            Quantity::named("param.k_i").unwrap(),
            Quantity::Param("k_i".into())
        );
        for bad in ["mass_factor.0", "mass_factor", "speed", "x.1"] {
            let text = Quantity::named(bad).unwrap_err().to_string();
            assert!(text.contains(bad) && text.contains("speed_kmh"), "{text}");
        }
    }

    #[test]
    fn a_line_and_a_pantograph_take_what_is_theirs() {
        let mut line: Line = shipped("lines/stitched-sw.ron");
        let before = line.clone();
        let spans = line.span_uses().count();
        assert!(Quantity::SupportSigma.apply_to_line(0.01, &mut line, 7));
        line.check().unwrap();
        assert_eq!(line.span_uses().count(), spans);
        let heights = |line: &Line| -> Vec<f64> {
            line.span_uses()
                .map(|u| line.supports[&u.support].contact_elevation_m)
                .collect()
        };
        let errors: Vec<f64> = heights(&line)
            .iter()
            .zip(heights(&before))
            .map(|(a, b)| a - b)
            .collect();
        let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
        // χ² of 20: within a factor of 2 in all but one of 10⁴ cases; the seed is fixed.
        assert!((0.005..0.02).contains(&rms), "{rms}");
        let mut again = before.clone();
        Quantity::SupportSigma.apply_to_line(0.01, &mut again, 7);
        assert_eq!(again, line);

        let mut pantograph: Pantograph = shipped("pantographs/dsa-380.ron");
        assert_eq!(
            Quantity::Mass(1).apply_to_pantograph(1.1, &mut pantograph),
            Ok(true)
        );
        assert!((pantograph.masses[0].mass_kg - 7.26).abs() < 1e-12);
        assert!(
            Quantity::Damping(9)
                .apply_to_pantograph(1.1, &mut pantograph)
                .is_err()
        );
        assert_eq!(
            Quantity::Speed.apply_to_pantograph(1.1, &mut pantograph),
            Ok(false)
        );
    }
}
