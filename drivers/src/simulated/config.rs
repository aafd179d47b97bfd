//! The file of a simulated rig. Units are in the names; every field is explained here.

use super::load_cell::RAW;
use crate::mounting::{self, MountingConfig};
use crate::protection::plausible;
use rt_core::file::{FieldError, require_not_negative, require_positive, require_within};
use rt_core::guard::Limit;
use rt_core::rig::cell_watch::{self, CellWatch, CellsWatch};
use rt_core::rig::{ActuatorSpec, AtRest, KnownRig, SafetySpec, Unloads};
use rt_core::travel::TravelLimits;
use serde::Deserialize;

/// A simulated rig as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedConfig {
    /// Its name, for people.
    pub name: String,
    /// Path of the pantograph file, relative to this file.
    pub pantograph: String,
    /// Lift on the pantograph's lowest mass, in N; below zero for a mass that hangs from a pad that pulls.
    pub uplift_n: f64,
    /// Stiffness of the pad between motor and collector head, in N/m. It only pushes, unless `pad_pulls`.
    pub pad_stiffness_n_per_m: f64,
    /// Damping of the pad, in N s/m. Without any, a pantograph whose head has none rings for hours.
    pub pad_damping_ns_per_m: f64,
    /// Whether the specimen is fixed to the pad, which then pulls as well as it pushes.
    #[serde(default)]
    pub pad_pulls: bool,
    /// The linear motor with its own controller.
    pub motor: MotorConfig,
    /// Pure delays beyond the one cycle that the loop itself needs.
    pub delays: DelayConfig,
    /// The load cell.
    pub force_sensor: ForceSensorConfig,
    /// Load cells with raw readings that calibrations turn into newtons; none: the force sensor gives newtons.
    #[serde(default)]
    pub load_cells: Vec<LoadCellConfig>,
    /// How they, or the force sensor, are watched together.
    #[serde(default)]
    pub cell_watch: CellsWatch,
    /// Directory of their calibrations, relative to this file; a person's own ones are looked through too.
    #[serde(default)]
    pub calibrations: Option<String>,
    /// The motor's encoder.
    pub position_sensor: PositionSensorConfig,
    /// Seed of the noise: the same seed gives the same noise.
    pub seed: u64,
    /// How the guard treats the motor.
    pub actuator: ActuatorConfig,
    /// Limits that protect rig and specimen.
    pub limits: Vec<Limit>,
    /// How it is armed, and what it refuses to be armed with.
    #[serde(default)]
    pub safety: SafetySpec,
    /// Safety circuits: each has to be closed for the drive to be on.
    #[serde(default)]
    pub interlocks: Vec<CircuitConfig>,
    /// The drive does not know where it is after it was switched on; `None`: it does.
    #[serde(default)]
    pub homing: Option<HomingConfig>,
    /// How the motor is mounted and what holds it without power. `None`: an ideal brake stops and holds it at once
    /// wherever it is.
    #[serde(default)]
    pub mounting: Option<MountingConfig>,
    /// What stands under the motor, and what it bears. A simulated rig without it can hurt nothing: its stopping
    /// distance is shown and refuses nothing.
    #[serde(default)]
    pub specimen: Option<SpecimenConfig>,
}

/// The specimen, as far as it has to be protected.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecimenConfig {
    /// The contact force that it bears without damage, in N. What a motor at its permitted speed reaches before it has
    /// stopped has to stay below.
    pub bears_n: f64,
}

/// A safety circuit of a simulated rig: an emergency stop, a door, a limit switch. It is closed unless a fault opens it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitConfig {
    /// Name of its channel, after `interlock_`.
    pub id: String,
    /// What a person reads ("Emergency stop").
    pub label: String,
    /// Opens by itself where the motor is below this, in m: a limit switch.
    #[serde(default)]
    pub opens_below_m: Option<f64>,
    /// Opens by itself where the motor is above this, in m.
    #[serde(default)]
    pub opens_above_m: Option<f64>,
}

/// How a simulated or emulated drive finds its home position.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomingConfig {
    /// Where the motor stands when it is switched on, in m.
    pub stands_at_m: f64,
    /// How fast it homes, in m/s. An emulated drive that is told a speed by its own objects takes that.
    pub speed_m_per_s: f64,
    /// Where its home switch is, in m; `None`: at the parked position.
    #[serde(default)]
    pub switch_at_m: Option<f64>,
}

/// A position-controlled motor: ü = ω²(r − u) − 2ζω u̇.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MotorConfig {
    /// Natural frequency ω, in rad/s.
    pub omega_rad_per_s: f64,
    /// Damping ratio ζ.
    pub damping_ratio: f64,
    /// Lower mechanical stop of the reference, in m.
    pub stroke_low_m: f64,
    /// Upper mechanical stop of the reference, in m.
    pub stroke_high_m: f64,
    /// The largest acceleration that the motor can do with all that it moves, in m/s², identified or from its data sheet;
    /// no braking beyond it is believed. `None`: not known.
    #[serde(default)]
    pub max_acceleration_m_per_s2: Option<f64>,
}

/// Pure delays.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayConfig {
    /// From the exchange that brings a reference to the motor's first reaction, in s.
    pub reference_s: f64,
    /// From a force at the pad to the exchange that reads it, in s.
    pub force_s: f64,
    /// Further delay of the reference, in s: for studying robustness.
    pub extra_s: f64,
}

/// The load cell: low-pass filter, noise, resolution, range.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForceSensorConfig {
    /// Corner of its first-order low-pass, in Hz; `None` for an unfiltered sensor.
    pub filter_hz: Option<f64>,
    /// Standard deviation of its noise, in N.
    pub noise_n: f64,
    /// Smallest step that it resolves, in N; `None` for a continuous one.
    pub resolution_n: Option<f64>,
    /// Largest force of either sign that it shows, or that each of the load cells does, in N.
    pub range_n: f64,
    /// Identical values in a row that mean a frozen sensor; `None` where noise does not exceed resolution.
    pub frozen_after_cycles: Option<u32>,
}

/// A load cell with a raw reading: r = zero + drift + sensitivity · (share of the force + bow), noise, resolution.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadCellConfig {
    /// Its serial number: calibrations belong to it.
    pub id: String,
    /// Where it stands, for people.
    pub name: String,
    /// The calibration that it uses; `None`: the newest valid one.
    #[serde(default)]
    pub calibration: Option<String>,
    /// Which share of the contact force it carries.
    pub share: f64,
    /// What it really gives, in mV/V a newton.
    pub sensitivity_mv_per_v_per_n: f64,
    /// What it really gives without load, in mV/V.
    pub zero_mv_per_v: f64,
    /// How fast its zero drifts, in mV/V an hour.
    #[serde(default)]
    pub drift_mv_per_v_per_hour: f64,
    /// How far its response bends off the straight line at half its range, in % of the range.
    #[serde(default)]
    pub bow_pct: f64,
    /// Standard deviation of its noise, in mV/V.
    pub noise_mv_per_v: f64,
    /// Smallest step that it resolves, in mV/V; `None` for a continuous one.
    pub resolution_mv_per_v: Option<f64>,
    /// How it is watched. Where that says nothing: by the range, share and noise that it really has.
    #[serde(default)]
    pub watch: CellWatch,
}

/// The motor's encoder: noise and resolution.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionSensorConfig {
    /// Standard deviation of its noise, in m.
    pub noise_m: f64,
    /// Smallest step that it resolves, in m; `None` for a continuous one.
    pub resolution_m: Option<f64>,
}

/// What the guard lets the motor do.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActuatorConfig {
    /// Parked position, in m.
    pub park_m: f64,
    /// Lowest reference that is passed on, in m.
    pub low_m: f64,
    /// Highest reference that is passed on, in m.
    pub high_m: f64,
    /// Fastest reference that is passed on while running, in m/s.
    pub max_speed_m_per_s: f64,
    /// Speed of arming, stopping and retreating, in m/s.
    pub travel_speed_m_per_s: f64,
    /// Acceleration of those moves, in m/s².
    pub travel_acceleration_m_per_s2: f64,
    /// Deceleration from the bench's own speed when it is stopped or tripped, in m/s²; at most what the motor can do.
    pub braking_m_per_s2: f64,
    /// Largest tolerated distance between reference and position, in m.
    pub max_tracking_error_m: f64,
    /// For how many cycles in a row it may be exceeded.
    pub tracking_cycles: u32,
    /// What a stop ends in: `SwitchOff` (the drive goes off) or `Hold` (it holds its position for `safety.held_for_s`).
    #[serde(default)]
    pub at_rest: AtRest,
    /// Which way unloads the specimen: `Up`, towards larger positions, or `Down`. A retreat goes there only. It has to be
    /// stated for hardware; a simulated motor hangs above its pantograph.
    #[serde(default)]
    pub unloads: Option<Unloads>,
}

/// How little a motor moves that stands still, in m.
const STANDS_STILL_M: f64 = 0.5e-3;

/// Longest delay that can be simulated, in s.
const MAX_DELAY_S: f64 = 1.0;

impl SimulatedConfig {
    /// What is known of this rig. The extra delay is there to be unknown.
    pub fn known(&self) -> KnownRig {
        KnownRig {
            motor_omega_rad_per_s: self.motor.omega_rad_per_s,
            motor_damping_ratio: self.motor.damping_ratio,
            reference_delay_s: self.delays.reference_s,
            force_delay_s: self.delays.force_s,
            force_filter_hz: self.force_sensor.filter_hz,
            pad_stiffness_n_per_m: self.pad_stiffness_n_per_m,
            pad_damping_ns_per_m: self.pad_damping_ns_per_m,
        }
    }

    /// Refuses values that make no sense, and what only hardware has.
    pub fn check(&self) -> Result<(), FieldError> {
        if let Some(mounting) = &self.mounting {
            mounting::check_simulated(mounting).map_err(|e| e.within("mounting"))?;
        }
        self.check_model()
    }

    /// Refuses values that make no sense in a model of a rig.
    pub fn check_model(&self) -> Result<(), FieldError> {
        if let Some(mounting) = &self.mounting {
            mounting.check().map_err(|e| e.within("mounting"))?;
        }
        let least_uplift_n = if self.pad_pulls { -2000.0 } else { 0.0 };
        plausible::UPLIFT.require_from(least_uplift_n, "uplift_n", self.uplift_n)?;
        plausible::PAD_STIFFNESS.require("pad_stiffness_n_per_m", self.pad_stiffness_n_per_m)?;
        plausible::PAD_DAMPING.require("pad_damping_ns_per_m", self.pad_damping_ns_per_m)?;
        self.motor.check().map_err(|e| e.within("motor"))?;
        for (field, value) in [
            ("delays.reference_s", self.delays.reference_s),
            ("delays.force_s", self.delays.force_s),
            ("delays.extra_s", self.delays.extra_s),
        ] {
            require_within(field, value, 0.0, MAX_DELAY_S, "s")?;
        }
        self.force_sensor
            .check(&self.load_cells)
            .map_err(|e| e.within("force_sensor"))?;
        self.check_load_cells()?;
        require_not_negative("position_sensor.noise_m", self.position_sensor.noise_m, "m")?;
        if let Some(step) = self.position_sensor.resolution_m {
            require_positive("position_sensor.resolution_m", step, "m")?;
        }
        self.actuator
            .check(&self.motor)
            .map_err(|e| e.within("actuator"))?;
        for (i, limit) in self.limits.iter().enumerate() {
            limit
                .check()
                .map_err(|e| e.within(&format!("limits[{i}]")))?;
        }
        self.check_ranges()?;
        if let Some(specimen) = &self.specimen {
            plausible::FORCE.require("specimen.bears_n", specimen.bears_n)?;
        }
        self.safety.check().map_err(|e| e.within("safety"))?;
        self.check_circuits()?;
        if let Some(homing) = &self.homing {
            let (low, high) = (self.motor.stroke_low_m, self.motor.stroke_high_m);
            require_within("homing.stands_at_m", homing.stands_at_m, low, high, "m")?;
            if let Some(switch) = homing.switch_at_m {
                require_within("homing.switch_at_m", switch, low, high, "m")?;
            }
            require_within(
                "homing.speed_m_per_s",
                homing.speed_m_per_s,
                0.001,
                0.2,
                "m/s",
            )?;
        }
        Ok(())
    }

    /// Software limits lie inside what the hardware allows: references inside the limits of the position, and these
    /// inside the stroke.
    fn check_ranges(&self) -> Result<(), FieldError> {
        let (a, m) = (&self.actuator, &self.motor);
        let of_position = |l: &&Limit| l.channel == super::POSITION.id;
        for limit in self.limits.iter().filter(of_position) {
            let field = "limits (motor_position)";
            if limit.low > a.low_m || limit.high < a.high_m {
                return Err(FieldError::new(
                    field,
                    format!(
                        "are {} to {} m; expected to hold the references of actuator.low_m {} to high_m {} m, or every \
                         move to their ends trips",
                        limit.low, limit.high, a.low_m, a.high_m
                    ),
                ));
            }
            if limit.low < m.stroke_low_m || limit.high > m.stroke_high_m {
                return Err(FieldError::new(
                    field,
                    format!(
                        "are {} to {} m; expected inside the stroke of {} to {} m, or the stops are hit first",
                        limit.low, limit.high, m.stroke_low_m, m.stroke_high_m
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Limit switches lie outside of the references and inside the stroke.
    fn check_circuits(&self) -> Result<(), FieldError> {
        let (a, m) = (&self.actuator, &self.motor);
        for (i, circuit) in self.interlocks.iter().enumerate() {
            let at = |e: FieldError| e.within(&format!("interlocks[{i}]"));
            if self.interlocks[..i]
                .iter()
                .any(|other| other.id == circuit.id)
            {
                let problem = format!("'{}' stands twice; each has an id of its own", circuit.id);
                return Err(at(FieldError::new("id", problem)));
            }
            if !crate::hardware::config::is_name(&circuit.id) {
                let rule = crate::hardware::config::NAME_RULE;
                return Err(at(FieldError::new(
                    "id",
                    format!("is '{}'; {rule}", circuit.id),
                )));
            }
            if let Some(low) = circuit.opens_below_m {
                require_within("opens_below_m", low, m.stroke_low_m, a.low_m, "m").map_err(at)?;
            }
            if let Some(high) = circuit.opens_above_m {
                require_within("opens_above_m", high, a.high_m, m.stroke_high_m, "m")
                    .map_err(at)?;
            }
        }
        Ok(())
    }
}

/// How far the shares of all load cells may be from 1 together: rounding.
const WHOLE: f64 = 1e-9;

impl SimulatedConfig {
    fn check_load_cells(&self) -> Result<(), FieldError> {
        let cells = &self.load_cells;
        self.cell_watch
            .check()
            .map_err(|e| e.within("cell_watch"))?;
        let stated: Vec<Option<f64>> = cells.iter().map(|c| c.watch.share).collect();
        cell_watch::check_shares(&stated).map_err(|e| e.within("load_cells"))?;
        if cells.is_empty() {
            return Ok(());
        }
        let wrong = |problem: String| Err(FieldError::new("load_cells", problem));
        if cells.len() > RAW.len() {
            return wrong(format!(
                "are {}; at most {} are simulated",
                cells.len(),
                RAW.len()
            ));
        }
        for (i, cell) in cells.iter().enumerate() {
            cell.check()
                .map_err(|e| e.within(&format!("load_cells[{i}]")))?;
            if cells[..i].iter().any(|other| other.id == cell.id) {
                return wrong(format!(
                    "'{}' stands twice; each cell has an id of its own",
                    cell.id
                ));
            }
        }
        let whole: f64 = cells.iter().map(|c| c.share).sum();
        if (whole - 1.0).abs() > WHOLE {
            return wrong(format!(
                "carry {whole} of the force together; expected shares that add up to 1"
            ));
        }
        Ok(())
    }
}

impl LoadCellConfig {
    fn check(&self) -> Result<(), FieldError> {
        if self.id.trim().is_empty() {
            return Err(FieldError::new(
                "id",
                "is empty; expected a serial number or another identifier",
            ));
        }
        require_within("share", self.share, 0.0, 1.0, "")?;
        for (field, value) in [
            (
                "sensitivity_mv_per_v_per_n",
                self.sensitivity_mv_per_v_per_n,
            ),
            ("zero_mv_per_v", self.zero_mv_per_v),
            ("drift_mv_per_v_per_hour", self.drift_mv_per_v_per_hour),
        ] {
            require_within(field, value, -100.0, 100.0, "mV/V")?;
        }
        if self.sensitivity_mv_per_v_per_n == 0.0 {
            return Err(FieldError::new(
                "sensitivity_mv_per_v_per_n",
                "is 0; such a cell shows nothing",
            ));
        }
        require_within("bow_pct", self.bow_pct, -10.0, 10.0, "%")?;
        require_not_negative("noise_mv_per_v", self.noise_mv_per_v, "mV/V")?;
        if let Some(step) = self.resolution_mv_per_v {
            require_positive("resolution_mv_per_v", step, "mV/V")?;
        }
        if self.is_quiet() && self.watch.frozen_after_cycles.is_some_and(|n| n > 0) {
            return Err(FieldError::new(
                "watch.frozen_after_cycles",
                "needs noise of at least the resolution: a quiet cell repeats its values when all is well; expected 0",
            ));
        }
        self.watch.check().map_err(|e| e.within("watch"))
    }

    /// Whether its values repeat when all is well.
    pub(crate) fn is_quiet(&self) -> bool {
        self.noise_mv_per_v == 0.0
            || self
                .resolution_mv_per_v
                .is_some_and(|step| self.noise_mv_per_v < step)
    }
}

impl MotorConfig {
    fn check(&self) -> Result<(), FieldError> {
        require_within(
            "omega_rad_per_s",
            self.omega_rad_per_s,
            1.0,
            10_000.0,
            "rad/s",
        )?;
        require_within("damping_ratio", self.damping_ratio, 0.01, 10.0, "")?;
        require_within("stroke_low_m", self.stroke_low_m, -2.0, 2.0, "m")?;
        require_within(
            "stroke_high_m",
            self.stroke_high_m,
            self.stroke_low_m,
            2.0,
            "m",
        )?;
        if self.stroke_low_m >= self.stroke_high_m {
            return Err(FieldError::new(
                "stroke_high_m",
                format!(
                    "is {} m, and stroke_low_m is {} m; expected a stroke that has a length",
                    self.stroke_high_m, self.stroke_low_m
                ),
            ));
        }
        match self.max_acceleration_m_per_s2 {
            Some(most) => plausible::ACCELERATION.require("max_acceleration_m_per_s2", most),
            None => Ok(()),
        }
    }
}

impl ForceSensorConfig {
    fn check(&self, cells: &[LoadCellConfig]) -> Result<(), FieldError> {
        if let Some(corner) = self.filter_hz {
            require_within("filter_hz", corner, 0.1, 10_000.0, "Hz")?;
        }
        require_not_negative("noise_n", self.noise_n, "N")?;
        if let Some(step) = self.resolution_n {
            require_positive("resolution_n", step, "N")?;
        }
        plausible::FORCE.require("range_n", self.range_n)?;
        if !cells.is_empty() && (self.noise_n > 0.0 || self.resolution_n.is_some()) {
            return Err(FieldError::new(
                "noise_n",
                "and resolution_n stand with each of the load_cells; expected noise_n 0 and resolution_n None here",
            ));
        }
        let too_quiet = if cells.is_empty() {
            self.resolution_n.is_some_and(|step| self.noise_n < step) || self.noise_n == 0.0
        } else {
            cells.iter().all(LoadCellConfig::is_quiet)
        };
        match self.frozen_after_cycles {
            Some(n) if n < 5 => Err(FieldError::new(
                "frozen_after_cycles",
                format!("is {n}; expected at least 5, or None"),
            )),
            Some(_) if too_quiet => Err(FieldError::new(
                "frozen_after_cycles",
                "needs noise of at least the resolution: a quiet sensor repeats its values when all is well; \
                 expected None",
            )),
            _ => Ok(()),
        }
    }
}

impl ActuatorConfig {
    /// What the guard has to know of the motor.
    pub fn spec(&self) -> ActuatorSpec {
        ActuatorSpec {
            command: super::REFERENCE,
            feedback: super::POSITION.id,
            park: self.park_m,
            low: self.low_m,
            high: self.high_m,
            max_speed: self.max_speed_m_per_s,
            travel: TravelLimits {
                max_speed: self.travel_speed_m_per_s,
                acceleration: self.travel_acceleration_m_per_s2,
                braking: self.braking_m_per_s2,
            },
            max_tracking_error: self.max_tracking_error_m,
            tracking_cycles: self.tracking_cycles,
            at_rest: self.at_rest,
            unloads: self.unloads.unwrap_or(Unloads::Up),
            still_within: STANDS_STILL_M,
        }
    }

    fn check(&self, motor: &MotorConfig) -> Result<(), FieldError> {
        require_within(
            "low_m",
            self.low_m,
            motor.stroke_low_m,
            motor.stroke_high_m,
            "m",
        )?;
        require_within("high_m", self.high_m, self.low_m, motor.stroke_high_m, "m")?;
        require_within("park_m", self.park_m, self.low_m, self.high_m, "m")?;
        plausible::SPEED.require("max_speed_m_per_s", self.max_speed_m_per_s)?;
        plausible::TRAVEL_SPEED.require("travel_speed_m_per_s", self.travel_speed_m_per_s)?;
        plausible::ACCELERATION.require(
            "travel_acceleration_m_per_s2",
            self.travel_acceleration_m_per_s2,
        )?;
        let least = self.travel_acceleration_m_per_s2;
        plausible::ACCELERATION.require_from(least, "braking_m_per_s2", self.braking_m_per_s2)?;
        if let Some(most) = motor.max_acceleration_m_per_s2
            && self.braking_m_per_s2 > most
        {
            return Err(FieldError::new(
                "braking_m_per_s2",
                format!(
                    "is {} m/s²; motor.max_acceleration_m_per_s2 says that the motor does at most {most} m/s²: brake with \
                     that or less",
                    self.braking_m_per_s2
                ),
            ));
        }
        plausible::TRACKING_ERROR.require("max_tracking_error_m", self.max_tracking_error_m)?;
        require_within(
            "tracking_cycles",
            f64::from(self.tracking_cycles),
            1.0,
            1000.0,
            "cycles",
        )
    }
}
