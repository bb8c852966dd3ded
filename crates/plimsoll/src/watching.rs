//! Who watches: the observers that a workload asks for, and the generator's own.

use std::collections::BTreeMap;
use std::io;

use observe::{Observer, OwnProcess, ProcessObserver};
use workload::Workload;
use workload::observation::{Observation, filled};

use crate::manifest::watched;

/// Every observer that `workload` asks for; `env` has the values that URLs leave out.
///
/// # Errors
/// When the system gives no thread for one.
pub(crate) fn observers(
    workload: &Workload,
    env: &BTreeMap<String, String>,
) -> io::Result<Vec<Box<dyn Observer>>> {
    let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(OwnProcess::new())];
    for (name, target) in &workload.targets {
        if let Some(process) = &target.process {
            observers.push(Box::new(ProcessObserver::new(name, watched(process))));
        }
        watch_over_network(&mut observers, (name, &target.observe), env)?;
    }
    Ok(observers)
}

fn watch_over_network(
    observers: &mut Vec<Box<dyn Observer>>,
    (target, observe): (&str, &Observation),
    env: &BTreeMap<String, String>,
) -> io::Result<()> {
    if let Some(redis) = &observe.redis {
        observers.push(observe::redis(target, &filled(&redis.url, env), redis.every)?);
    }
    Ok(())
}
