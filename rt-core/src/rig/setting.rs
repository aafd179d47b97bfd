//! Settings of a device that decide what it does alone: what the rig file demands, and what the device says of them.

/// A setting, after it was written and read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Where the device keeps it, for example `0x605A`.
    pub object: String,
    /// What it decides.
    pub name: &'static str,
    /// What the rig file demands; `None`: it does not say.
    pub demanded: Option<i64>,
    /// What was read back; `None`: it cannot be read, or is not there.
    pub read_back: Option<i64>,
    /// Unit of both.
    pub unit: &'static str,
    /// Whether both agree; `None`: nobody can tell, because it cannot be read.
    pub agrees: Option<bool>,
    /// What else there is to say, for example what the device answered.
    pub note: Option<String>,
}

impl Setting {
    /// Whether it agrees, in words.
    pub fn verdict(&self) -> &'static str {
        match self.agrees {
            Some(true) => "agrees",
            Some(false) => "DIFFERS",
            None => "not confirmed",
        }
    }

    /// A value of it with its unit.
    pub fn shown(&self, value: Option<i64>) -> String {
        match value {
            None => "–".to_owned(),
            Some(value) if self.unit.is_empty() => value.to_string(),
            Some(value) => format!("{value} {}", self.unit),
        }
    }

    /// The whole in one line.
    pub fn describe(&self) -> String {
        let note = self
            .note
            .as_ref()
            .map_or(String::new(), |n| format!("; {n}"));
        format!(
            "{} ({}): demanded {}, read back {}: {}{note}",
            self.name,
            self.object,
            self.shown(self.demanded),
            self.shown(self.read_back),
            self.verdict()
        )
    }
}

/// What an object of CiA 402, or a register of an EtherCAT device, decides.
pub fn setting_name(object: u16) -> &'static str {
    match object {
        0x605A => "quick stop option",
        0x605B => "shutdown option",
        0x605E => "fault reaction option",
        0x6007 => "reaction to a lost connection",
        0x6085 => "quick stop deceleration",
        0x6065 => "following error window",
        0x6066 => "following error time",
        0x0400 => "watchdog divider",
        0x0420 => "watchdog time of the outputs",
        0x0814 => "outputs are watched",
        _ => "setting",
    }
}

/// How an object or register is written for people: registers of EtherCAT devices lie below the objects.
pub fn object_name(object: u16) -> String {
    if object < 0x1000 {
        format!("register 0x{object:04X}")
    } else {
        format!("0x{object:04X}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_says_both_values_and_whether_they_agree() {
        let mut setting = Setting {
            object: object_name(0x6007),
            name: setting_name(0x6007),
            demanded: Some(1),
            read_back: Some(0),
            unit: "",
            agrees: Some(false),
            note: None,
        };
        assert_eq!(
            setting.describe(),
            "reaction to a lost connection (0x6007): demanded 1, read back 0: DIFFERS"
        );
        (setting.unit, setting.read_back, setting.agrees) = ("ms", None, None);
        setting.note = Some("cannot be read".into());
        let text = setting.describe();
        assert!(
            text.ends_with("demanded 1 ms, read back –: not confirmed; cannot be read"),
            "{text}"
        );
        assert_eq!(object_name(0x0420), "register 0x0420");
    }
}
