//! A thread that works on the newest question while the window goes on drawing; questions that were
//! overtaken are left out.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// See the module's text. The thread ends when this is dropped.
pub struct Worker<Q, A> {
    ask: Sender<Q>,
    answers: Receiver<A>,
}

/// What the working thread has in front of it: the way to answer, and whether to go on.
pub struct Desk<'a, Q, A> {
    asked: &'a Receiver<Q>,
    answers: &'a Sender<A>,
    wake: &'a dyn Fn(),
    newer: Option<Q>,
    is_abandoned: bool,
}

impl<Q, A> Desk<'_, Q, A> {
    /// Whether there is a newer question, or nobody to answer: time to give up this one.
    pub fn is_overtaken(&mut self) -> bool {
        loop {
            match self.asked.try_recv() {
                Ok(newer) => self.newer = Some(newer),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.is_abandoned = true;
                    break;
                }
            }
        }
        self.newer.is_some() || self.is_abandoned
    }

    /// Answers, and wakes the window. A question may have several answers, each better than the last.
    pub fn answer(&mut self, answer: A) {
        if self.answers.send(answer).is_err() {
            self.is_abandoned = true;
        } else {
            (self.wake)();
        }
    }
}

impl<Q: Send + 'static, A: Send + 'static> Worker<Q, A> {
    /// Starts the thread. `wake` is called after each answer.
    pub fn start(
        name: &str,
        wake: impl Fn() + Send + 'static,
        mut work: impl FnMut(Q, &mut Desk<'_, Q, A>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (ask, asked) = channel::<Q>();
        let (answer, answers) = channel();
        let run = move || {
            let mut next = None;
            loop {
                let question = match next.take() {
                    Some(question) => question,
                    None => match asked.recv() {
                        Ok(question) => question,
                        Err(_) => return,
                    },
                };
                let mut desk = Desk {
                    asked: &asked,
                    answers: &answer,
                    wake: &wake,
                    newer: None,
                    is_abandoned: false,
                };
                if !desk.is_overtaken() {
                    work(question, &mut desk);
                }
                if desk.is_abandoned {
                    return;
                }
                next = desk.newer;
            }
        };
        std::thread::Builder::new()
            .name(format!("pantobench-{name}"))
            .spawn(run)?;
        Ok(Self { ask, answers })
    }

    /// Asks; what was asked before is overtaken.
    pub fn ask(&self, question: Q) {
        // The thread only ends with this.
        let _ = self.ask.send(question);
    }

    /// The newest answer since the last call.
    pub fn newest(&self) -> Option<A> {
        self.answers.try_iter().last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn the_newest_question_is_answered_and_work_on_an_older_one_given_up() {
        let (begun, has_begun) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        let (woken, wakes) = mpsc::channel();
        let worker = Worker::start(
            "test",
            move || woken.send(()).unwrap(),
            move |question: u32, desk| {
                begun.send(question).unwrap();
                may_go.recv().unwrap();
                if !desk.is_overtaken() {
                    desk.answer(question);
                }
            },
        )
        .unwrap();
        let wait = Duration::from_secs(10);
        worker.ask(1);
        assert_eq!(has_begun.recv_timeout(wait), Ok(1));
        for question in [2, 3, 4] {
            worker.ask(question);
        }
        go.send(()).unwrap();
        assert_eq!(
            has_begun.recv_timeout(wait),
            Ok(4),
            "2 and 3 were passed by"
        );
        go.send(()).unwrap();
        wakes.recv_timeout(wait).unwrap();
        assert_eq!((worker.newest(), worker.newest()), (Some(4), None));
    }
}
