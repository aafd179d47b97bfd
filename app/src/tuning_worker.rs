//! The thread that designs gains while the window goes on drawing. It always works on the newest values;
//! what a slider has passed by is left out.

use crate::tuning::Proposal;
use rt_core::bench::Designer;
use rt_core::param::ParamSet;
use std::sync::mpsc::{Receiver, Sender, channel};

/// See the module's text. The thread ends when this is dropped.
pub struct TuningWorker {
    ask: Sender<ParamSet>,
    answers: Receiver<Proposal>,
}

impl TuningWorker {
    /// Starts the thread. `wake` is called when there is an answer.
    pub fn start(
        designer: Box<dyn Designer>,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let (ask, asked) = channel::<ParamSet>();
        let (answer, answers) = channel();
        let work = move || {
            while let Ok(mut params) = asked.recv() {
                while let Ok(newer) = asked.try_recv() {
                    params = newer;
                }
                if answer.send(Proposal::new(&*designer, params)).is_err() {
                    return;
                }
                wake();
            }
        };
        std::thread::Builder::new()
            .name("pantobench-design".into())
            .spawn(work)?;
        Ok(Self { ask, answers })
    }

    /// Asks what parameters would do.
    pub fn ask(&self, params: ParamSet) {
        // The thread only ends with this.
        let _ = self.ask.send(params);
    }

    /// The newest answer since the last call.
    pub fn newest(&self) -> Option<Proposal> {
        self.answers.try_iter().last()
    }
}
