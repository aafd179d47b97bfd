//! The line file: a short description from which a whole section is laid out.
//!
//! x runs along the track from the first support, y to the left, z up; z = 0 is the nominal height of
//! the contact wire. Lengths are in m, forces in N, masses in kg.

use crate::file::{FieldError, FileContent, require_not_negative, require_positive};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A wire under constant tension.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// Mass per length, in kg/m.
    pub mass_kg_per_m: f64,
    /// Tension, kept constant by the tensioning devices, in N.
    pub tension_n: f64,
    /// Bending stiffness EI, in N m².
    pub bending_stiffness_nm2: f64,
    /// Axial stiffness EA, in N. The vertical model does not need it; [`super::statics`] reports with
    /// it how much the tension really varies.
    pub axial_stiffness_n: f64,
}

/// How stiff a dropper is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum DropperStiffness {
    /// EA in N; the stiffness is EA over the dropper's length.
    Axial(f64),
    /// The stiffness itself, in N/m.
    Spring(f64),
}

/// What all droppers have in common, unless one of them says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropperKind {
    /// Stiffness in tension; a dropper cannot push.
    pub stiffness: DropperStiffness,
    /// Mass per length, in kg/m; half of it hangs on each end.
    pub mass_kg_per_m: f64,
}

/// The masses of the clamps.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clamps {
    /// Upper end of each dropper and both ends of each stitch wire, in kg.
    pub messenger_kg: f64,
    /// Lower end of each dropper, in kg.
    pub contact_kg: f64,
}

/// The bar that holds the contact wire sideways at a support, hinged at its heel.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyArm {
    /// Length between heel and wire, in m.
    pub length_m: f64,
    /// Mass, in kg; half of its weight and a third of its inertia act on the wire.
    pub mass_kg: f64,
    /// Vertical stiffness that the arm adds at the wire, in N/m, beyond that of its lateral load.
    #[serde(default)]
    pub stiffness_n_per_m: f64,
    /// Height of the heel above the wire, in m: with the stagger's lateral load it decides how much
    /// the arm lifts (above 0 with a pulling arm) or presses. Not used by [`ContactSupport::Level`],
    /// where the heel is set so that the wire is level.
    #[serde(default)]
    pub heel_rise_m: f64,
}

/// How high the contact wire is at a support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ContactSupport {
    /// At the prescribed height: the arm carries the vertical load that this needs.
    Level,
    /// As low as its weight, the arm's weight and the arm's inclination bring it.
    Dipping,
}

/// The tension of the messenger wire between the clamps of a stitch wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum StitchTension {
    /// The stitch wire's tension is taken out of the messenger wire.
    Reduced,
    /// The messenger wire keeps its full tension.
    Kept,
}

/// The stitch wires of a line.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StitchWire {
    /// The wire.
    pub wire: Wire,
    /// Tension of the messenger wire between the clamps.
    pub messenger_tension_inside: StitchTension,
}

/// A stitch wire, centred at its support.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stitch {
    /// Distance between its clamps on the messenger wire, in m.
    pub length_m: f64,
}

/// A kind of support.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupportKind {
    /// Height of the messenger wire above the contact wire's height here, in m.
    pub encumbrance_m: f64,
    /// Height of the contact wire above its nominal height, in m (transition spans).
    #[serde(default)]
    pub contact_elevation_m: f64,
    /// Sideways position of the contact wire, in m.
    #[serde(default)]
    pub contact_stagger_m: f64,
    /// Sideways position of the messenger wire, in m.
    #[serde(default)]
    pub messenger_stagger_m: f64,
    /// Vertical stiffness under the messenger wire, in N/m; left out, the support is rigid.
    #[serde(default)]
    pub messenger_stiffness_n_per_m: Option<f64>,
    /// How the contact wire's height comes about here.
    pub contact: ContactSupport,
    /// The steady arm; left out, nothing but the droppers holds the contact wire vertically.
    #[serde(default)]
    pub steady_arm: Option<SteadyArm>,
    /// The stitch wire; droppers within its length hang from it.
    #[serde(default)]
    pub stitch: Option<Stitch>,
}

/// One dropper of a kind of span.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dropper {
    /// Distance from the span's first support, in m.
    pub x_m: f64,
    /// Depth of the contact wire below the straight line between the supports, in m; added to the
    /// span's pre-sag law.
    #[serde(default)]
    pub presag_m: f64,
    /// Its own stiffness, if it differs.
    #[serde(default)]
    pub stiffness: Option<DropperStiffness>,
    /// Its own mass per length in kg/m, if it differs.
    #[serde(default)]
    pub mass_kg_per_m: Option<f64>,
}

/// A kind of span.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanKind {
    /// Distance of its two supports, in m.
    pub length_m: f64,
    /// Pre-sag law: greatest depth in m of a parabola that is zero at the first and last dropper.
    #[serde(default)]
    pub presag_depth_m: f64,
    /// Its droppers, in order.
    pub droppers: Vec<Dropper>,
}

/// A span of the section, with the support at which it begins.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanUse {
    /// Which kind of span.
    pub span: String,
    /// Which kind of support stands at its beginning.
    pub support: String,
}

/// A run of spans, repeated.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// How often.
    pub repeat: usize,
    /// The spans, in order.
    pub spans: Vec<SpanUse>,
}

/// Proportional damping C = α M + β K.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Damping {
    /// α, in 1/s.
    pub alpha_per_s: f64,
    /// β, in s.
    pub beta_s: f64,
}

/// A dropper that was cut wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthError {
    /// Which span, from 1.
    pub span: usize,
    /// Which dropper of the span, from 1.
    pub dropper: usize,
    /// How much too long, in m.
    pub too_long_m: f64,
}

/// How the line as built differs from its design.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
pub enum InstallationErrors {
    /// Built as designed.
    #[default]
    None,
    /// These droppers differ.
    Given(Vec<LengthError>),
    /// Every dropper's length has a normally distributed error.
    Drawn {
        /// Start of the pseudo-random sequence.
        seed: u64,
        /// Standard deviation, in m.
        sigma_m: f64,
    },
}

/// A line section as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its name, for people.
    pub name: String,
    /// The wire that the pantograph touches.
    pub contact_wire: Wire,
    /// The wire that carries it.
    pub messenger_wire: Wire,
    /// The stitch wires, if any support has one.
    #[serde(default)]
    pub stitch_wire: Option<StitchWire>,
    /// The droppers.
    pub dropper: DropperKind,
    /// The clamps.
    pub clamps: Clamps,
    /// Damping of the whole line.
    pub damping: Damping,
    /// Kinds of support, by name.
    pub supports: BTreeMap<String, SupportKind>,
    /// Kinds of span, by name.
    pub spans: BTreeMap<String, SpanKind>,
    /// The section, from its first span to its last.
    pub section: Vec<Run>,
    /// Kind of the support at the end of the last span.
    pub last_support: String,
    /// How the line as built differs from its design.
    #[serde(default)]
    pub installation_errors: InstallationErrors,
}

impl Wire {
    fn check(&self) -> Result<(), FieldError> {
        require_positive("mass_kg_per_m", self.mass_kg_per_m, "kg/m")?;
        require_positive("tension_n", self.tension_n, "N")?;
        require_not_negative("bending_stiffness_nm2", self.bending_stiffness_nm2, "N m²")?;
        require_positive("axial_stiffness_n", self.axial_stiffness_n, "N")
    }
}

impl DropperStiffness {
    fn check(&self) -> Result<(), FieldError> {
        match *self {
            Self::Axial(ea) => require_positive("stiffness.Axial", ea, "N"),
            Self::Spring(k) => require_positive("stiffness.Spring", k, "N/m"),
        }
    }

    /// The stiffness in N/m of a dropper of this length.
    pub fn at_length(&self, length_m: f64) -> f64 {
        match *self {
            Self::Axial(ea) => ea / length_m,
            Self::Spring(k) => k,
        }
    }
}

fn require_finite(field: &str, value: f64) -> Result<(), FieldError> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(FieldError::new(
            field,
            format!("is {value} m; expected a finite length"),
        ))
    }
}

impl SupportKind {
    fn check(&self) -> Result<(), FieldError> {
        require_positive("encumbrance_m", self.encumbrance_m, "m")?;
        require_finite("contact_elevation_m", self.contact_elevation_m)?;
        require_finite("contact_stagger_m", self.contact_stagger_m)?;
        require_finite("messenger_stagger_m", self.messenger_stagger_m)?;
        if let Some(k) = self.messenger_stiffness_n_per_m {
            require_positive("messenger_stiffness_n_per_m", k, "N/m")?;
        }
        if let Some(arm) = &self.steady_arm {
            let at = |e: FieldError| e.within("steady_arm");
            require_positive("length_m", arm.length_m, "m").map_err(at)?;
            require_not_negative("mass_kg", arm.mass_kg, "kg").map_err(at)?;
            require_not_negative("stiffness_n_per_m", arm.stiffness_n_per_m, "N/m").map_err(at)?;
            if arm.heel_rise_m.abs() >= 0.9 * arm.length_m || !arm.heel_rise_m.is_finite() {
                return Err(FieldError::new(
                    "steady_arm.heel_rise_m",
                    format!(
                        "is {} m; expected less than 0.9 of the arm's length of {} m, up or down",
                        arm.heel_rise_m, arm.length_m
                    ),
                ));
            }
        }
        match &self.stitch {
            Some(s) => require_positive("stitch.length_m", s.length_m, "m"),
            None => Ok(()),
        }
    }
}

/// The most spans of a section: a tensioning length has some twenty.
pub const MOST_SPANS: usize = 500;

/// Positions closer than this are the same place.
pub const SAME_PLACE_M: f64 = 1e-3;

impl SpanKind {
    fn check(&self) -> Result<(), FieldError> {
        require_positive("length_m", self.length_m, "m")?;
        require_finite("presag_depth_m", self.presag_depth_m)?;
        let mut before: Option<f64> = None;
        for (i, d) in self.droppers.iter().enumerate() {
            let name = format!("droppers[{i}] (dropper {})", i + 1);
            let at = |e: FieldError| e.within(&name);
            // Written so that NaN is refused too.
            if !(d.x_m >= SAME_PLACE_M && d.x_m <= self.length_m - SAME_PLACE_M) {
                return Err(at(FieldError::new(
                    "x_m",
                    format!(
                        "is {} m, which is outside its span; expected a place between 0 and {} m, \
                         not at a support",
                        d.x_m, self.length_m
                    ),
                )));
            }
            if before.is_some_and(|b| d.x_m < b + SAME_PLACE_M) {
                return Err(at(FieldError::new(
                    "x_m",
                    format!(
                        "is {} m, which is not beyond the dropper before it at {} m; list the \
                         droppers in order, each at its own place",
                        d.x_m,
                        before.unwrap_or(f64::NAN)
                    ),
                )));
            }
            before = Some(d.x_m);
            require_finite("presag_m", d.presag_m).map_err(at)?;
            if let Some(s) = &d.stiffness {
                s.check().map_err(at)?;
            }
            if let Some(m) = d.mass_kg_per_m {
                require_not_negative("mass_kg_per_m", m, "kg/m").map_err(at)?;
            }
        }
        Ok(())
    }
}

impl Line {
    /// The spans of the section one by one, repetitions written out.
    pub fn span_uses(&self) -> impl Iterator<Item = &SpanUse> {
        self.section
            .iter()
            .flat_map(|run| std::iter::repeat_n(&run.spans, run.repeat).flatten())
    }

    fn check_names(&self) -> Result<(), FieldError> {
        let unknown = |what: &str, name: &str, known: Vec<&String>| {
            let known = known
                .iter()
                .map(|s| s.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            format!("there is no {what} '{name}'; defined are: {known}")
        };
        for (r, run) in self.section.iter().enumerate() {
            if run.repeat == 0 || run.repeat > MOST_SPANS {
                return Err(FieldError::new(
                    format!("section[{r}].repeat"),
                    format!("is {}; expected 1 to {MOST_SPANS}", run.repeat),
                ));
            }
            for (i, u) in run.spans.iter().enumerate() {
                let field = format!("section[{r}].spans[{i}]");
                if !self.spans.contains_key(&u.span) {
                    let problem = unknown("kind of span", &u.span, self.spans.keys().collect());
                    return Err(FieldError::new(format!("{field}.span"), problem));
                }
                if !self.supports.contains_key(&u.support) {
                    let problem = unknown(
                        "kind of support",
                        &u.support,
                        self.supports.keys().collect(),
                    );
                    return Err(FieldError::new(format!("{field}.support"), problem));
                }
            }
        }
        if !self.supports.contains_key(&self.last_support) {
            let problem = unknown(
                "kind of support",
                &self.last_support,
                self.supports.keys().collect(),
            );
            return Err(FieldError::new("last_support", problem));
        }
        match self.span_uses().take(MOST_SPANS + 1).count() {
            0 => Err(FieldError::new(
                "section",
                "has no span; expected at least one",
            )),
            1..=MOST_SPANS => Ok(()),
            _ => Err(FieldError::new(
                "section",
                format!("has more than {MOST_SPANS} spans; expected one tensioned section"),
            )),
        }
    }

    fn check_errors(&self) -> Result<(), FieldError> {
        match &self.installation_errors {
            InstallationErrors::None => Ok(()),
            InstallationErrors::Drawn { sigma_m, .. } => {
                require_not_negative("installation_errors.sigma_m", *sigma_m, "m")
            }
            InstallationErrors::Given(list) => {
                let uses: Vec<&SpanUse> = self.span_uses().collect();
                for (i, e) in list.iter().enumerate() {
                    let field = format!("installation_errors[{i}]");
                    require_finite("too_long_m", e.too_long_m).map_err(|x| x.within(&field))?;
                    let droppers = e
                        .span
                        .checked_sub(1)
                        .and_then(|s| uses.get(s))
                        .and_then(|u| self.spans.get(&u.span))
                        .map(|s| s.droppers.len());
                    match droppers {
                        None => {
                            let problem =
                                format!("is {}; the section has spans 1 to {}", e.span, uses.len());
                            return Err(FieldError::new(format!("{field}.span"), problem));
                        }
                        Some(n) if e.dropper == 0 || e.dropper > n => {
                            let problem =
                                format!("is {}; span {} has droppers 1 to {n}", e.dropper, e.span);
                            return Err(FieldError::new(format!("{field}.dropper"), problem));
                        }
                        Some(_) => {}
                    }
                }
                Ok(())
            }
        }
    }
}

impl FileContent for Line {
    const KIND: &'static str = "line file";

    fn check(&self) -> Result<(), FieldError> {
        self.contact_wire
            .check()
            .map_err(|e| e.within("contact_wire"))?;
        self.messenger_wire
            .check()
            .map_err(|e| e.within("messenger_wire"))?;
        if let Some(stitch) = &self.stitch_wire {
            stitch
                .wire
                .check()
                .map_err(|e| e.within("stitch_wire.wire"))?;
            if stitch.messenger_tension_inside == StitchTension::Reduced
                && stitch.wire.tension_n >= self.messenger_wire.tension_n
            {
                return Err(FieldError::new(
                    "stitch_wire.wire.tension_n",
                    "leaves no tension in the messenger wire inside the stitch; expected less than \
                     messenger_wire.tension_n",
                ));
            }
        }
        self.dropper
            .stiffness
            .check()
            .map_err(|e| e.within("dropper"))?;
        require_not_negative("dropper.mass_kg_per_m", self.dropper.mass_kg_per_m, "kg/m")?;
        require_not_negative("clamps.messenger_kg", self.clamps.messenger_kg, "kg")?;
        require_not_negative("clamps.contact_kg", self.clamps.contact_kg, "kg")?;
        require_not_negative("damping.alpha_per_s", self.damping.alpha_per_s, "1/s")?;
        require_not_negative("damping.beta_s", self.damping.beta_s, "s")?;
        for (name, support) in &self.supports {
            support
                .check()
                .map_err(|e| e.within(&format!("supports[\"{name}\"]")))?;
            if support.stitch.is_some() && self.stitch_wire.is_none() {
                return Err(FieldError::new(
                    format!("supports[\"{name}\"].stitch"),
                    "needs the field stitch_wire, which is missing",
                ));
            }
        }
        for (name, span) in &self.spans {
            span.check()
                .map_err(|e| e.within(&format!("spans[\"{name}\"]")))?;
        }
        self.check_names()?;
        self.check_errors()?;
        super::layout::Layout::of(self).map(|_| ())
    }
}
