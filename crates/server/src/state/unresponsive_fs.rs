//! Folders on file systems that do not answer: a server that is gone, a disk that hangs. Looking at one blocks a thread until the
//! kernel gives up, which can be never; nobody else must wait for it.

use std::collections::HashSet;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

/// A file system that takes longer does not answer. A disk that spins up takes as long.
const PATIENCE: Duration = Duration::from_secs(10);

/// The names that somebody waits for in vain. Each holds one thread at most, until it answers.
#[derive(Clone, Debug, Default)]
pub struct UnresponsivePaths(Arc<Mutex<HashSet<String>>>);

impl UnresponsivePaths {
    /// What `look` finds at each of `names`. Without a thread to spare it waits itself.
    ///
    /// # Errors
    ///
    /// Of one name each: its file system does not answer, or `look` panicked.
    pub fn look<T: Send + 'static>(
        &self,
        names: Vec<String>,
        look: impl Fn(&str) -> T + Clone + Send + 'static,
    ) -> Vec<(String, io::Result<T>)> {
        let (silent, mut left): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| self.has(name));
        let mut found: Vec<(String, io::Result<T>)> = silent.into_iter().map(|name| (name, Err(no_answer()))).collect();
        while !left.is_empty() {
            let (sender, answers) = channel();
            let (worker, silent, names) = (look.clone(), self.clone(), left.clone());
            let work = move || {
                for name in names {
                    if sender.send(worker(&name)).is_err() {
                        return silent.change(|them| them.remove(&name)); // it answers again
                    }
                }
            };
            if thread::Builder::new().name("listing".into()).spawn(work).is_err() {
                found.extend(left.drain(..).map(|name| (name.clone(), Ok(look(&name)))));
                break;
            }
            let mut names = left.into_iter();
            left = loop {
                let Some(name) = names.next() else { break Vec::new() };
                match answers.recv_timeout(PATIENCE) {
                    Ok(answer) => found.push((name, Ok(answer))),
                    Err(RecvTimeoutError::Disconnected) => {
                        found.push((name, Err(io::Error::other("reading it failed, as standard error says"))));
                        break names.collect();
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        // Before `answers` is dropped: who answers later finds that nobody waits, and takes it back.
                        self.change(|them| them.insert(name.clone()));
                        found.push((name, Err(no_answer())));
                        break names.collect();
                    }
                }
            };
        }
        found
    }

    fn has(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn change(&self, change: impl FnOnce(&mut HashSet<String>) -> bool) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn no_answer() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "its file system does not answer")
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn who_does_not_answer_holds_up_nobody() {
        let (silent, hangs) = (UnresponsivePaths::default(), Arc::new(Barrier::new(2)));
        let names = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let gate = hangs.clone();
        let look = move |name: &str| {
            if name == "b" {
                gate.wait();
            }
            name.len()
        };
        let of = |found: &[(String, io::Result<usize>)], name: &str| {
            found.iter().find(|it| it.0 == name).unwrap().1.as_ref().ok().copied()
        };
        let found = silent.look(names(), look.clone());
        assert_eq!((found.len(), of(&found, "b"), of(&found, "c")), (3, None, Some(1)));
        // It is not looked at again before it has answered.
        assert_eq!(of(&silent.look(names(), |_| 7), "b"), None);
        hangs.wait();
        while silent.has("b") {
            thread::yield_now();
        }
        assert_eq!(of(&silent.look(names(), |_| 7), "b"), Some(7));
    }

    #[test]
    fn who_panics_takes_no_other_along() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let found = UnresponsivePaths::default().look(names, |name| if name == "b" { panic!("on purpose") } else { 1 });
        let answers: Vec<_> = found.iter().map(|(name, found)| (name.as_str(), found.as_ref().ok().copied())).collect();
        assert_eq!(answers, [("a", Some(1)), ("b", None), ("c", Some(1))]);
        assert!(found[1].1.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Other));
    }
}
