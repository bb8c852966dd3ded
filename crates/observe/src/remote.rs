//! Watches over a network, on a thread of its own: whoever is asked may be slow, or never answer.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};

use crate::notice::{NOTICES_LIMIT, Notices};
use crate::own::own_thread_cpu;
use crate::watch::Observer;

/// How something is asked. One look at a time, each within a bound of its own.
pub(crate) trait Look: Send + 'static {
    /// Asks once; may take seconds. The first look may be the base of rates that later looks yield.
    ///
    /// # Errors
    /// A sentence for the reader of the report. The next look begins anew.
    fn look(&mut self) -> Result<Looked, String>;
}

/// What one look saw.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Looked {
    pub(crate) values: Vec<(SeriesKey, f64)>,
    /// What there is to say; what was said before is not repeated.
    pub(crate) remarks: Vec<(NoticeKind, String)>,
}

/// Has a [`Look`] taken regularly. A look that is not over when the next is due is waited for: its series have a gap.
#[derive(Debug)]
pub(crate) struct Remote {
    name: String,
    every: Duration,
    orders: Sender<()>,
    answers: Receiver<Answer>,
    /// When the look under way began.
    asked: Option<Instant>,
    due: Instant,
    /// Why nothing is seen at present, if so.
    trouble: Option<String>,
    remarks: Vec<String>,
    notices: Notices,
    cost: Duration,
}

#[derive(Debug)]
struct Answer {
    looked: Result<Looked, String>,
    took: Duration,
    cost: Duration,
}

impl Remote {
    /// Watches under `name`, once in `every`.
    ///
    /// # Errors
    /// When no thread can be had.
    pub(crate) fn start(name: &str, every: Duration, look: impl Look) -> io::Result<Remote> {
        let (orders, ordered) = channel();
        let (answer, answers) = channel();
        thread::Builder::new()
            .name(format!("observe {name}"))
            .spawn(move || answer_orders(look, &ordered, &answer))?;
        Ok(Remote {
            name: name.to_owned(),
            every,
            orders,
            answers,
            asked: None,
            due: Instant::EPOCH,
            trouble: None,
            remarks: Vec::new(),
            notices: Notices::new(name),
            cost: Duration::ZERO,
        })
    }

    fn take_answers(&mut self, now: Instant) -> Vec<(SeriesKey, Sample)> {
        let mut samples = Vec::new();
        while let Ok(answer) = self.answers.try_recv() {
            let at = self.asked.take().unwrap_or(now) + answer.took;
            self.cost += answer.cost;
            match answer.looked {
                Ok(looked) => {
                    samples.extend(self.accept(at, looked));
                    let took = SeriesKey::new("observer_took", SeriesKey::GENERATOR, "s").part(&self.name);
                    samples.push((took, Sample { at, value: answer.took.as_secs_f64() }));
                }
                Err(why) => self.fail(at, NoticeKind::Gone, why),
            }
        }
        samples
    }

    fn accept(&mut self, at: Instant, looked: Looked) -> impl Iterator<Item = (SeriesKey, Sample)> {
        if self.trouble.take().is_some() {
            self.notices.say(at, NoticeKind::Appeared, "answers again".to_owned());
        }
        for (kind, text) in looked.remarks {
            if !self.remarks.contains(&text) {
                self.notices.say(at, kind, text.clone());
                // Once so many were said, notices are not kept any more.
                if self.remarks.len() < NOTICES_LIMIT {
                    self.remarks.push(text);
                }
            }
        }
        looked.values.into_iter().map(move |(key, value)| (key, Sample { at, value }))
    }

    fn fail(&mut self, at: Instant, kind: NoticeKind, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            self.notices.say(at, kind, why.clone());
            self.trouble = Some(why);
        }
    }

    fn ask(&mut self, at: Instant) {
        match self.asked {
            Some(asked) if at.since(asked) >= self.every.max(Duration::from_secs(1)) => {
                self.fail(at, NoticeKind::Late, "does not answer in time; its series have a gap".to_owned());
            }
            Some(_) => {}
            None if at < self.due => {}
            None if self.orders.send(()).is_ok() => {
                self.asked = Some(at);
                self.due = at + self.every.saturating_sub(SLACK);
            }
            None => {
                self.fail(at, NoticeKind::Unreadable, "its thread broke off: a bug in plimsoll".to_owned())
            }
        }
    }
}

/// Looks are due at whole seconds and come a little after: the next is not to be missed for that.
const SLACK: Duration = Duration::from_millis(500);

impl Observer for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        let samples = self.take_answers(at);
        self.ask(at);
        samples
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.take()
    }

    fn take_cost(&mut self) -> Duration {
        std::mem::take(&mut self.cost)
    }
}

/// Until the other side is dropped. Nobody waits for this thread: what it asks may never answer.
fn answer_orders(mut look: impl Look, orders: &Receiver<()>, answers: &Sender<Answer>) {
    while orders.recv().is_ok() {
        let (begun, before) = (std::time::Instant::now(), own_thread_cpu());
        let looked = look.look();
        let answer = Answer { looked, took: begun.elapsed(), cost: own_thread_cpu().saturating_sub(before) };
        if answers.send(answer).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers what it is told to, and no sooner.
    struct Told(Receiver<Result<Looked, String>>);

    impl Look for Told {
        fn look(&mut self) -> Result<Looked, String> {
            self.0.recv().expect("the test tells an answer for each look")
        }
    }

    fn remote() -> (Remote, Sender<Result<Looked, String>>) {
        let (tell, told) = channel();
        (Remote::start("shop prometheus", Duration::from_secs(1), Told(told)).unwrap(), tell)
    }

    fn at(second: u64) -> Instant {
        Instant::at(Duration::from_secs(second))
    }

    fn looked(value: f64) -> Looked {
        Looked { values: vec![(SeriesKey::new("hits", "shop", "1"), value)], ..Looked::default() }
    }

    /// Samples at `second`, once the answer that was told has come.
    fn answered(remote: &mut Remote, second: u64) -> Vec<(SeriesKey, Sample)> {
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        loop {
            let samples = remote.take_answers(at(second));
            if remote.asked.is_none() || std::time::Instant::now() > deadline {
                remote.ask(at(second));
                return samples;
            }
            thread::yield_now();
        }
    }

    fn values(samples: &[(SeriesKey, Sample)]) -> Vec<f64> {
        samples.iter().filter(|(key, _)| &*key.name == "hits").map(|(_, sample)| sample.value).collect()
    }

    fn notices(remote: &mut Remote) -> Vec<(NoticeKind, String)> {
        remote.take_notices().into_iter().map(|notice| (notice.kind, notice.text)).collect()
    }

    #[test]
    fn answers_are_dated_by_the_look_that_saw_them() {
        let (mut remote, tell) = remote();
        assert_eq!(remote.sample(at(3)), []);
        tell.send(Ok(looked(7.0))).unwrap();
        let samples = answered(&mut remote, 4);
        assert_eq!(values(&samples), [7.0]);
        assert!(samples.iter().all(|(_, sample)| sample.at >= at(3)), "{samples:?}");
        assert!(
            samples.iter().any(|(key, _)| &*key.name == "observer_took" && &*key.part == "shop prometheus")
        );
        assert_eq!(notices(&mut remote), []);
    }

    #[test]
    fn one_that_does_not_answer_leaves_a_gap_and_one_notice() {
        let (mut remote, tell) = remote();
        for second in 0..5 {
            assert_eq!(remote.sample(at(second)), []);
        }
        let late = (NoticeKind::Late, "does not answer in time; its series have a gap".to_owned());
        assert_eq!(notices(&mut remote), [late]);
        tell.send(Ok(looked(1.0))).unwrap();
        assert_eq!(values(&answered(&mut remote, 5)), [1.0]);
        assert_eq!(notices(&mut remote), [(NoticeKind::Appeared, "answers again".to_owned())]);
    }

    #[test]
    fn trouble_is_told_once_and_again_when_it_is_another() {
        let (mut remote, tell) = remote();
        remote.sample(at(0));
        for (second, why) in [(1, "refused"), (2, "refused"), (3, "status 500")] {
            tell.send(Err(why.to_owned())).unwrap();
            assert_eq!(answered(&mut remote, second), []);
        }
        let told = ["refused", "status 500"].map(|why| (NoticeKind::Gone, why.to_owned()));
        assert_eq!(notices(&mut remote), told);
    }

    #[test]
    fn a_remark_is_not_repeated() {
        let (mut remote, tell) = remote();
        remote.sample(at(0));
        let remark = (NoticeKind::Unreadable, "no right to see statements".to_owned());
        for second in 1..4 {
            tell.send(Ok(Looked { remarks: vec![remark.clone()], ..looked(1.0) })).unwrap();
            answered(&mut remote, second);
        }
        assert_eq!(notices(&mut remote), [remark]);
    }

    #[test]
    fn looks_come_no_more_often_than_asked() {
        let (tell, told) = channel();
        let mut remote = Remote::start("slow", Duration::from_secs(5), Told(told)).unwrap();
        remote.sample(at(0));
        tell.send(Ok(looked(1.0))).unwrap();
        answered(&mut remote, 1);
        for second in 2..5 {
            remote.sample(at(second));
            assert_eq!(remote.asked, None, "second {second}");
        }
        remote.sample(at(5));
        assert_eq!(remote.asked, Some(at(5)));
    }
}
