//! In steady state a plan's request allocates next to nothing.
//!
//! A binary of its own, because it counts every allocation of the process, except those of the target's and the
//! recorder's threads, which opt out.
#![allow(unsafe_code, reason = "a global allocator that counts")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "the other test binary uses the rest of the plan builder")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use engine::iteration::{Behaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker};
use engine::{Clock, Control, Program, RunOptions, Wakeup};
use evidence::tick_channel::{Received, TickReceiver, tick_channel};

#[path = "it/plan.rs"]
mod plan;

use plan::{Plan, Tuned, closed, get, mix, ms, request, scenario};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static SERVED: AtomicU64 = AtomicU64::new(0);
/// The tests of this binary count the same allocations.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

thread_local! {
    static COUNTS: Cell<bool> = const { Cell::new(true) };
}

fn count() {
    // A thread that is ending has destroyed its flag.
    if COUNTS.try_with(Cell::get).unwrap_or(false) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A target whose threads are not counted; it answers everything with a short JSON text.
fn target() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        COUNTS.set(false);
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || serve(stream));
        }
    });
    addr
}

fn serve(mut stream: TcpStream) {
    COUNTS.set(false);
    stream.set_nodelay(true).unwrap();
    let mut buffer = [0; 4096];
    // Requests come one at a time and in one piece; their bodies are shorter than the buffer.
    while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
        SERVED.fetch_add(1, Ordering::Relaxed);
        if stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\n{\"id\":\"challenge-001\"}\r\n")
            .is_err()
        {
            return;
        }
    }
}

fn discard(inlet: &TickReceiver) {
    COUNTS.set(false);
    loop {
        match inlet.take() {
            Received::Tick(tick) => inlet.give_back(tick),
            Received::Empty => thread::park_timeout(ms(20)),
            Received::Closed => return,
        }
    }
}

fn program(addr: SocketAddr, length: Duration) -> Program {
    let read = get("list", "/v1/list?user=${users.id}&n=${random(1, 1000)}").header("x-user", "${users.id}");
    let write =
        request("PUT", "set", "/v1/items/${uuid()}").body("{\"n\": ${iteration}, \"at\": \"${now()}\"}");
    Plan::of(addr)
        .data("users", "user-{1..10000}", workload::Pick::Random)
        .scenario(scenario("s", closed(8, length), mix([(3, read), (1, write)])))
        .compile()
}

/// The allocations of a run, and its requests.
fn allocations(program: Program, behaviour: Option<Arc<dyn Behaviour>>) -> (u64, u64) {
    let (outlet, inlet) = tick_channel();
    let recorder = thread::spawn(move || discard(&inlet));
    let clock = Clock::starting_in(ms(20));
    let options = RunOptions {
        program: Arc::new(program),
        clock,
        control: Control::new(),
        behaviour,
        wakeup: Wakeup::default(),
    };
    let counts = || (ALLOCATIONS.load(Ordering::Relaxed), SERVED.load(Ordering::Relaxed));
    let before = counts();
    engine::run(&options, vec![outlet]).unwrap();
    let after = counts();
    recorder.join().unwrap();
    (after.0 - before.0, after.1 - before.1)
}

/// The allocations that a longer run makes beyond a shorter one are those of its later seconds. The model is closed,
/// so that both runs have the same number of virtual users, operations and connections, each with its own buffers.
#[test]
#[allow(clippy::print_stdout, reason = "the number is useful also where the test passes")]
fn a_request_in_steady_state_allocates_next_to_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |length| allocations(program(target(), length), None);
    let (short, long) = (run(ms(1_500)), run(ms(4_500)));
    let requests = long.1.saturating_sub(short.1).max(1);
    let allocations = long.0.saturating_sub(short.0);
    let each = allocations as f64 / requests as f64;
    println!("{allocations} allocations for {requests} requests: {each:.4} a request");
    assert!(each < 0.1, "{allocations} allocations for {requests} requests: {each:.4} a request");
}

/// Yields so many turns.
#[derive(Clone, Copy)]
struct Yielding(u64);

impl Behaviour for Yielding {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(*self) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for Yielding {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(*self)
    }
}

impl Iteration for Yielding {
    fn resume(&mut self, _event: Event<'_>, _context: &mut Context<'_>) -> Progress {
        self.0 -= 1;
        if self.0 == 0 { Progress::DONE } else { Progress::Yielding(Default::default()) }
    }
}

#[test]
fn an_iteration_that_yields_allocates_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |turns| {
        let each = workload::Executor::PerVuIterations { vus: 4, iterations: 1, max_duration: ms(60_000) };
        let plan = Plan::new().scenario(scenario("s", each, mix([])));
        allocations(plan.compile(), Some(Arc::new(Yielding(turns)))).0
    };
    let (few, many) = (run(1_000), run(11_000));
    assert!(many.saturating_sub(few) < 1_000, "{few} allocations in 1,000 turns, {many} in 11,000");
}
