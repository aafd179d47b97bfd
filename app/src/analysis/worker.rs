//! A thread that works for a panel while the window goes on drawing. It always takes the newest job; what
//! was asked for before and is not begun is left out.

use std::sync::mpsc::{Receiver, Sender, channel};

/// See the module's text. The thread ends when this is dropped, after the job that it is at.
pub struct Worker<J, A> {
    ask: Sender<J>,
    answers: Receiver<A>,
}

impl<J: Send + 'static, A: Send + 'static> Worker<J, A> {
    /// Starts the thread. `wake` is called when there is an answer.
    pub fn start(
        mut work: impl FnMut(J) -> A + Send + 'static,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let (ask, asked) = channel::<J>();
        let (answer, answers) = channel();
        let run = move || {
            while let Ok(mut job) = asked.recv() {
                while let Ok(newer) = asked.try_recv() {
                    job = newer;
                }
                if answer.send(work(job)).is_err() {
                    return;
                }
                wake();
            }
        };
        std::thread::Builder::new()
            .name("pantobench-analysis".into())
            .spawn(run)?;
        Ok(Self { ask, answers })
    }

    /// Asks for something; `false` if the thread has ended, which only a panic in it can cause.
    pub fn ask(&self, job: J) -> bool {
        self.ask.send(job).is_ok()
    }

    /// The newest answer since the last call.
    pub fn newest(&self) -> Option<A> {
        self.answers.try_iter().last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_newest_job_wins_and_every_answer_wakes() {
        let (begun, has_begun) = channel();
        let (go, may_go) = channel::<()>();
        let (woken, wakes) = channel();
        let work = move |job: u32| {
            begun.send(job).unwrap();
            may_go.recv().unwrap();
            job * 10
        };
        let worker = Worker::start(work, move || woken.send(()).unwrap()).unwrap();
        let patience = Duration::from_secs(20);
        assert!(worker.ask(1));
        assert_eq!(has_begun.recv_timeout(patience), Ok(1));
        // While it is at the first, three more are asked for: only the last is done.
        assert!([2, 3, 4].into_iter().all(|job| worker.ask(job)));
        go.send(()).unwrap();
        wakes.recv_timeout(patience).unwrap();
        assert_eq!(has_begun.recv_timeout(patience), Ok(4));
        go.send(()).unwrap();
        wakes.recv_timeout(patience).unwrap();
        assert_eq!(worker.newest(), Some(40));
        assert_eq!(worker.newest(), None);
    }
}
