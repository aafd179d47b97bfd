//! Studies: one case computed for many samples of what varies in it, over all cores or spread over other machines. Every
//! task is independent of the others and may be done again; the same file and seed give the same table.

mod case;
pub mod design;
pub mod file;
mod picture;
pub mod quantity;
mod random;
mod store;
mod table;

use crate::provenance;
use file::Study;
use rt_core::file::{FieldError, FileError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use store::{Store, TaskResult};

/// Why a study cannot go on. What a sample fails of is a row of its table instead.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The study file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A field of it cannot be used.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The disk.
    #[error("cannot {doing} '{}': {source}", path.display())]
    Disk {
        /// What was attempted.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A task has no such number.
    #[error("there is no task {index}; the study has tasks 0 to {last}")]
    NoTask {
        /// The number asked for.
        index: usize,
        /// The last one.
        last: usize,
    },
    /// Tasks are missing.
    #[error(
        "{missing} of {samples} tasks are not done yet, the first is {first}; do them with 'study run' or 'study task'"
    )]
    NotDone {
        /// How many.
        missing: usize,
        /// Of how many.
        samples: usize,
        /// The first of them.
        first: usize,
    },
    /// A person stopped it.
    #[error("stopped; what was computed is kept, and the same command goes on from there")]
    Stopped,
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// A study with its samples, and where its results go.
pub struct Loaded {
    /// The file.
    pub study: Study,
    /// Its text.
    pub text: String,
    /// A row a sample, a column a varied quantity in the order of their names.
    pub values: Vec<Vec<f64>>,
    /// Tells whether results belong to this study: its text, all files that it reads, the program's version.
    pub fingerprint: String,
    base: PathBuf,
    store: Store,
}

/// What a study has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Samples in all.
    pub samples: usize,
    /// Samples with a result.
    pub done: usize,
    /// Samples that failed, each with its reason in the table.
    pub failed: usize,
    /// Samples that this command computed.
    pub computed: usize,
    /// Time of the processor that those took together, in s.
    pub cpu_s: f64,
    /// The table.
    pub table: PathBuf,
    /// The picture.
    pub picture: PathBuf,
}

impl Loaded {
    /// Reads a study file; results go to `out`, or to a directory beside it.
    pub fn load(path: &Path, out: Option<&Path>) -> Result<Self, StudyError> {
        let study: Study = rt_core::file::load(path)?;
        let disk = |path: &Path| {
            let path = path.to_owned();
            move |source| StudyError::Disk {
                doing: "read",
                path: path.clone(),
                source,
            }
        };
        let text = std::fs::read_to_string(path).map_err(disk(path))?;
        let base = path.parent().unwrap_or(Path::new(".")).to_owned();
        let mut all = format!(
            "{}\n{}\n{text}",
            provenance::FULL_VERSION,
            crate::recording::arithmetic()
        );
        for file in case::files(&study, &base).map_err(StudyError::Other)? {
            all.push_str(&std::fs::read_to_string(&file).map_err(disk(&file))?);
        }
        let beside = || path.with_extension("study");
        Ok(Self {
            values: study.values()?,
            fingerprint: provenance::sha256(all.as_bytes()),
            store: Store::new(&out.map_or_else(beside, Path::to_owned)),
            study,
            text,
            base,
        })
    }

    /// Where results go.
    pub fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// Writes what each task computes; gives their number.
    pub fn plan(&self) -> Result<usize, StudyError> {
        self.store
            .claim(&self.fingerprint, &self.study.title, self.values.len())?;
        let names: Vec<&str> = self.study.vary.keys().map(String::as_str).collect();
        let mut csv = format!("index,{}\n", names.join(","));
        for (i, row) in self.values.iter().enumerate() {
            let row: Vec<String> = row.iter().map(f64::to_string).collect();
            csv.push_str(&format!("{i},{}\n", row.join(",")));
        }
        self.store.put("samples.csv", csv.as_bytes())?;
        Ok(self.values.len())
    }

    /// Does one task unless it is done already. `true` if its sample has a result, `false` if it failed.
    pub fn task(&self, index: usize) -> Result<bool, StudyError> {
        self.store
            .claim(&self.fingerprint, &self.study.title, self.values.len())?;
        Ok(self.task_result(index)?.0.outcome.is_ok())
    }

    /// The result of a task, and whether it was computed now.
    fn task_result(&self, index: usize) -> Result<(TaskResult, bool), StudyError> {
        let Some(values) = self.values.get(index) else {
            return Err(StudyError::NoTask {
                index,
                last: self.values.len().saturating_sub(1),
            });
        };
        if let Some(result) = self.store.result(index)? {
            return Ok((result, false));
        }
        let before = cpu_s();
        let compute = || case::compute(&self.study, &self.base, index, values);
        // A sample is never lost, not even to a fault of this program.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compute))
            .unwrap_or_else(|_| {
                Err(
                    "the program failed at this sample; please report it with the study file"
                        .into(),
                )
            });
        let result = TaskResult {
            outcome,
            cpu_s: cpu_s() - before,
        };
        self.store.keep(index, &result)?;
        Ok((result, true))
    }

    /// Does all tasks that are not done yet with so many threads, then gathers. `tell` hears how many are done, of how
    /// many; `stop` ends it after the tasks under way.
    pub fn run(
        &self,
        jobs: usize,
        tell: &mut dyn FnMut(usize, usize),
        stop: &AtomicBool,
    ) -> Result<Summary, StudyError> {
        self.plan()?;
        let samples = self.values.len();
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let give_up = AtomicBool::new(false);
        let work = || -> Result<(usize, f64), StudyError> {
            let (mut computed, mut cpu) = (0, 0.0);
            while !stop.load(Ordering::Relaxed) && !give_up.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= samples {
                    break;
                }
                let (result, is_new) = self
                    .task_result(index)
                    .inspect_err(|_| give_up.store(true, Ordering::Relaxed))?;
                if is_new {
                    (computed, cpu) = (computed + 1, cpu + result.cpu_s);
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok((computed, cpu))
        };
        let (mut computed, mut cpu_s) = (0, 0.0);
        std::thread::scope(|scope| -> Result<(), StudyError> {
            let threads: Vec<_> = (0..jobs.clamp(1, samples.max(1)))
                .map(|_| scope.spawn(work))
                .collect();
            while !threads.iter().all(|thread| thread.is_finished()) {
                tell(done.load(Ordering::Relaxed), samples);
                std::thread::park_timeout(Duration::from_millis(50));
            }
            for thread in threads {
                let ended = thread
                    .join()
                    .map_err(|_| StudyError::Other("a thread of the study has failed".into()))?;
                let (n, cpu) = ended?;
                (computed, cpu_s) = (computed + n, cpu_s + cpu);
            }
            Ok(())
        })?;
        tell(done.load(Ordering::Relaxed), samples);
        if done.load(Ordering::Relaxed) < samples {
            return Err(StudyError::Stopped);
        }
        Ok(Summary {
            computed,
            cpu_s,
            ..self.gather()?
        })
    }

    /// Makes table and picture of all results.
    pub fn gather(&self) -> Result<Summary, StudyError> {
        self.store
            .claim(&self.fingerprint, &self.study.title, self.values.len())?;
        let samples = self.values.len();
        let all: Vec<Option<TaskResult>> = (0..samples)
            .map(|i| self.store.result(i))
            .collect::<Result<_, _>>()?;
        let missing = all.iter().filter(|r| r.is_none()).count();
        if missing > 0 {
            let first = all.iter().position(Option::is_none).unwrap_or(0);
            return Err(StudyError::NotDone {
                missing,
                samples,
                first,
            });
        }
        let results: Vec<TaskResult> = all.into_iter().flatten().collect();
        let done = results.iter().filter(|r| r.outcome.is_ok()).count();
        Ok(Summary {
            samples,
            done,
            failed: samples - done,
            computed: 0,
            cpu_s: 0.0,
            table: self
                .store
                .put("results.parquet", &table::bytes(self, &results)?)?,
            picture: self
                .store
                .put("results.svg", picture::svg(self, &results).as_bytes())?,
        })
    }
}

/// Time of the processor that this thread has taken, in s.
fn cpu_s() -> f64 {
    rt_core::rt_env::thread_cpu_s()
}
