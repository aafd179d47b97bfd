//! A script in a thread of its own, for a window that must not wait.

use super::outcome::{Outcome, Output};
use super::watch::StopSwitch;
use super::{Setup, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What comes from a script that runs.
pub enum News {
    /// Something that it shows.
    Output(Output),
    /// It has ended.
    Done(Box<Outcome>),
}

/// See the module's text.
pub struct ScriptRun {
    /// Stops it.
    pub switch: StopSwitch,
    /// Set when it has ended and its bench rests.
    pub ended: Arc<AtomicBool>,
    news: mpsc::Receiver<News>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptRun {
    /// Begins; `wake` is called whenever there is something new.
    pub fn begin(
        source: String,
        setup: Setup,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let (tell, news) = mpsc::channel();
        let switch = setup.switch.clone();
        let ended = Arc::new(AtomicBool::new(false));
        let at_the_end = Arc::clone(&ended);
        let work = move || {
            let wake = std::rc::Rc::new(wake);
            let (telling, waking) = (tell.clone(), std::rc::Rc::clone(&wake));
            let outcome = run(&source, setup, move |output| {
                // A window that is gone by now has nobody to tell.
                let _ = telling.send(News::Output(output));
                waking();
            });
            let _ = tell.send(News::Done(Box::new(outcome)));
            at_the_end.store(true, Ordering::Release);
            wake();
        };
        let thread = std::thread::Builder::new()
            .name("pantobench-script".into())
            .spawn(work)
            .map_err(|e| format!("the script cannot be run: no thread ({e})"))?;
        Ok(Self {
            switch,
            ended,
            news,
            thread: Some(thread),
        })
    }

    /// What has come since the last time.
    pub fn poll(&self) -> Vec<News> {
        self.news.try_iter().collect()
    }
}

impl Drop for ScriptRun {
    /// Stops it and waits until its bench rests.
    fn drop(&mut self) {
        self.switch.press();
        if let Some(thread) = self.thread.take() {
            // A script that has panicked has nothing left to wait for; its bench rests without its other side.
            let _ = thread.join();
        }
    }
}
