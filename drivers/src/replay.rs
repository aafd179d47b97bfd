//! A rig that measures what another one measured before: it fills the measured columns from a recording,
//! exchange by exchange, so that the whole loop can be computed again.

use rt_core::channel::{Frame, Layout, LayoutError};
use rt_core::rig::{Rig, RigCommand, RigFault, RigRefusal, RigSpec};
use rtrb::{Consumer, Producer, RingBuffer};

/// What one exchange brought.
#[derive(Clone, Copy, Debug)]
pub struct RecordedExchange {
    /// The frame of that tick, in the columns of the loop that is to be computed again.
    pub frame: Frame,
    /// Why the exchange failed, if it did.
    pub fault: Option<RigFault>,
}

/// See the module's text. It declares what the recorded rig declared, so that the guard watches the same
/// limits; commands go nowhere.
pub struct ReplayRig {
    spec: RigSpec,
    columns: Vec<usize>,
    recorded: Consumer<RecordedExchange>,
    missing: u32,
}

impl ReplayRig {
    /// A rig with this declaration, and where its exchanges are put: one before each cycle.
    pub fn new(spec: RigSpec) -> (Self, Producer<RecordedExchange>) {
        let (give, recorded) = RingBuffer::new(1);
        let rig = Self {
            spec,
            columns: Vec::new(),
            recorded,
            missing: 0,
        };
        (rig, give)
    }
}

impl Rig for ReplayRig {
    fn spec(&self) -> &RigSpec {
        &self.spec
    }

    fn bind(&mut self, layout: &Layout) -> Result<(), LayoutError> {
        let channels = self.spec.channels.iter();
        self.columns = channels
            .map(|c| layout.column(c.id))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// A tick for which nothing was recorded is a lost exchange: nothing else is known of it.
    fn exchange(&mut self, frame: &mut Frame) -> Result<(), RigFault> {
        let exchange = self.recorded.pop().ok();
        let Some(exchange) = exchange.filter(|e| e.frame.seq == frame.seq) else {
            self.missing = self.missing.saturating_add(1);
            return Err(RigFault::LostExchange {
                in_a_row: self.missing,
            });
        };
        self.missing = 0;
        for &column in &self.columns {
            frame.values[column] = exchange.frame.values[column];
        }
        exchange.fault.map_or(Ok(()), Err)
    }

    /// Newtons are recorded as they were; only the guard has to know by which lines.
    fn command(&mut self, command: RigCommand) -> Result<(), RigRefusal> {
        match command {
            RigCommand::Calibrate { .. } => Ok(()),
            _ => Err(RigRefusal::NotSupported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::channel::ChannelSpec;

    #[test]
    fn only_measured_columns_of_the_same_tick_are_filled() {
        let force = ChannelSpec::measured("force", "Force", "N");
        let mut layout = Layout::default();
        let own = ChannelSpec::computed("own", "Computed", "");
        layout.append(&[own, force]).unwrap();
        let (mut rig, mut give) = ReplayRig::new(RigSpec {
            name: "recorded".into(),
            channels: vec![force],
            actuators: Vec::new(),
            frozen: Vec::new(),
            watch: Default::default(),
            limits: Vec::new(),
            cells: Vec::new(),
            hangs_loads: false,
            safety: Default::default(),
            dead_man: None,
            brake: None,
            is_hardware: false,
        });
        rig.bind(&layout).unwrap();
        let exchange = |seq: u64, fault: Option<RigFault>| {
            let mut frame = Frame::empty();
            frame.seq = seq;
            frame.values[..2].copy_from_slice(&[1.0, 2.0]);
            RecordedExchange { frame, fault }
        };
        let mut frame = Frame::empty();
        give.push(exchange(0, None)).unwrap();
        assert_eq!(rig.exchange(&mut frame), Ok(()));
        assert!(frame.values[0].is_nan());
        assert_eq!(frame.values[1], 2.0);

        frame.seq = 1;
        give.push(exchange(1, Some(RigFault::PowerLoss))).unwrap();
        assert_eq!(rig.exchange(&mut frame), Err(RigFault::PowerLoss));
        for in_a_row in 1..=2 {
            frame.seq += 1;
            give.push(exchange(0, None)).unwrap();
            let lost = Err(RigFault::LostExchange { in_a_row });
            assert_eq!(rig.exchange(&mut frame), lost, "of another tick");
        }
        let lost = Err(RigFault::LostExchange { in_a_row: 3 });
        assert_eq!(rig.exchange(&mut frame), lost, "nothing was put");
    }
}
