//! AL status codes in words: why a device refuses or has left a state.

/// What a code means; devices may have codes of their own.
pub fn words(code: u16) -> &'static str {
    match code {
        0x0000 => "no error",
        0x0001 => "unspecified error",
        0x0002 => "no memory",
        0x0003 => "invalid device set-up",
        0x0011 => "invalid change of state",
        0x0012 => "unknown state",
        0x0013 => "bootstrap is not supported",
        0x0014 => "no valid firmware",
        0x0015 | 0x0016 => "invalid mailbox configuration",
        0x0017 => "invalid sync manager configuration",
        0x0018 => "no valid inputs",
        0x0019 => "no valid outputs",
        0x001A => "synchronisation error",
        0x001B => "sync manager watchdog: no outputs came in time",
        0x001C => "invalid types of sync managers",
        0x001D => "invalid configuration of outputs",
        0x001E => "invalid configuration of inputs",
        0x001F => "invalid watchdog configuration",
        0x0020 => "the device needs a cold start",
        0x0021 => "the device needs INIT",
        0x0022 => "the device needs PRE-OP",
        0x0023 => "the device needs SAFE-OP",
        0x0024 => "invalid mapping of inputs",
        0x0025 => "invalid mapping of outputs",
        0x0026 => "inconsistent settings",
        0x0027 => "free run is not supported",
        0x0028 => "synchronous operation is not supported",
        0x0029 => "free run needs three buffers",
        0x002A => "background watchdog",
        0x002B => "no valid inputs and outputs",
        0x002C => "fatal synchronisation error",
        0x002D => "no synchronisation signal",
        0x0030 => "invalid synchronisation settings of the distributed clock",
        0x0031 => "invalid latch settings of the distributed clock",
        0x0032 => "the distributed clock could not lock",
        0x0033 => "inputs or outputs are not synchronous with the distributed clock",
        0x0034 => "the distributed clock timed out",
        0x0035 => "invalid cycle time of the distributed clock",
        0x0036 | 0x0037 => "cycle time that does not fit the distributed clock",
        0x0041..=0x004F => "mailbox error",
        0x0050 => "no access to the device's memory",
        0x0051 => "error of the device's memory",
        0x0060 => "the device restarted by itself",
        _ => "a code of the device's own; see its manual",
    }
}

/// An AL state in words.
pub fn state(al_status: u16) -> &'static str {
    match al_status & 0x0F {
        1 => "INIT",
        2 => "PRE-OP",
        3 => "BOOT",
        4 => "SAFE-OP",
        8 => "OP",
        _ => "an unknown state",
    }
}
