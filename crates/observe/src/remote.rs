//! Watches over a network, on a thread of its own: a server may be slow, or never answer.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};

use crate::base::SHORTEST_INTERVAL;
use crate::notice::{LONGEST_NOTICE, NOTICES_LIMIT, Notices, shortened};
use crate::observer::{Observer, own_thread_cpu};

/// How a server is queried. One query at a time, each with a time limit of its own.
pub(crate) trait Query: Send + 'static {
    /// Queries once; may take seconds. The first query may only take the base of rates that later ones return.
    ///
    /// # Errors
    /// A sentence for the reader of the report. The next query starts from a new base.
    fn query(&mut self) -> Result<QueryResult, String>;
}

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
    orders: Sender<std::time::Instant>,
    answers: Receiver<Answered>,
    /// When the queries were ordered that have no result yet: one, and at the end of the watch perhaps a second.
    asked: VecDeque<Instant>,
    /// When the last query was ordered.
    last_asked: Option<Instant>,
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
    /// The time from the order to the result.
    after: Duration,
    /// The time that the query itself took.
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
            asked: VecDeque::new(),
            last_asked: None,
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
            samples.extend(self.take_answer(answer, now));
        }
        samples
    }

    fn take_answer(&mut self, answer: Answered, now: Instant) -> Vec<(SeriesKey, Sample)> {
        let at = self.asked.pop_front().map_or(now, |asked| asked + answer.after);
        self.cost += answer.cost;
        match answer.result {
            Ok(result) => {
                let took = SeriesKey::new("observer_took", SeriesKey::GENERATOR, "s").part(&self.name);
                let took = (took, Sample { at, value: answer.took.as_secs_f64() });
                self.accept(at, result).chain([took]).collect()
            }
            Err(why) => {
                self.fail(at, NoticeKind::Gone, why);
                Vec::new()
            }
        }
    }

    fn accept(&mut self, at: Instant, result: QueryResult) -> impl Iterator<Item = (SeriesKey, Sample)> {
        if self.trouble.take().is_some() {
            self.notices.add(at, NoticeKind::Appeared, "answers again".to_owned());
        }
        for (kind, text) in result.remarks {
            let text = shortened(&text, LONGEST_NOTICE);
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
        let why = shortened(&why, LONGEST_NOTICE);
        if self.trouble.as_ref() != Some(&why) {
            self.notices.add(at, kind, why.clone());
            self.trouble = Some(why);
        }
    }

    fn ask(&mut self, at: Instant) {
        match self.asked.front() {
            Some(asked) if at.since(*asked) >= self.every.max(Duration::from_secs(1)) => {
                self.fail(at, NoticeKind::Late, "does not answer in time; its series have a gap".to_owned());
            }
            None if at >= self.due => self.order(at),
            Some(_) | None => {}
        }
    }

    fn order(&mut self, at: Instant) {
        if self.orders.send(std::time::Instant::now()).is_ok() {
            self.asked.push_back(at);
            self.last_asked = Some(at);
            self.due = at + self.every.saturating_sub(SLACK);
        } else {
            self.fail(at, NoticeKind::Unreadable, PANICKED.to_owned());
        }
    }
}

const PANICKED: &str = "its thread panicked: a bug in plimsoll";

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

    /// A query that was ordered just now is the closing one: a second would only show what it costs to query.
    fn sample_closing(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        let samples = self.take_answers(at);
        if self.last_asked.is_none_or(|last| at.since(last) >= SHORTEST_INTERVAL) {
            self.order(at);
        }
        samples
    }

    fn await_closing(&mut self, patience: Duration) -> Vec<(SeriesKey, Sample)> {
        let begun = std::time::Instant::now();
        let mut samples = Vec::new();
        while let Some(asked) = self.asked.front().copied() {
            match self.answers.recv_timeout(patience.saturating_sub(begun.elapsed())) {
                Ok(answer) => samples.extend(self.take_answer(answer, asked)),
                Err(RecvTimeoutError::Timeout) => {
                    // A server that is in trouble has been reported.
                    if self.trouble.is_none() {
                        let text = "did not answer before the watch ended: its series end with a gap";
                        self.fail(asked, NoticeKind::Late, text.to_owned());
                    }
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.fail(asked, NoticeKind::Unreadable, PANICKED.to_owned());
                    break;
                }
            }
        }
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
fn answer_orders(mut query: impl Query, orders: &Receiver<std::time::Instant>, answers: &Sender<Answered>) {
    while let Ok(ordered) = orders.recv() {
        let (begun, before) = (std::time::Instant::now(), own_thread_cpu());
        let result = query.query();
        let (after, took) = (ordered.elapsed(), begun.elapsed());
        let answer = Answered { result, after, took, cost: own_thread_cpu().saturating_sub(before) };
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

    fn micros(micros: u64) -> Instant {
        Instant::at(Duration::from_micros(micros))
    }

    fn result(value: f64) -> QueryResult {
        QueryResult { values: vec![(SeriesKey::new("hits", "shop", "1"), value)], ..QueryResult::default() }
    }

    /// Samples at `second`, once the result that was sent has arrived.
    fn answered(remote: &mut Remote, second: u64) -> Vec<(SeriesKey, Sample)> {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let samples = remote.take_answers(at(second));
            if remote.asked.is_empty() || std::time::Instant::now() > deadline {
                remote.ask(at(second));
                return samples;
            }
            thread::yield_now();
        }
    }

    /// Longer than any result takes.
    const PATIENCE: Duration = Duration::from_secs(10);

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
            assert!(remote.asked.is_empty(), "second {second}");
        }
        remote.sample(at(5));
        assert_eq!(remote.asked, [at(5)]);
    }

    #[test]
    fn the_closing_query_is_sent_whenever_the_next_one_is_due() {
        let (send, results) = channel();
        let mut remote = Remote::start("slow", Duration::from_secs(5), Scripted(results)).unwrap();
        remote.sample(micros(5_000_142));
        send.send(Ok(result(1.0))).unwrap();
        answered(&mut remote, 6);
        assert_eq!(remote.sample_closing(micros(7_730_311)), []);
        send.send(Ok(result(2.0))).unwrap();
        let samples = remote.await_closing(PATIENCE);
        assert_eq!(values(&samples), [2.0]);
        assert!(samples.iter().all(|(_, sample)| sample.at >= micros(7_730_311)), "{samples:?}");
        assert_eq!(notices(&mut remote), []);
    }

    #[test]
    fn the_closing_query_waits_for_the_one_under_way_unless_that_has_just_begun() {
        for (closing, expected) in [(6_730_311, vec![1.0, 2.0]), (6_000_311, vec![1.0])] {
            let (mut remote, send) = remote();
            remote.sample(micros(6_000_142));
            assert_eq!(remote.sample_closing(micros(closing)), []);
            for value in &expected {
                send.send(Ok(result(*value))).unwrap();
            }
            let samples = remote.await_closing(PATIENCE);
            assert_eq!(values(&samples), expected);
            let in_order = samples.windows(2).all(|pair| pair[0].1.at <= pair[1].1.at);
            assert!(in_order && samples[0].1.at >= micros(6_000_142), "{samples:?}");
        }
    }

    #[test]
    fn a_server_that_does_not_answer_at_the_end_is_not_waited_for() {
        let (mut remote, _send) = remote();
        remote.sample_closing(micros(6_730_311));
        assert_eq!(remote.await_closing(Duration::ZERO), []);
        let late = "did not answer before the watch ended: its series end with a gap".to_owned();
        assert_eq!(notices(&mut remote), [(NoticeKind::Late, late)]);
        assert_eq!(remote.await_closing(Duration::ZERO), []);
        assert_eq!(notices(&mut remote), [], "it has been reported");
    }
}
