//! Requests that stand in line.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};

/// So many stand in line at most; the oldest has to go when another comes.
const LONGEST: usize = 16_384;

/// What became of who stood in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Its work is to be done.
    Served,
    /// It is to be refused.
    Refused,
}

/// A place in the line, which tells when its turn has come. Dropping it leaves the line.
#[derive(Debug)]
pub(crate) struct Place(oneshot::Receiver<Turn>);

impl Future for Place {
    type Output = Turn;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn> {
        // A line that is gone keeps nobody.
        Pin::new(&mut self.0).poll(context).map(|turn| turn.unwrap_or(Turn::Served))
    }
}

/// A line, from the oldest to the newest. Closed in the beginning.
#[derive(Debug, Default)]
pub(super) struct Line {
    standing: Mutex<Standing>,
    joined: Notify,
}

#[derive(Debug, Default)]
struct Standing {
    is_open: bool,
    places: VecDeque<Standee>,
}

/// Since when, and how to call.
type Standee = (Instant, oneshot::Sender<Turn>);

impl Line {
    pub(super) fn open(&self) {
        self.lock().is_open = true;
    }

    /// Serves everybody; from now on nobody joins.
    pub(super) fn close(&self) {
        let mut standing = self.lock();
        standing.is_open = false;
        standing.places.drain(..).for_each(|(_, place)| call(place, Turn::Served));
    }

    /// A place at its end; `None` when it is closed.
    pub(super) fn join(&self, now: Instant) -> Option<Place> {
        let (place, turn) = oneshot::channel();
        let mut standing = self.lock();
        if !standing.is_open {
            return None;
        }
        if standing.places.len() >= LONGEST
            && let Some((_, oldest)) = standing.places.pop_front()
        {
            call(oldest, Turn::Refused);
        }
        standing.places.push_back((now, place));
        if standing.places.len() == 1 {
            self.joined.notify_one();
        }
        Some(Place(turn))
    }

    /// Returns when somebody has joined an empty line.
    pub(super) async fn joined(&self) {
        self.joined.notified().await;
    }

    /// Calls up to so many of the newest; yields how many.
    pub(super) fn serve(&self, count: usize) -> usize {
        let mut standing = self.lock();
        let newest = std::iter::from_fn(|| standing.places.pop_back());
        call_some(newest, count, Turn::Served)
    }

    /// Refuses up to so many of the oldest that joined before `before`; yields how many.
    pub(super) fn refuse(&self, count: usize, before: Instant) -> usize {
        let mut standing = self.lock();
        let oldest = std::iter::from_fn(|| standing.places.pop_front_if(|(since, _)| *since < before));
        call_some(oldest, count, Turn::Refused)
    }

    /// How long the oldest and the newest have stood there; those who left are forgotten on the way.
    pub(super) fn ages(&self, now: Instant) -> Option<(Duration, Duration)> {
        let mut standing = self.lock();
        while standing.places.pop_front_if(|(_, place)| place.is_closed()).is_some() {}
        while standing.places.pop_back_if(|(_, place)| place.is_closed()).is_some() {}
        let age = |(since, _): &Standee| now.saturating_duration_since(*since);
        standing.places.front().map(age).zip(standing.places.back().map(age))
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls the first so many of those who are still there; yields how many they were.
fn call_some(places: impl Iterator<Item = Standee>, count: usize, turn: Turn) -> usize {
    let there = places.filter(|(_, place)| !place.is_closed()).take(count);
    there.map(|(_, place)| call(place, turn)).count()
}

/// Who has left meanwhile does not hear it.
fn call(place: oneshot::Sender<Turn>, turn: Turn) {
    let _left = place.send(turn);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(place: &mut Place) -> Option<Turn> {
        place.0.try_recv().ok()
    }

    #[test]
    fn the_newest_are_served_the_oldest_refused_and_who_has_left_takes_no_turn() {
        let (line, begun) = (Line::default(), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        assert!(line.join(begun).is_none(), "it is closed");
        line.open();
        let mut places: Vec<_> = (0..6).map(|ms| line.join(at(ms)).unwrap()).collect();
        drop(places.remove(4));
        drop(places.remove(1));
        assert_eq!((line.serve(2), line.refuse(1, at(2)), line.refuse(9, at(2))), (2, 1, 0));
        let turns: Vec<_> = places.iter_mut().map(told).collect();
        assert_eq!(turns, [Some(Turn::Refused), None, Some(Turn::Served), Some(Turn::Served)]);
        assert_eq!(line.ages(at(9)), Some((Duration::from_millis(7), Duration::from_millis(7))));
        line.close();
        assert_eq!(told(&mut places[1]), Some(Turn::Served));
        assert!(line.ages(at(9)).is_none() && line.join(at(9)).is_none());
    }

    #[test]
    fn its_length_is_bounded() {
        let (line, now) = (Line::default(), Instant::now());
        line.open();
        let mut first = line.join(now).unwrap();
        let _others: Vec<_> = (0..LONGEST).map(|_| line.join(now).unwrap()).collect();
        assert_eq!(told(&mut first), Some(Turn::Refused));
    }
}
