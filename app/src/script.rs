//! Scripts: tests written down as a text, in a small language that is kept to the bench's own words. The same script
//! runs on an exact clock, where only its calls let time go by, and in real time.

pub mod background;
mod bench;
mod driver;
mod host;
pub mod outcome;
pub mod plot;
mod prepared;
mod result;
mod run_log;
mod sandbox;
mod signal;
pub mod table;
mod values;
mod vocabulary;
pub mod watch;

use crate::permit::Presence;
use host::{Host, Shared};
use outcome::{EndKind, Outcome, Output, ScriptError};
use rhai::{Engine, EvalAltResult, ParseError, Position, Scope};
use sandbox::Sandbox;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use watch::{Sink, StopSwitch, Watch};

/// How much a script may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Steps of the language.
    pub operations: u64,
    /// Seconds, of the benches' time and of everyone's.
    pub seconds: f64,
}

impl Default for Limits {
    /// Twenty million steps, four hours.
    fn default() -> Self {
        Self {
            operations: 20_000_000,
            seconds: 4.0 * 3600.0,
        }
    }
}

/// Calls within calls, lengths of texts and lists, depths of expressions.
const CALL_LEVELS: usize = 48;
const TEXT: usize = 1 << 20;
const LIST: usize = 1_000_000;
const MAP: usize = 10_000;
const DEPTH: (usize, usize) = (64, 48);

/// What a script is run with.
pub struct Setup {
    /// The script's file; sessions are found beside it.
    pub path: PathBuf,
    /// Everything that it writes goes here.
    pub output: PathBuf,
    /// Whether benches run on an exact clock.
    pub is_exact: bool,
    /// Settings in place of the script's own values.
    pub settings: BTreeMap<String, String>,
    /// How much it may take.
    pub limits: Limits,
    /// Stops it.
    pub switch: StopSwitch,
    /// Who is beside the rig.
    pub presence: Presence,
}

impl Setup {
    /// A script on the exact clock, with its own settings.
    pub fn new(path: &Path, output: &Path) -> Self {
        Self {
            path: path.to_owned(),
            output: output.to_owned(),
            is_exact: true,
            settings: BTreeMap::new(),
            limits: Limits::default(),
            switch: StopSwitch::default(),
            presence: Presence::Nobody,
        }
    }

    fn file(&self) -> String {
        self.path.display().to_string()
    }
}

/// The language, bounded: no files, no modules, no code from texts.
fn engine(limits: Limits) -> Engine {
    let mut engine = Engine::new();
    engine.disable_symbol("eval");
    engine.set_max_operations(limits.operations);
    engine.set_max_call_levels(CALL_LEVELS);
    engine.set_max_string_size(TEXT);
    engine.set_max_array_size(LIST);
    engine.set_max_map_size(MAP);
    engine.set_max_expr_depths(DEPTH.0, DEPTH.1);
    engine.set_max_variables(1000);
    engine.set_max_functions(500);
    engine.set_strict_variables(true);
    engine.set_fail_on_invalid_map_property(true);
    engine
}

/// Looks at a script without running it: an error says where it is wrong.
pub fn check(source: &str, file: &str) -> Result<(), ScriptError> {
    let engine = engine(Limits::default());
    let compiled = engine.compile(source);
    compiled.map(|_| ()).map_err(|e| misspelt(file, &e))
}

fn misspelt(file: &str, error: &ParseError) -> ScriptError {
    located(
        file,
        EndKind::Input,
        error.err_type().to_string(),
        error.position(),
    )
}

fn located(file: &str, kind: EndKind, message: String, position: Position) -> ScriptError {
    ScriptError {
        kind,
        message,
        file: file.to_owned(),
        line: position.line(),
        column: position.position(),
    }
}

/// Runs a script to its end, whatever that is; everything that moved rests afterwards.
pub fn run(source: &str, setup: Setup, sink: impl FnMut(Output) + 'static) -> Outcome {
    rt_core::rt_env::flush_denormals();
    let file = setup.file();
    let sink: Sink = Rc::new(RefCell::new(sink));
    let watch =
        Watch::new(setup.switch.clone(), setup.limits.seconds, sink).beside(setup.presence.clone());
    let parent = setup.path.parent().filter(|p| !p.as_os_str().is_empty());
    let sandbox = Sandbox {
        sessions: parent.unwrap_or(Path::new(".")).to_owned(),
        output: setup.output,
    };
    let host = Host::new(sandbox, setup.is_exact, watch.clone(), setup.settings);
    let host: Shared = Rc::new(RefCell::new(host));
    let mut engine = engine(setup.limits);
    vocabulary::Vocabulary::register(&mut engine, &host);
    let printing = watch.clone();
    engine.on_print(move |text| printing.tell(Output::Text(text.to_owned())));
    let debugging = watch.clone();
    engine.on_debug(move |text, _, at| {
        debugging.tell(Output::Text(format!("{at}: {text}")));
    });
    let (watching, ending) = (watch.clone(), host.clone());
    engine.on_progress(move |steps| {
        // Looking at a clock takes longer than a step.
        if steps % 1024 != 0 {
            return None;
        }
        let interrupt = watching.check().err()?;
        let ended = ending.borrow_mut().interrupted(interrupt);
        match *ended {
            EvalAltResult::ErrorTerminated(token, _) => Some(token),
            _ => None,
        }
    });
    let error = match engine.compile(source) {
        Err(e) => Some(misspelt(&file, &e)),
        Ok(program) => {
            // Benches that the script forgot come to rest with its variables.
            let mut scope = Scope::new();
            let ended = engine.run_ast_with_scope(&mut scope, &program);
            let live = host.borrow().live();
            if let Some(live) = live {
                live.borrow_mut().finish();
            }
            ended.err().map(|e| in_words(&file, *e, &host))
        }
    };
    drop(engine);
    finish(&host, &watch, &file, error)
}

fn finish(host: &Shared, watch: &Watch, file: &str, error: Option<ScriptError>) -> Outcome {
    let mut host = host.borrow_mut();
    let mut outcome = std::mem::take(&mut host.outcome);
    outcome.bench_s = watch.spent_s();
    let unknown: Vec<&str> = host
        .settings
        .keys()
        .filter(|name| !host.asked.contains(*name))
        .map(String::as_str)
        .collect();
    outcome.error = error.or_else(|| {
        (!unknown.is_empty()).then(|| {
            let known: Vec<&str> = host.asked.iter().map(String::as_str).collect();
            let message = format!(
                "the script has no setting '{}'; its settings: {}",
                unknown.join("', '"),
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            );
            located(file, EndKind::Input, message, Position::NONE)
        })
    });
    outcome
}

/// What ended a script, with the place where it happened.
fn in_words(file: &str, error: EvalAltResult, host: &Shared) -> ScriptError {
    let position = innermost(&error);
    let inner = error.unwrap_inner();
    let kind = match inner {
        EvalAltResult::ErrorTerminated(..) => host.borrow().end.unwrap_or(EndKind::Failed),
        EvalAltResult::ErrorTooManyOperations(_)
        | EvalAltResult::ErrorStackOverflow(_)
        | EvalAltResult::ErrorDataTooLarge(..)
        | EvalAltResult::ErrorTooManyVariables(_) => EndKind::Limit,
        _ => EndKind::Input,
    };
    let message = match inner {
        EvalAltResult::ErrorTerminated(token, _) => token.to_string(),
        EvalAltResult::ErrorRuntime(text, _) => text.to_string(),
        EvalAltResult::ErrorTooManyOperations(_) => {
            "the script took more steps than it may; does a loop never end? Allow more with --max-operations"
                .to_owned()
        }
        EvalAltResult::ErrorStackOverflow(_) => {
            format!("calls within calls go deeper than {CALL_LEVELS}; does a function call itself without end?")
        }
        EvalAltResult::ErrorFunctionNotFound(signature, _) => format!(
            "there is no function {}; see the reference in docs/scripts.md",
            signature.replace("alloc::string::String", "String")
        ),
        EvalAltResult::ErrorParsing(problem, _) => problem.to_string(),
        other => {
            let mut plain = other.to_string();
            // The place is told apart.
            if let Some(at) = plain.rfind(" (line ") {
                plain.truncate(at);
            }
            plain
        }
    };
    located(file, kind, message, position)
}

/// The place of the error itself rather than of the calls around it.
fn innermost(error: &EvalAltResult) -> Position {
    let own = error.position();
    match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) => {
            let inner = innermost(inner);
            if inner.is_none() { own } else { inner }
        }
        _ => own,
    }
}

/// Settings that a person gives as `NAME=VALUE`.
pub fn settings<T: AsRef<str>>(given: &[T]) -> Result<BTreeMap<String, String>, String> {
    let one = |text: &T| {
        let text = text.as_ref();
        let (name, value) = text.split_once('=').ok_or_else(|| {
            format!("the setting '{text}' is refused: expected NAME=VALUE, like quick=true")
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    given.iter().map(one).collect()
}

/// Where the output of a script goes unless a person says otherwise.
pub fn default_output(script: &Path) -> PathBuf {
    let directory = crate::home::recordings_dir();
    let above = directory.parent().map(Path::to_owned).unwrap_or_default();
    above.join("scripts").join(crate::recording::stem(script))
}

/// The reference of all functions: forms, what they do, example.
pub fn reference() -> Vec<(String, String, String)> {
    let vocabulary = REFERENCE.split("## Vocabulary").nth(1).unwrap_or_default();
    let rows = vocabulary.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        // A bar within an entry is written with a backslash.
        let line = line.replace("\\|", "\u{1}");
        let entry = |i: usize| {
            let found = line.split('|').nth(i).unwrap_or_default().trim();
            found.replace('\u{1}', "|").replace('`', "")
        };
        (entry(1), entry(2), entry(3))
    };
    rows.map(row).collect()
}

const REFERENCE: &str = include_str!("../../docs/scripts.md");

/// The names of all functions that scripts have.
#[cfg(test)]
fn names() -> std::collections::BTreeSet<&'static str> {
    let sink: Sink = Rc::new(RefCell::new(|_| ()));
    let watch = Watch::new(StopSwitch::default(), 1.0, sink);
    let sandbox = Sandbox {
        sessions: PathBuf::new(),
        output: PathBuf::new(),
    };
    let host = Rc::new(RefCell::new(Host::new(
        sandbox,
        true,
        watch,
        BTreeMap::new(),
    )));
    let mut engine = engine(Limits::default());
    vocabulary::Vocabulary::register(&mut engine, &host)
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the reference: the names of a function, and its example.
    fn rows() -> Vec<(Vec<String>, String)> {
        let name = |form: &str| {
            let called = form.split('(').next().unwrap_or_default();
            called
                .rsplit(['.', ' '])
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let row = |(forms, _, example): (String, String, String)| {
            (forms.split(") ").map(name).collect(), example)
        };
        reference().into_iter().map(row).collect()
    }

    #[test]
    fn the_reference_has_every_function_and_no_other() {
        let explained: std::collections::BTreeSet<String> =
            rows().into_iter().flat_map(|(names, _)| names).collect();
        let registered: std::collections::BTreeSet<String> =
            names().into_iter().map(str::to_owned).collect();
        assert_eq!(explained, registered);
    }

    #[test]
    fn examples_of_the_reference_are_well_formed_and_show_their_function() {
        let mut engine = engine(Limits::default());
        engine.set_strict_variables(false);
        for (names, example) in rows() {
            let compiled = engine.compile(&example);
            assert!(compiled.is_ok(), "{example}: {compiled:?}");
            assert!(
                names
                    .iter()
                    .any(|name| example.contains(&format!("{name}("))),
                "{names:?}: {example}"
            );
        }
    }

    #[test]
    fn every_shipped_script_is_in_the_reference() {
        let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions");
        for entry in std::fs::read_dir(sessions).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".rhai") {
                assert!(REFERENCE.contains(&format!("`sessions/{name}`")), "{name}");
            }
        }
    }

    #[test]
    fn what_a_script_says_is_heard_in_its_order() {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&heard);
        let setup = Setup::new(Path::new("a.rhai"), Path::new("out"));
        let source = "print(1.0); progress(1, 4, \"x\"); let t = table(\"t\", [\"a\"]); t.row([2]); t.show(); \
                      check(\"c\", 3, 0, 2); print(`${2.5}`);";
        let outcome = run(source, setup, move |output| {
            sink.borrow_mut().push(match output {
                Output::Text(text) => text,
                Output::Table(table) => table.to_csv(),
                Output::Check(check) => check.words(),
                Output::Progress(part, text) => format!("{part} {text}"),
                other => format!("{other:?}"),
            });
        });
        let heard = heard.borrow();
        let expected = [
            "1",
            "0.25 x",
            "a\n2\n",
            "NOT HELD: c = 3.00000 (0 to 2)",
            "2.5",
        ];
        assert_eq!(heard.as_slice(), expected);
        assert!(outcome.error.is_none() && !outcome.is_ok());
        assert_eq!(outcome.to_json("a.rhai")["tables"][0]["rows"][0][0], 2.0);
    }
}
