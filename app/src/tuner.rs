//! The tuning of the running bench as all panels see it: what is asked for, what is applied, what the model
//! says of both, and the way back.

use crate::tuning::{Proposal, Refused, changed};
use crate::tuning_history::{Presets, Tuning, TuningHistory, put, tuning_of};
use crate::worker::Worker;
use rt_core::bench::{Designer, NamedVerdict, Prospect, Update};
use rt_core::control::assessment::Verdict;
use rt_core::param::{Applies, ParamSet};
use std::sync::Arc;

/// What a panel asks of the tuning.
#[derive(Clone, Debug, PartialEq)]
pub enum TuningAsk {
    /// New values by index, to be looked at; nothing is applied.
    Propose(Vec<(usize, f64)>),
    /// Apply what is proposed, against the verdict if `insist`.
    Apply {
        /// Whether a person insists.
        insist: bool,
    },
    /// Propose what is applied.
    Revert,
    /// Apply the tuning before the last change.
    Undo,
    /// Apply what was undone.
    Redo,
    /// Keep what is applied as side B of a comparison.
    KeepAsB,
    /// Apply the other side of the comparison.
    SwitchSides,
    /// Keep what is applied under a name.
    SavePreset(String),
    /// Propose the preset of a name.
    LoadPreset(String),
    /// Forget the preset of a name.
    DeletePreset(String),
}

/// What has to be sent to the loop.
pub enum Outgoing {
    /// New gains.
    Update(Box<Update>),
    /// The record should say that this was refused.
    NoteRefusal(NamedVerdict),
}

/// Points of the trail that are kept.
const MOST_TRAIL: usize = 100;

/// See the module's text.
pub struct Tuner {
    designer: Arc<dyn Designer>,
    worker: Worker<ParamSet, Proposal>,
    asked: ParamSet,
    applied: ParamSet,
    proposal: Option<Proposal>,
    applied_prospect: Option<Prospect>,
    history: TuningHistory,
    presets: Result<Presets, String>,
    trail: Vec<ParamSet>,
    /// Apply as soon as the proposal is there: undo, redo, A/B.
    apply_when_judged: bool,
    message: Option<String>,
}

impl Tuner {
    /// At the parameters of the start. `wake` is called when there is something new to draw.
    pub fn start(
        designer: Arc<dyn Designer>,
        start: ParamSet,
        presets: Result<Presets, String>,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let own = Arc::clone(&designer);
        let worker = Worker::start("design", wake, move |params, desk| {
            desk.answer(Proposal::new(&*own, params));
        })?;
        worker.ask(start);
        Ok(Self {
            designer,
            worker,
            asked: start,
            applied: start,
            proposal: None,
            applied_prospect: None,
            history: TuningHistory::new(tuning_of(&start)),
            message: presets.as_ref().err().cloned(),
            presets,
            trail: Vec::new(),
            apply_when_judged: false,
        })
    }

    /// Who designs, for other threads.
    pub fn designer(&self) -> &Arc<dyn Designer> {
        &self.designer
    }

    /// The parameters that were asked for last.
    pub fn asked(&self) -> &ParamSet {
        &self.asked
    }

    /// The parameters that the loop has confirmed.
    pub fn applied(&self) -> &ParamSet {
        &self.applied
    }

    /// What is asked for and not applied, by index.
    pub fn changes(&self) -> Vec<(usize, f64)> {
        changed(&self.applied, &self.asked)
    }

    /// What was designed for what is asked for; `None` while it is being computed.
    pub fn proposal(&self) -> Option<&Proposal> {
        self.proposal
            .as_ref()
            .filter(|p| changed(&p.params, &self.asked).is_empty())
    }

    /// What the model says of what is applied, if that is known.
    pub fn applied_prospect(&self) -> Option<&Prospect> {
        self.applied_prospect.as_ref()
    }

    /// Parameters that were applied before, the oldest first.
    pub fn trail(&self) -> &[ParamSet] {
        &self.trail
    }

    /// What undo, redo and A/B would do.
    pub fn history(&self) -> &TuningHistory {
        &self.history
    }

    /// Named tunings, or why they cannot be read.
    pub fn presets(&self) -> Result<&Presets, &str> {
        self.presets.as_ref().map_err(String::as_str)
    }

    /// What a person should read.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Shows a message.
    pub fn tell(&mut self, message: Option<String>) {
        self.message = message;
    }

    /// Takes what was designed and what the loop has confirmed; controls that were not touched follow it.
    pub fn follow(&mut self, confirmed: &[f64]) -> Option<Outgoing> {
        if let Some(proposal) = self.worker.newest() {
            self.proposal = Some(proposal);
        }
        let before = self.applied;
        for (i, spec) in before.specs().iter().enumerate() {
            let value = confirmed.get(i).copied().unwrap_or(before.get(i));
            if spec.applies == Applies::ByDesign && value != before.get(i) {
                self.applied.take_designed(i, value);
                if self.asked.get(i) == before.get(i) {
                    self.asked.take_designed(i, value);
                }
            }
        }
        if !changed(&before, &self.applied).is_empty() {
            self.history.note(tuning_of(&self.applied));
            if self.trail.len() == MOST_TRAIL {
                self.trail.remove(0);
            }
            self.trail.push(before);
            self.applied_prospect = None;
            if self.proposal().is_none() {
                self.worker.ask(self.asked);
            }
        }
        if self.applied_prospect.is_none() && self.changes().is_empty() {
            self.applied_prospect = self.proposal().and_then(Proposal::prospect).cloned();
        }
        if self.apply_when_judged && self.proposal().is_some() {
            self.apply_when_judged = false;
            return self.apply(false);
        }
        None
    }

    /// Does what a panel asks for.
    pub fn handle(&mut self, ask: &TuningAsk) -> Option<Outgoing> {
        let asked_before = self.asked;
        let mut outgoing = None;
        match ask {
            TuningAsk::Propose(values) => {
                self.apply_when_judged = false;
                self.message = None;
                for (index, value) in values {
                    self.propose(*index, *value);
                }
            }
            TuningAsk::Apply { insist } => outgoing = self.apply(*insist),
            TuningAsk::Revert => {
                self.message = None;
                self.asked = self.applied;
            }
            TuningAsk::Undo => self.use_tuning(self.history.before().cloned()),
            TuningAsk::Redo => self.use_tuning(self.history.after().cloned()),
            TuningAsk::KeepAsB => self.history.keep_as_other(),
            TuningAsk::SwitchSides => {
                let other = self.history.switch();
                self.use_tuning(Some(other));
            }
            TuningAsk::SavePreset(name) => {
                let applied = tuning_of(&self.applied);
                self.keep(|presets| presets.save(name, applied));
            }
            TuningAsk::LoadPreset(name) => {
                self.message = None;
                let presets = self.presets.as_ref().ok();
                match presets.and_then(|presets| presets.get(name)) {
                    // A preset is only proposed: its prediction is looked at first.
                    Some(tuning) => put(tuning, &mut self.asked),
                    None => self.message = Some(format!("there is no preset '{name}'")),
                }
            }
            TuningAsk::DeletePreset(name) => self.keep(|presets| presets.remove(name)),
        }
        if !changed(&asked_before, &self.asked).is_empty() {
            self.worker.ask(self.asked);
        }
        outgoing
    }

    fn propose(&mut self, index: usize, value: f64) {
        let Some(spec) = self.asked.specs().get(index) else {
            return;
        };
        match spec.check(value) {
            Ok(accepted) => {
                self.asked.take_designed(index, accepted);
            }
            Err(refused) => self.message = Some(refused.to_string()),
        }
    }

    fn use_tuning(&mut self, tuning: Option<Tuning>) {
        let Some(tuning) = tuning else { return };
        self.message = None;
        put(&tuning, &mut self.asked);
        self.apply_when_judged = true;
    }

    fn keep(&mut self, change: impl FnOnce(&mut Presets) -> Result<(), String>) {
        if let Ok(presets) = &mut self.presets {
            self.message = change(presets).err();
        }
    }

    fn apply(&mut self, insist: bool) -> Option<Outgoing> {
        if self.changes().is_empty() {
            return None;
        }
        match self.proposal()?.decide(insist) {
            Ok(update) => {
                self.message = None;
                Some(Outgoing::Update(update))
            }
            Err(refused) => {
                self.message = Some(refused.to_string());
                match refused {
                    Refused::Verdict(verdict) => Some(Outgoing::NoteRefusal(verdict)),
                    _ => None,
                }
            }
        }
    }

    /// What the model says of what is asked for; `None` while it is computed or if there are no gains.
    pub fn verdict(&self) -> Option<NamedVerdict> {
        self.proposal()?.prospect().map(Prospect::verdict)
    }

    /// Whether what is asked for can be applied without insisting.
    pub fn can_apply(&self) -> bool {
        !self.changes().is_empty() && self.verdict() == Some(Verdict::Stable)
    }

    /// Whether what is asked for can only be applied by insisting.
    pub fn needs_insisting(&self) -> bool {
        let verdict = self.verdict();
        !self.changes().is_empty() && verdict.is_some_and(|verdict| verdict != Verdict::Stable)
    }
}

#[cfg(test)]
pub mod sample {
    //! The tuning of a bench on a string, for tests of panels.

    use super::*;
    use crate::runtime;
    use crate::session::{LoadedSession, Session};
    use rt_core::file;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    /// A designer and the parameters of the start.
    pub fn designer() -> (Arc<dyn Designer>, ParamSet) {
        let text = r#"Session(title: "tuning",
            bench: PantographLqg(wire: String(), specimen: "../assets/pantographs/dsa-380.ron", speed_kmh: 250.0),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 130.625)"#;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions/inline.ron");
        let session: Session = file::parse(text, &path).unwrap();
        let prepared = runtime::prepare_exact(&LoadedSession { session, path }).unwrap();
        (Arc::from(prepared.designer.unwrap()), prepared.params)
    }

    /// A tuner that has judged its start, and the file of its presets.
    pub fn tuner(name: &str) -> (Tuner, PathBuf) {
        let folder = std::env::temp_dir().join(format!("pantobench-{name}-{}", std::process::id()));
        let file = folder.join("presets.ron");
        // What an earlier run that failed has left.
        let _ = std::fs::remove_file(&file);
        let (designer, params) = designer();
        let presets = Presets::load(file.clone());
        let mut tuner = Tuner::start(designer, params, presets, || ()).unwrap();
        settle(&mut tuner);
        (tuner, file)
    }

    /// Waits until the newest proposal is judged; follows a loop that applies nothing by itself.
    pub fn settle(tuner: &mut Tuner) -> Option<Outgoing> {
        let since = Instant::now();
        let confirmed: Vec<f64> = values(tuner.applied());
        let mut out = None;
        while tuner.proposal().is_none() || tuner.apply_when_judged {
            assert!(since.elapsed() < Duration::from_secs(60), "never judged");
            out = tuner.follow(&confirmed);
            std::thread::park_timeout(Duration::from_millis(2));
        }
        out.or(tuner.follow(&confirmed))
    }

    /// All values of a set of parameters.
    pub fn values(params: &ParamSet) -> Vec<f64> {
        (0..params.specs().len()).map(|i| params.get(i)).collect()
    }

    /// Confirms an update as the loop does.
    pub fn confirm(tuner: &mut Tuner, outgoing: Option<Outgoing>) {
        let Some(Outgoing::Update(update)) = outgoing else {
            panic!("nothing to apply");
        };
        let mut now = values(tuner.applied());
        for (index, value) in &update.params {
            now[*index] = *value;
        }
        tuner.follow(&now);
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{confirm, settle, tuner};
    use super::*;

    const Q: usize = 0;
    const K_I: usize = 5;

    #[test]
    fn what_is_proposed_is_judged_applied_undone_and_leaves_a_trail() {
        let (mut tuner, _) = tuner("walk");
        let start = tuner.applied().get(Q);
        let rho = tuner.applied_prospect().unwrap().rho_loop;
        assert!(!tuner.can_apply() && rho < 1.0);
        tuner.handle(&TuningAsk::Propose(vec![(Q, 20.0)]));
        assert!(tuner.proposal().is_none(), "not judged at once");
        settle(&mut tuner);
        assert_eq!(
            (tuner.applied().get(Q), tuner.asked().get(Q)),
            (start, 20.0)
        );
        assert!(tuner.can_apply() && tuner.trail().is_empty());
        let out = tuner.handle(&TuningAsk::Apply { insist: false });
        confirm(&mut tuner, out);
        assert_eq!(tuner.applied().get(Q), 20.0);
        assert_eq!(tuner.trail()[0].get(Q), start);
        assert_ne!(tuner.applied_prospect().unwrap().rho_loop, rho);
        tuner.handle(&TuningAsk::Undo);
        let out = settle(&mut tuner);
        confirm(&mut tuner, out);
        assert_eq!(tuner.applied().get(Q), start);
        assert!(tuner.history().after().is_some());
    }

    #[test]
    fn what_the_model_calls_unstable_is_refused_unless_insisted_on() {
        let (mut tuner, _) = tuner("insist");
        tuner.handle(&TuningAsk::Propose(vec![(K_I, 1e6)]));
        settle(&mut tuner);
        assert!(tuner.needs_insisting() && !tuner.can_apply());
        let out = tuner.handle(&TuningAsk::Apply { insist: false });
        assert!(matches!(out, Some(Outgoing::NoteRefusal(_))));
        assert!(tuner.message().unwrap().contains("spectral radius"));
        let out = tuner.handle(&TuningAsk::Apply { insist: true });
        let Some(Outgoing::Update(update)) = out else {
            panic!("insisting sends it");
        };
        assert!(update.approval.is_override);
    }

    #[test]
    fn what_is_out_of_range_is_told_and_changes_nothing() {
        let (mut tuner, _) = tuner("range");
        let before = tuner.asked().get(Q);
        tuner.handle(&TuningAsk::Propose(vec![(Q, 1e9)]));
        assert_eq!(tuner.asked().get(Q), before);
        assert!(tuner.message().unwrap().contains("0.001 to 1000000"));
    }
}
