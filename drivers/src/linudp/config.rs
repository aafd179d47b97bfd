//! The LinMot drive on UDP as the rig file describes it.

use crate::linmot::require_own_timeout;
use rt_core::file::{FieldError, require_not_negative, require_within};
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUdpConfig {
    /// Name of the bus.
    pub name: String,
    /// Address of the drive.
    pub drive_address: IpAddr,
    /// Port of the drive.
    #[serde(default = "drive_port")]
    pub drive_port: u16,
    /// Address of this computer towards the drive.
    #[serde(default = "any_address")]
    pub local_address: IpAddr,
    /// Port of this computer; the drive answers there. 0: any that is free.
    #[serde(default = "local_port")]
    pub local_port: u16,
    /// Where the drive's zero is, in m.
    #[serde(default)]
    pub zero_m: f64,
    /// Whether the drive counts the other way.
    #[serde(default)]
    pub is_reversed: bool,
    /// Bit of the control word that homes the drive (6 or 11, by firmware); `None`: homed by other means.
    #[serde(default)]
    pub home_bit: Option<u8>,
    /// A reference is sent with every so many-th request; the drive interpolates between them.
    #[serde(default = "every")]
    pub n_com: u32,
    /// How long an exchange waits for the answer to its own request, in µs. 0: it takes the answer to the one before.
    #[serde(default)]
    pub wait_us: u32,
    /// Silence of the drive that is a fault, in s.
    pub timeout_s: f64,
    /// After how long without a request the drive itself switches its motor off, in s, as it is set in the drive. The
    /// protocol cannot read it: it is shown as not confirmed. `None`: nobody has looked.
    #[serde(default)]
    pub drive_timeout_s: Option<f64>,
    /// How long the drive may take to switch on, in s.
    #[serde(default = "enable_time")]
    pub enable_s: f64,
    /// How long the drive may take to home, in s.
    #[serde(default = "home_time")]
    pub home_s: f64,
}

fn drive_port() -> u16 {
    49360
}

fn local_port() -> u16 {
    41136
}

fn any_address() -> IpAddr {
    IpAddr::V4(Ipv4Addr::UNSPECIFIED)
}

fn every() -> u32 {
    1
}

fn enable_time() -> f64 {
    2.0
}

fn home_time() -> f64 {
    30.0
}

/// Its inputs, in the order of their slots.
pub(crate) const INPUTS: [&str; 9] = [
    "position",
    "demand_position",
    "current",
    "status_word",
    "warn_word",
    "monitoring_1",
    "monitoring_2",
    "monitoring_3",
    "monitoring_4",
];

impl LinUdpConfig {
    /// Names of its inputs: m, m, A, words, and four signed monitoring channels.
    pub fn inputs(&self) -> Vec<String> {
        INPUTS.map(str::to_owned).to_vec()
    }

    /// The drive's address and port.
    pub fn drive(&self) -> SocketAddr {
        SocketAddr::new(self.drive_address, self.drive_port)
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        if self.drive_port == 0 {
            return Err(FieldError::new("drive_port", "is 0; expected 1 to 65535"));
        }
        if self.drive_address.is_ipv4() != self.local_address.is_ipv4() {
            return Err(FieldError::new(
                "local_address",
                "is of another kind than drive_address; expected both IPv4 or both IPv6",
            ));
        }
        require_within("zero_m", self.zero_m, -100.0, 100.0, "m")?;
        if let Some(bit) = self.home_bit.filter(|bit| !(1..=15).contains(bit)) {
            return Err(FieldError::new(
                "home_bit",
                format!("is {bit}; expected 1 to 15"),
            ));
        }
        require_within("n_com", f64::from(self.n_com), 1.0, 100.0, "")?;
        require_within("wait_us", f64::from(self.wait_us), 0.0, 5000.0, "µs")?;
        require_within("timeout_s", self.timeout_s, 1e-3, 1.0, "s")?;
        require_own_timeout(self.drive_timeout_s)?;
        require_not_negative("enable_s", self.enable_s, "s")?;
        require_within("enable_s", self.enable_s, 0.05, 60.0, "s")?;
        require_within("home_s", self.home_s, 0.05, 60.0, "s")
    }
}
