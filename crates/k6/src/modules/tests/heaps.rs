//! Virtual users that share a heap.

use std::rc::Rc;

use super::{Lines, load};
use crate::behaviour::{ScriptScenario, ScriptUsers};
use crate::loading::Group;
use crate::script::{LogSink, ScriptError};

/// The users of a script that is loaded without a finding, and the heap or the exception of each of the first four.
fn made(script: &str, lines: &Lines) -> Vec<Result<Rc<Group>, String>> {
    let log: LogSink = lines.sink();
    let script = load("import exec from 'k6/execution';", script, lines).expect("it is loaded");
    let scenario = ScriptScenario { exec: "default".to_owned(), ..ScriptScenario::default() };
    let mut users = ScriptUsers::new(&script, scenario, log);
    let mut made = |number| match users.made(number, None) {
        Ok(user) => Ok(user.group.clone()),
        Err(ScriptError::Threw(exception)) => Err(exception.message),
        Err(error) => Err(error.to_string()),
    };
    (1..=4).map(&mut made).collect()
}

#[test]
fn jobs_of_a_user_that_aborted_do_not_run_in_the_next() {
    let script = "
        if (__VU === 2) {
            Promise.resolve().then(() => exec.test.abort('bad configuration'));
            for (let i = 0; i < 50; i++) Promise.resolve().then(() => console.log('left'));
        }
        if (__VU > 2) Promise.resolve().then(() => console.log(`own ${__VU}`));
        export default function () {}";
    let lines = Lines::default();
    let users = made(script, &lines);
    assert_eq!(lines.take(), ["own 3", "own 4"]);
    let [Ok(first), Err(why), Ok(third), Ok(fourth)] = &users[..] else { panic!("only the second throws") };
    assert!(why.contains("bad configuration"), "{why}");
    assert!(!Rc::ptr_eq(first, third), "a heap gets no further users after one that failed");
    assert!(Rc::ptr_eq(third, fourth));
}

#[test]
fn jobs_of_what_is_exported_and_of_commonjs_run_in_their_own_user() {
    let getter = "
        const later = (text) => { Promise.resolve().then(() => console.log(`${text} ${__VU}`)); };
        later('main');
        Object.defineProperty(exports, 'default', { enumerable: true, get() { later('getter'); return () => {}; } });";
    let script = format!("const exec = require('k6/execution'); {getter}");
    let lines = Lines::default();
    let log = lines.sink();
    let script = load("", &script, &lines).expect("it is loaded");
    lines.take();
    let scenario = ScriptScenario { exec: "default".to_owned(), ..ScriptScenario::default() };
    let mut users = ScriptUsers::new(&script, scenario, log);
    for number in [1, 2] {
        drop(users.made(number, None).expect("it is made"));
    }
    assert_eq!(lines.take(), ["main 1", "main 2"]);
}
