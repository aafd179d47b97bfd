//! What all functions of a script share: where files are, what was shown so far, and how a script is ended.

use super::bench::BenchState;
use super::outcome::{Check, EndKind, Outcome, Output};
use super::sandbox::Sandbox;
use super::watch::{Interrupt, Watch};
use rhai::{Dynamic, EvalAltResult, Position};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::{Rc, Weak};

/// What a function of the vocabulary gives back.
pub type Answer<T> = Result<T, Box<EvalAltResult>>;

/// See the module's text.
pub struct Host {
    /// Where files are.
    pub sandbox: Sandbox,
    /// Whether benches run on an exact clock.
    pub is_exact: bool,
    /// Who may stop the script, and who listens.
    pub watch: Watch,
    /// What was shown so far.
    pub outcome: Outcome,
    /// What a person gave with -D, as text.
    pub settings: BTreeMap<String, String>,
    /// Settings that the script has asked for.
    pub asked: BTreeSet<String>,
    /// Why the script was ended by one of its functions.
    pub end: Option<EndKind>,
    live: Weak<RefCell<BenchState>>,
}

/// How functions hold the host.
pub type Shared = Rc<RefCell<Host>>;

/// An error that a script may catch.
pub fn wrong(message: impl std::fmt::Display) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorRuntime(
        message.to_string().into(),
        Position::NONE,
    ))
}

impl Host {
    /// Nothing has happened yet.
    pub fn new(
        sandbox: Sandbox,
        is_exact: bool,
        watch: Watch,
        settings: BTreeMap<String, String>,
    ) -> Self {
        Self {
            sandbox,
            is_exact,
            watch,
            outcome: Outcome::default(),
            settings,
            asked: BTreeSet::new(),
            end: None,
            live: Weak::new(),
        }
    }

    /// An end that no script can catch.
    pub fn terminate(
        &mut self,
        kind: EndKind,
        message: impl std::fmt::Display,
    ) -> Box<EvalAltResult> {
        self.end = Some(kind);
        let token = Dynamic::from(message.to_string());
        Box::new(EvalAltResult::ErrorTerminated(token, Position::NONE))
    }

    /// The end that an interrupt is.
    pub fn interrupted(&mut self, interrupt: Interrupt) -> Box<EvalAltResult> {
        match interrupt {
            Interrupt::Stopped(message) => self.terminate(EndKind::Stopped, message),
            Interrupt::Tripped(message) => self.terminate(EndKind::Tripped, message),
            Interrupt::Limit(message) => self.terminate(EndKind::Limit, message),
        }
    }

    /// Keeps a check and shows it.
    pub fn check(&mut self, check: Check) -> bool {
        let held = check.held;
        self.watch.tell(Output::Check(check.clone()));
        self.outcome.checks.push(check);
        held
    }

    /// Writes a file of the output directory; a disk that does not take it ends the script.
    pub fn write(&mut self, name: &str, content: &[u8]) -> Answer<PathBuf> {
        // What leads elsewhere is the script's mistake, everything else the disk's.
        self.sandbox.output(name).map_err(wrong)?;
        let path = match self.sandbox.write(name, content) {
            Ok(path) => path,
            Err(problem) => return Err(self.terminate(EndKind::Environment, problem)),
        };
        self.note_file(path.clone());
        Ok(path)
    }

    /// Remembers a file that was written.
    pub fn note_file(&mut self, path: PathBuf) {
        if !self.outcome.files.contains(&path) {
            self.outcome.files.push(path);
        }
    }

    /// The bench that moves now; the one before has to rest first.
    pub fn set_live(&mut self, bench: &Rc<RefCell<BenchState>>) -> Option<Rc<RefCell<BenchState>>> {
        let before = std::mem::replace(&mut self.live, Rc::downgrade(bench)).upgrade();
        before.filter(|before| !Rc::ptr_eq(before, bench))
    }

    /// The bench that moves, if there is one.
    pub fn live(&self) -> Option<Rc<RefCell<BenchState>>> {
        self.live.upgrade()
    }
}
