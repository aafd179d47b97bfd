//! What is left of a panic when nobody watched the terminal: a file in the state directory with version, commit, thread,
//! backtrace and the last events. The next window says that it is there.

use crate::home;
use crate::provenance;
use rt_core::record::name::Moment;
use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
#[expect(
    clippy::disallowed_types,
    reason = "a loop only tries to lock, and only when it has ended in a panic"
)]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Events that are kept for a report.
const EVENTS: usize = 50;
/// The thread of a loop: it has a motor to let go of before anything is written.
const LOOP_THREAD: &str = "pantobench-rt";
const BEGINS: &str = "crash-";
const UNSEEN: &str = "txt";
const SEEN: &str = "seen.txt";

#[derive(Default)]
struct Kept {
    events: VecDeque<String>,
    /// A panic of a loop that is not written yet.
    pending: Option<String>,
}

#[expect(clippy::disallowed_types, reason = "see above")]
static KEPT: Mutex<Kept> = Mutex::new(Kept {
    events: VecDeque::new(),
    pending: None,
});

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the words of an event for the case that the program ends in a panic. Never called from a loop.
pub fn note_event(words: &str) {
    let mut kept = kept();
    if kept.events.len() == EVENTS {
        kept.events.pop_front();
    }
    kept.events.push_back(words.to_owned());
}

/// From now on a panic leaves a report, besides its words on standard error.
pub fn install() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        note_panic(panic);
        usual(panic);
    }));
}

fn note_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name").to_owned();
    let what = format!("thread '{name}': {panic}");
    if name == LOOP_THREAD {
        // Its drive goes off only after this: no file, no backtrace, and nobody who holds the lock is waited for.
        if let Ok(mut kept) = KEPT.try_lock() {
            kept.pending.get_or_insert(what);
        }
        return;
    }
    let what = format!("{what}\n\n{}", Backtrace::force_capture());
    if let Some(path) = write(&home::state_dir(), &what) {
        tell!("pantobench: a report of this is in {}", path.display());
    }
}

/// Writes the report of a loop that has ended in a panic, once its rig was let go of.
pub fn write_pending() {
    let pending = kept().pending.take();
    if let Some(path) = pending.and_then(|what| write(&home::state_dir(), &what)) {
        tell!("pantobench: a report of this is in {}", path.display());
    }
}

/// The report; `None` if it could not be written: a panic is no place for another error.
fn write(directory: &Path, what: &str) -> Option<PathBuf> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    // Fits: 2⁶⁴ ns are 585 years.
    let now = Moment::local(since_1970.unwrap_or_default().as_nanos() as u64);
    // Whoever panics may hold the lock.
    let events: Vec<String> = match KEPT.try_lock() {
        Ok(kept) => kept.events.iter().cloned().collect(),
        Err(_) => vec!["(not readable)".into()],
    };
    let text = format!(
        "Pantobench {} ended a thread by a defect of the software.\n{now}\n\n{what}\n\nLast events:\n{}\n",
        provenance::FULL_VERSION,
        events.join("\n")
    );
    std::fs::create_dir_all(directory).ok()?;
    let path = (0..100).find_map(|number| {
        let name = format!("{BEGINS}{now}-{}-{number}.{UNSEEN}", std::process::id());
        let path = directory.join(name);
        let file = std::fs::File::create_new(&path);
        file.is_ok().then_some(path)
    })?;
    std::fs::write(&path, text).ok()?;
    Some(path)
}

/// The newest report that no window has told of yet; told of once.
pub fn take_unseen() -> Option<PathBuf> {
    take_unseen_in(&home::state_dir())
}

fn take_unseen_in(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    let mut unseen: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(BEGINS) && name.ends_with(UNSEEN) && !name.ends_with(SEEN)
        })
        .collect();
    unseen.sort();
    let mut newest = None;
    for path in unseen {
        let seen = path.with_extension(SEEN);
        // One that cannot be renamed is told of again: better than never.
        newest = Some(std::fs::rename(&path, &seen).map_or(path, |()| seen));
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_happened_and_is_told_of_once() {
        let directory =
            std::env::temp_dir().join(format!("pantobench-crash-{}", std::process::id()));
        assert_eq!(take_unseen_in(&directory), None);
        note_event("12.500 s  Armed → Running");
        let path = write(&directory, "thread 'window': it broke").unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        for words in ["it broke", "Armed → Running", provenance::COMMIT] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let seen = take_unseen_in(&directory).unwrap();
        assert!(seen.exists() && take_unseen_in(&directory).is_none());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
