//! A worker serves one coordinator: the one that knows the secret.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread;

use cluster::{ClusterError, Fleet, Listening, RunKeys, Secret, Token, WorkerAddress};

use crate::parts::{LIMITS, accept, job, listening, own, token};

#[test]
fn garbage_on_the_port_is_refused_and_the_coordinator_still_served() {
    let (listening, address) = listening(token());
    let worker = thread::spawn(move || {
        let mut refused = 0;
        let session = listening.accept(&cluster::WorkerIdentity::default(), |_, _| refused += 1);
        session.unwrap().wait_to_begin("digest").map(drop).unwrap_err();
        refused
    });
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 3, 1, b'{', b'}'], &[0xff; 300], b""] {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(garbage).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // Nothing is answered; an error is a connection that was closed with unread bytes.
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap_or(0), 0);
    }
    let mut fleet = Fleet::gather(&[WorkerAddress::new(address)], &token(), &own("1.0"), LIMITS).unwrap();
    fleet.make_ready(&job(1), &[]).unwrap();
    fleet.dismiss();
    assert_eq!(worker.join().unwrap(), 4);
}

/// They keep their connections until the coordinator was accepted: waiting for one after the other takes longer than the coordinator does.
#[test]
fn peers_that_say_nothing_keep_no_coordinator_out() {
    let (listening, address) = listening(token());
    let (report, refused) = channel();
    let worker = thread::spawn(move || {
        let refused = |_, error: &ClusterError| report.send(error.to_string()).unwrap();
        listening.accept(&cluster::WorkerIdentity::default(), refused).map(drop)
    });
    let mut silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&address).unwrap()).collect();
    // More than 64 are never kept: the oldest are dropped for further ones.
    assert_eq!(refused.iter().take(200 - 64).count(), 200 - 64);
    let fleet = Fleet::gather(&[WorkerAddress::new(address)], &token(), &own("1.0"), LIMITS).unwrap();
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0, "all are closed once the coordinator is there");
    }
    fleet.dismiss();
    assert!(matches!(worker.join().unwrap(), Err(ClusterError::NotStarted)));
}

#[test]
fn a_coordinator_with_another_token_or_version_is_refused() {
    let (listening, address) = listening(token());
    let worker = thread::spawn(move || accept(listening).map(drop));
    let addresses = [WorkerAddress::new(address)];
    let other = Secret::Token(Token::given("another token of these tests").unwrap());
    let refused = Fleet::gather(&addresses, &other, &own("1.0"), LIMITS).unwrap_err().to_string();
    assert!(refused.contains("its token is not that of this side"), "{refused}");
    let refused = Fleet::gather(&addresses, &token(), &own("1.1"), LIMITS).unwrap_err().to_string();
    assert!(refused.contains("it is plimsoll 1.0, and this is 1.1"), "{refused}");
    Fleet::gather(&addresses, &token(), &own("1.0"), LIMITS).unwrap().dismiss();
    assert!(matches!(worker.join().unwrap(), Err(ClusterError::NotStarted)));
}

#[test]
fn with_keys_both_sides_are_recognised_by_their_certificates() {
    let keys = || Secret::Keys(RunKeys::read(&RunKeys::make().unwrap()).unwrap());
    let keys_of_run = keys();
    let (listening, address) = listening(keys_of_run.clone());
    let worker = thread::spawn(move || accept(listening).map(drop));
    let addresses = [WorkerAddress::new(address)];
    Fleet::gather(&addresses, &keys(), &own("1.0"), LIMITS).unwrap_err();
    Fleet::gather(&addresses, &keys_of_run, &own("1.0"), LIMITS).unwrap().dismiss();
    worker.join().unwrap().unwrap_err();
}

#[test]
fn without_keys_a_worker_listens_on_this_machine_only() {
    let refused = Listening::bind("0.0.0.0:0", token(), "1.0").unwrap_err().to_string();
    assert!(refused.contains("can be reached from other machines"), "{refused}");
}
