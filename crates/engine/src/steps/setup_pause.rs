//! How long a virtual user waits before it tries its setup again: a target that refuses logins must not be loaded with nothing
//! but logins, as fast as it refuses them.

use std::time::Duration;

use workload::draw::Draw;

/// The longest wait after the first failure; it doubles with each further one.
const FIRST: Duration = Duration::from_millis(100);
/// How often it doubles at most: to 6.4 s.
const DOUBLINGS: u32 = 6;
/// Far from the salts of steps, data files and trace ids.
const SALT: u64 = u64::MAX - 65_536;

/// The wait after so many failures in a row: exponential, from half of it on at random, so that virtual users that failed
/// together do not come back together ("equal jitter": Brooker, "Exponential Backoff And Jitter", AWS, 2015).
pub(super) fn pause(failures: u32, user: &Draw) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
    let half = FIRST * 2u32.pow(doublings.min(DOUBLINGS)) / 2;
    let jitter = user.below(SALT.wrapping_sub(u64::from(failures)), half.as_nanos() as u64);
    half + Duration::from_nanos(jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_a_limit_and_differs_between_users() {
        let of = |failures, user| pause(failures, &Draw::new(1, 0, user));
        assert_eq!(of(0, 1), Duration::ZERO);
        for (failures, longest_ms) in
            [(1, 100), (2, 200), (3, 400), (7, 6_400), (8, 6_400), (u32::MAX, 6_400)]
        {
            let longest = Duration::from_millis(longest_ms);
            for user in 0..100 {
                let pause = of(failures, user);
                assert!(pause >= longest / 2 && pause < longest, "{failures}: {pause:?}");
            }
            assert_ne!(of(failures, 1), of(failures, 2));
        }
    }
}
