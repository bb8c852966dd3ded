//! Watches over a network, on a thread of its own: a server may be slow, or never answer.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};

use crate::notice::{NOTICES_LIMIT, Notices};
use crate::observer::{Observer, own_thread_cpu};

/// How a server is queried. One query at a time, each with a time limit of its own.
pub(crate) trait Query: Send + 'static {
    /// Queries once; may take seconds. The first query may only take the base of rates that later ones return.
    ///
    /// # Errors
    /// A sentence for the reader of the report. The next query starts from a new base.
    fn query(&mut self) -> Result<QueryResult, String>;
}

/// The result of one query.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct QueryResult {
    pub(crate) values: Vec<(SeriesKey, f64)>,
    /// Remarks; one that was reported before is not repeated.
    pub(crate) remarks: Vec<(NoticeKind, String)>,
}

/// Runs a [`Query`] regularly. A query that is not over when the next is due is waited for: its series have a gap.
#[derive(Debug)]
pub(crate) struct Remote {
    name: String,
    every: Duration,
    orders: Sender<()>,
    answers: Receiver<Answered>,
    /// When the query under way began.
    asked: Option<Instant>,
    due: Instant,
    /// Why there are no values at present, if so.
    trouble: Option<String>,
    remarks: Vec<String>,
    notices: Notices,
    cost: Duration,
}

#[derive(Debug)]
struct Answered {
    result: Result<QueryResult, String>,
    took: Duration,
    cost: Duration,
}

impl Remote {
    /// Watches under `name`, once in `every`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(name: &str, every: Duration, query: impl Query) -> io::Result<Remote> {
        let (orders, ordered) = channel();
        let (answer, answers) = channel();
        thread::Builder::new()
            .name(format!("observe {name}"))
            .spawn(move || answer_orders(query, &ordered, &answer))?;
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
            match answer.result {
                Ok(result) => {
                    samples.extend(self.accept(at, result));
                    let took = SeriesKey::new("observer_took", SeriesKey::GENERATOR, "s").part(&self.name);
                    samples.push((took, Sample { at, value: answer.took.as_secs_f64() }));
                }
                Err(why) => self.fail(at, NoticeKind::Gone, why),
            }
        }
        samples
    }

    fn accept(&mut self, at: Instant, result: QueryResult) -> impl Iterator<Item = (SeriesKey, Sample)> {
        if self.trouble.take().is_some() {
            self.notices.add(at, NoticeKind::Appeared, "answers again".to_owned());
        }
        for (kind, text) in result.remarks {
            if !self.remarks.contains(&text) {
                self.notices.add(at, kind, text.clone());
                // Beyond the limit notices are not kept.
                if self.remarks.len() < NOTICES_LIMIT {
                    self.remarks.push(text);
                }
            }
        }
        result.values.into_iter().map(move |(key, value)| (key, Sample { at, value }))
    }

    fn fail(&mut self, at: Instant, kind: NoticeKind, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            self.notices.add(at, kind, why.clone());
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
                self.fail(at, NoticeKind::Unreadable, "its thread panicked: a bug in plimsoll".to_owned())
            }
        }
    }
}

/// Queries are due at whole seconds and start a little later: the next must not be missed because of that.
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

/// Runs until the other side is dropped. It is never joined: a query may never return.
fn answer_orders(mut query: impl Query, orders: &Receiver<()>, answers: &Sender<Answered>) {
    while orders.recv().is_ok() {
        let (begun, before) = (std::time::Instant::now(), own_thread_cpu());
        let result = query.query();
        let answer =
            Answered { result, took: begun.elapsed(), cost: own_thread_cpu().saturating_sub(before) };
        if answers.send(answer).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the results that the test sends, when it sends them.
    struct Scripted(Receiver<Result<QueryResult, String>>);

    impl Query for Scripted {
        fn query(&mut self) -> Result<QueryResult, String> {
            self.0.recv().expect("the test sends a result for each query")
        }
    }

    fn remote() -> (Remote, Sender<Result<QueryResult, String>>) {
        let (send, results) = channel();
        (Remote::start("shop prometheus", Duration::from_secs(1), Scripted(results)).unwrap(), send)
    }

    fn at(second: u64) -> Instant {
        Instant::at(Duration::from_secs(second))
    }

    fn result(value: f64) -> QueryResult {
        QueryResult { values: vec![(SeriesKey::new("hits", "shop", "1"), value)], ..QueryResult::default() }
    }

    /// Samples at `second`, once the result that was sent has arrived.
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
    fn results_are_dated_by_their_query() {
        let (mut remote, send) = remote();
        assert_eq!(remote.sample(at(3)), []);
        send.send(Ok(result(7.0))).unwrap();
        let samples = answered(&mut remote, 4);
        assert_eq!(values(&samples), [7.0]);
        assert!(samples.iter().all(|(_, sample)| sample.at >= at(3)), "{samples:?}");
        assert!(
            samples.iter().any(|(key, _)| &*key.name == "observer_took" && &*key.part == "shop prometheus")
        );
        assert_eq!(notices(&mut remote), []);
    }

    #[test]
    fn a_server_that_does_not_answer_leaves_a_gap_and_one_notice() {
        let (mut remote, send) = remote();
        for second in 0..5 {
            assert_eq!(remote.sample(at(second)), []);
        }
        let late = (NoticeKind::Late, "does not answer in time; its series have a gap".to_owned());
        assert_eq!(notices(&mut remote), [late]);
        send.send(Ok(result(1.0))).unwrap();
        assert_eq!(values(&answered(&mut remote, 5)), [1.0]);
        assert_eq!(notices(&mut remote), [(NoticeKind::Appeared, "answers again".to_owned())]);
    }

    #[test]
    fn a_failure_is_reported_once_and_again_when_it_changes() {
        let (mut remote, send) = remote();
        remote.sample(at(0));
        for (second, why) in [(1, "refused"), (2, "refused"), (3, "status 500")] {
            send.send(Err(why.to_owned())).unwrap();
            assert_eq!(answered(&mut remote, second), []);
        }
        let reported = ["refused", "status 500"].map(|why| (NoticeKind::Gone, why.to_owned()));
        assert_eq!(notices(&mut remote), reported);
    }

    #[test]
    fn a_remark_is_not_repeated() {
        let (mut remote, send) = remote();
        remote.sample(at(0));
        let remark = (NoticeKind::Unreadable, "no right to see statements".to_owned());
        for second in 1..4 {
            send.send(Ok(QueryResult { remarks: vec![remark.clone()], ..result(1.0) })).unwrap();
            answered(&mut remote, second);
        }
        assert_eq!(notices(&mut remote), [remark]);
    }

    #[test]
    fn queries_run_no_more_often_than_configured() {
        let (send, results) = channel();
        let mut remote = Remote::start("slow", Duration::from_secs(5), Scripted(results)).unwrap();
        remote.sample(at(0));
        send.send(Ok(result(1.0))).unwrap();
        answered(&mut remote, 1);
        for second in 2..5 {
            remote.sample(at(second));
            assert_eq!(remote.asked, None, "second {second}");
        }
        remote.sample(at(5));
        assert_eq!(remote.asked, Some(at(5)));
    }
}
