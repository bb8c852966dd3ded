//! The live display as a full screen, at sizes of terminals.

use std::time::Duration;

use evidence::{
    Instance, Instant, Key, KeyId, Metric, Notice, NoticeKind, Observed, Outcome, Sample, SeriesKey, Tick,
};
use report::Style;
use report::live::objective::{IntervalNow, ObjectiveNow, Stage, StopNow};
use report::live::screen::{LiveScreen, ScreenChoice, ScreenSize};

use crate::sample_run;

const SIZES: [(usize, usize); 3] = [(80, 24), (200, 60), (40, 24)];
const ENDPOINTS: [(&str, u64); 4] =
    [("list challenges", 6), ("set active", 12), ("claim", 40), ("detail\u{1b}[2J", 12)];

/// A second in which each endpoint answers 20 requests in times around its own, and `claim` fails sometimes.
fn tick(second: u32) -> Tick {
    let mut tick = Tick::default();
    (tick.instance, tick.second) = (Instance::of_loop(0), second);
    (tick.state.in_flight, tick.state.covered_ns, tick.state.cpu_ns) = (7, 1_000_000_000, 312_000_000);
    for (at, (endpoint, ms)) in (0_u32..).zip(ENDPOINTS) {
        let [scheduled, ok, failed] = [0, 1, 2].map(|metric| KeyId(3 * at + metric));
        if second == 0 {
            let key = |metric| Key::of(metric).scenario("play").endpoint(endpoint).phase("ramp");
            tick.new_keys.extend([
                (scheduled, key(Metric::Scheduled)),
                (ok, key(Metric::ResponseTime).outcome(Outcome::Ok)),
                (failed, key(Metric::ResponseTime).outcome(Outcome::Http5xx)),
            ]);
        }
        tick.add(scheduled, second, 20);
        let slower = if (30..40).contains(&second) { 8 } else { 1 };
        for n in 1..=20_u64 {
            match endpoint == "claim" && n == 20 && second % 7 == 3 {
                true => tick.record_ns(failed, 3_000_000),
                false => tick.record_ns(ok, ms * slower * (700_000 + 30_000 * n * n / 4)),
            }
        }
    }
    if second == 10 {
        let mut example = sample_run::exemplar(evidence::ExemplarKind::Failed, "claim", 1_000_000);
        (example.endpoint, example.outcome) = ("claim".into(), Outcome::Http5xx);
        example.detail = "status 500, expected 200 to 399\u{1b}[2J".to_owned();
        tick.exemplars.push(example);
    }
    tick
}

fn observed(second: u32) -> Observed {
    let at = Instant::at(Duration::from_secs(second.into()));
    let keys = [
        (SeriesKey::new("cpu", "shop", "cores"), 0.4 + f64::from(second % 10) / 10.0),
        (SeriesKey::new("cgroup_cpu_limit", "shop", "cores"), 1.5),
        (SeriesKey::new("cgroup_throttled", "shop", "1"), if second > 30 { 0.12 } else { 0.0 }),
        (SeriesKey::new("rss", "shop", "bytes"), 120e6),
        (SeriesKey::new("cpu", SeriesKey::GENERATOR, "cores"), 0.33),
    ];
    let samples = keys.map(|(key, value)| (key, Sample { at, value })).to_vec();
    Observed { samples, ..Observed::default() }
}

fn objective(source: &str, value: f64, stage: Stage, interval: Option<[f64; 4]>) -> ObjectiveNow {
    let parsed = workload::objective::parse("named", source).expect("an objective");
    let interval =
        interval.map(|[observed, lower, upper, allowed]| IntervalNow { observed, lower, upper, allowed });
    let (value, unit) = (Some(value), parsed.measure.unit());
    ObjectiveNow {
        name: "named".to_owned(),
        source: source.to_owned(),
        value,
        unit,
        stage,
        interval,
        stop: None,
    }
}

/// After 48 seconds.
fn screen() -> LiveScreen {
    let workload = workload::Workload { name: "play\u{1b}[2J".to_owned(), ..sample_run::workload() };
    let mut screen = LiveScreen::new(&workload, 1);
    for second in 0..48 {
        screen.take(&tick(second));
        screen.observe(&observed(second));
    }
    let mark = Notice {
        at: Instant::at(Duration::from_secs(33)),
        observer: "mark".to_owned(),
        instance: None,
        kind: NoticeKind::Mark,
        text: "mark 1".to_owned(),
    };
    screen.observe(&Observed { notices: vec![mark], ..Observed::default() });
    let open = Stage::Open { decided_in_s: Some(41.0), left_s: 57.0 };
    let stop = Some(StopNow { failing_since_s: Some(33), not_before_s: 60 });
    let ending = objective("max(claim) < 500ms", 990.0, Stage::ValueOnly { holds: false }, None);
    screen.set_objectives(vec![
        objective("p95(list) < 50ms", 34.2, Stage::Met, Some([0.012, 0.006, 0.021, 0.05])),
        objective("p99(claim, phase = gameplay) < 300ms", 322.0, open, Some([0.011, 0.004, 0.023, 0.01])),
        objective("error_rate(all) < 0.1%", 0.0021, Stage::Violated, Some([0.0021, 0.0014, 0.0032, 0.001])),
        objective("throughput(all) > 50/s", 59.8, Stage::ValueOnly { holds: true }, None),
        ObjectiveNow { stop, ..ending },
    ]);
    screen
}

fn drawn(screen: &LiveScreen, size: (usize, usize), choice: ScreenChoice) -> String {
    let notes = ["at 30 s not decided yet: named".to_owned(), "mark 1 at 0:33".to_owned()];
    let (columns, rows) = size;
    screen.drawn(Style::Plain, ScreenSize { columns, rows }, choice, &notes).to_string()
}

#[test]
fn a_run_is_shown_on_screens_of_different_sizes() {
    let screen = screen();
    for size @ (columns, rows) in SIZES {
        insta::assert_snapshot!(
            format!("screen_{columns}x{rows}"),
            drawn(&screen, size, ScreenChoice::default())
        );
    }
}

#[test]
fn nothing_is_wider_or_higher_than_the_screen_or_acts_on_it() {
    let (new, later) = (LiveScreen::new(&sample_run::workload(), 1), screen());
    let mut choice = ScreenChoice::default();
    choice.is_paused = true;
    for screen in [&new, &later] {
        for is_help in [false, true] {
            choice.is_help = is_help;
            for (columns, rows) in [20, 40, 60, 80, 100, 133, 250]
                .into_iter()
                .flat_map(|c| [1, 2, 5, 10, 24, 31, 32, 80].map(|r| (c, r)))
            {
                let text = drawn(screen, (columns, rows), choice);
                assert_eq!(text.lines().count(), rows, "{columns} × {rows}\n{text}");
                assert!(
                    text.lines().all(|line| line.chars().count() <= columns),
                    "{columns} × {rows}\n{text}"
                );
                assert!(!text.contains('\u{1b}'), "{text:?}");
            }
        }
        choice.step_endpoint(true, &screen.endpoint_order());
        choice.next_scale(105);
    }
}

#[test]
fn a_chosen_endpoint_and_scale_are_those_of_the_heat_map() {
    let screen = screen();
    let endpoints = &screen.endpoint_order();
    let mut choice = ScreenChoice::default();
    let title = |choice| {
        let text = drawn(&screen, (100, 40), choice);
        text.lines().find(|line| line.contains("response times of")).unwrap().trim().to_owned()
    };
    assert_eq!(title(choice), "response times of all endpoints, 1 s a column, few ░▒▓█ many");
    choice.step_endpoint(true, endpoints);
    choice.step_scale(true, 105);
    // It failed, and so is the first.
    assert_eq!(title(choice), "response times of claim, 5 s a column, few ░▒▓█ many");
    choice.step_endpoint(true, endpoints);
    assert_eq!(title(choice), "response times of list challenges, 5 s a column, few ░▒▓█ many");
    choice.step_endpoint(false, endpoints);
    (0..2).for_each(|_| choice.step_endpoint(false, endpoints));
    (0..9).for_each(|_| choice.step_scale(true, 105));
    // A column of five minutes would be longer than the run.
    assert_eq!(title(choice), r"response times of detail\u{1b}[2J, 30 s a column, few ░▒▓█ many");
    choice.next_scale(screen.length_s());
    choice.step_endpoint(true, endpoints);
    assert_eq!(title(choice), "response times of all endpoints, 1 s a column, few ░▒▓█ many");
}

#[test]
fn an_endpoint_with_an_objective_comes_before_those_that_failed() {
    let mut workload = sample_run::workload();
    let source = "p95(detail\u{1b}[2J, phase = ramp) < 50ms";
    workload.objectives = vec![workload::objective::parse("fast", source).unwrap()];
    let mut screen = LiveScreen::new(&workload, 1);
    (0..20).for_each(|second| screen.take(&tick(second)));
    let text = drawn(&screen, (80, 24), ScreenChoice::default());
    let first: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with(" ▸ all")).skip(1).take(2).collect();
    assert!(first[0].contains("› detail") && first[1].contains("› claim"), "{text}");
}

#[test]
fn endpoints_that_do_not_fit_are_counted_and_the_chosen_one_is_shown() {
    let mut screen = LiveScreen::new(&sample_run::workload(), 1);
    let mut tick = Tick::default();
    for id in 0..100 {
        let name = format!("endpoint {id:02}");
        let key = Key::of(Metric::ResponseTime).scenario("play").endpoint(&name).outcome(Outcome::Ok);
        tick.new_keys.push((KeyId(id), key));
        tick.record_ns(KeyId(id), 5_000_000);
    }
    screen.take(&tick);
    // Those of the plan have rows of their own; 64 have, and what is met later is one.
    let order = screen.endpoint_order();
    let endpoints = order.len();
    assert_eq!(endpoints, 65);
    let mut choice = ScreenChoice::default();
    choice.step_endpoint(false, &order);
    let text = drawn(&screen, (100, 24), choice);
    let is_more = |line: &&str| line.contains("more endpoints");
    let rows: Vec<&str> = text.lines().skip(4).take_while(|line| !is_more(line)).collect();
    assert!(rows.last().is_some_and(|row| row.starts_with(" ▸ further names")), "{text}");
    let hidden = endpoints - rows.len();
    assert_eq!(text.lines().find(is_more).unwrap().trim(), format!("and {hidden} more endpoints"), "{text}");
}

#[test]
fn the_first_lines_never_lose_the_failures() {
    let mut screen = screen();
    for second in 48..60 {
        let mut tick = tick(second);
        // More than fits beside the rates.
        (0..70_000).for_each(|_| tick.record_ns(KeyId(8), 3_000_000));
        screen.take(&tick);
    }
    for columns in [40, 60, 80, 100, 200] {
        let text = drawn(&screen, (columns, 24), ScreenChoice::default());
        let second = text.lines().nth(1).unwrap();
        assert!(second.contains("840,00") && second.contains(" failed"), "{columns}: {second}");
    }
}

#[test]
fn a_run_that_is_stopping_says_what_it_waits_for_and_offers_no_keys_of_the_load() {
    let mut choice = ScreenChoice::default();
    choice.is_stopping = true;
    let text = drawn(&screen(), (80, 24), choice);
    let (first, last) = (text.lines().next().unwrap(), text.lines().last().unwrap());
    assert!(first.ends_with("stopping: no new arrivals"), "{first}");
    assert_eq!(last, " waiting for 7 requests in flight  q end at once");
    assert!(!text.contains("left") && !text.contains('━'), "{text}");
}

#[test]
fn colours_add_nothing_to_the_text() {
    let screen = screen();
    let size = ScreenSize { columns: 100, rows: 30 };
    let coloured = screen.drawn(Style::Colour, size, ScreenChoice::default(), &[]);
    let plain = screen.drawn(Style::Plain, size, ScreenChoice::default(), &[]);
    let codes = ["\u{1b}[38;5;25m", "\u{1b}[38;5;202m", "\u{1b}[31m", "\u{1b}[0m"];
    assert!(codes.iter().all(|code| coloured.contains(code)), "{coloured:?}");
    let stripped = coloured.split('\u{1b}').enumerate().map(|(at, piece)| match at {
        0 => piece,
        _ => piece.split_once('m').map_or("", |(_, text)| text),
    });
    let stripped = stripped.collect::<String>();
    assert!(stripped.lines().map(str::trim_end).eq(plain.lines().map(str::trim_end)), "{stripped}\n{plain}");
}

fn gone(process: u16, second: u64) -> Observed {
    let notice = Notice {
        at: Instant::at(Duration::from_secs(second)),
        observer: SeriesKey::GENERATOR.to_owned(),
        instance: Some(Instance { machine: 0, process, loop_index: 0 }),
        kind: NoticeKind::Gone,
        text: format!(
            "worker {process} (127.0.0.1:740{process}) vanished: the connection was closed; its arrivals …"
        ),
    };
    Observed { notices: vec![notice], ..Observed::default() }
}

#[test]
fn a_worker_that_is_gone_is_said_at_the_top_with_what_follows() {
    let mut screen = screen();
    let head = |screen: &LiveScreen| -> Vec<String> {
        drawn(screen, (80, 24), ScreenChoice::default()).lines().skip(2).take(2).map(str::to_owned).collect()
    };
    screen.observe(&gone(1, 7));
    assert_eq!(
        head(&screen),
        [
            " ✗ worker 1 (127.0.0.1:7401) is gone since 0:07",
            "   its arrivals are dropped: no objective on this load can be met (W1)"
        ]
    );
    screen.set_load_missed(true);
    assert_eq!(
        head(&screen)[1],
        "   its arrivals are dropped: no objective on this load can be met (L1, W1)"
    );
    screen.observe(&gone(2, 9));
    assert_eq!(
        head(&screen),
        [
            " ✗ worker 1 (127.0.0.1:7401) is gone since 0:07; worker 2 as well",
            "   their arrivals are dropped: no objective on this load can be met (L1, W1)"
        ]
    );
}

#[test]
fn workers_are_counted_and_the_one_that_is_behind_is_named() {
    let mut screen = LiveScreen::new(&sample_run::workload(), 3);
    let second = |screen: &mut LiveScreen, second: u32, processes: &[u16]| {
        for process in processes {
            let mut tick = tick(second);
            tick.instance = Instance { machine: process / 3, process: *process, loop_index: 0 };
            tick.state.cpu_ns += u64::from(*process) * 200_000_000;
            screen.take(&tick);
        }
    };
    let line = |screen: &LiveScreen, start: &str| {
        let text = drawn(screen, (80, 24), ScreenChoice::default());
        let found = text.lines().map(str::trim).find(|line| line.starts_with(start)).map(str::to_owned);
        found.unwrap_or_else(|| panic!("no {start} in {text}"))
    };
    assert!(!drawn(&screen, (80, 24), ScreenChoice::default()).contains("workers"));
    (0..9).for_each(|at| second(&mut screen, at, &[1, 2, 3]));
    assert_eq!(line(&screen, "workers"), "workers           3 of 3 connected");
    assert_eq!(line(&screen, "generator"), "generator         busiest loop 91 % (worker 3, loop 0)");
    (9..13).for_each(|at| second(&mut screen, at, &[1, 3]));
    assert_eq!(line(&screen, "workers"), "workers           3 of 3 connected · worker 2 is 4 s behind");
    screen.observe(&gone(2, 13));
    assert_eq!(line(&screen, "workers"), "workers           2 of 3 connected");
}

#[test]
fn arrivals_that_a_late_generator_dropped_invalidate_the_run_on_the_screen() {
    let mut screen = screen();
    screen.set_load_missed(true);
    let text = drawn(&screen, (80, 24), ScreenChoice::default());
    let third = text.lines().nth(2).unwrap();
    assert_eq!(third, " ✗ the generator was late and dropped arrivals: so far the run is INVALID (L1)");
}

#[test]
fn up_to_six_objectives_come_before_the_heat_map_and_a_mark_costs_no_row_of_the_table() {
    let screen = screen();
    let of = |notes: &[String]| {
        let size = ScreenSize { columns: 80, rows: 24 };
        screen.drawn(Style::Plain, size, ScreenChoice::default(), notes).to_string()
    };
    let (without, with) = (of(&[]), of(&["mark 1 at 0:33".to_owned()]));
    for objective in ["p95(list)", "p99(claim", "error_rate(all)", "throughput(all)", "max(claim)"] {
        assert!(without.contains(objective), "{objective}: {without}");
    }
    assert!(without.contains("0.21 % of 0.1 %") && without.contains("slow or failed"), "{without}");
    assert!(with.contains("› mark 1 at 0:33"), "{with}");
    for endpoint in ["list challenges", "set active", "claim"] {
        let row = format!("play › {endpoint} ");
        let rows = |text: &str| text.lines().filter(|line| line.contains(&row)).count();
        assert_eq!((rows(&without), rows(&with)), (1, 1), "{endpoint}: {with}");
    }
}

#[test]
fn nothing_of_the_help_is_cut_at_eighty_columns() {
    let screen = screen();
    let mut choice = ScreenChoice::default();
    choice.is_help = true;
    assert_eq!(
        drawn(&screen, (80, 30), choice).lines().map(str::trim_end).collect::<Vec<_>>(),
        drawn(&screen, (250, 30), choice).lines().map(str::trim_end).collect::<Vec<_>>()
    );
}

#[test]
fn a_run_that_would_be_stopped_is_said_not_to_pass() {
    let mut choice = ScreenChoice::default();
    choice.is_asking = true;
    let text = drawn(&screen(), (80, 24), choice);
    assert_eq!(text.lines().last(), Some(" An incomplete run cannot pass.  q stop it  any other key go on"));
}

#[test]
fn endpoints_named_by_urls_of_one_origin_are_called_by_their_paths() {
    let mut screen = LiveScreen::new(&sample_run::workload(), 1);
    let mut other = Tick::default();
    other.instance = Instance::of_loop(0);
    for (id, name) in (0..).zip(["http://127.0.0.1:8000/good", "http://127.0.0.1:8000/flaky?x=1"]) {
        let key = Key::of(Metric::ResponseTime).scenario("play").endpoint(name).outcome(Outcome::Ok);
        other.new_keys.push((KeyId(id), key));
        other.record_ns(KeyId(id), 5_000_000);
    }
    screen.take(&other);
    let text = drawn(&screen, (120, 40), ScreenChoice::default());
    assert!(text.contains("› /good ") && text.contains("› /flaky?x=1 "), "{text}");
    assert!(!text.contains("127.0.0.1"), "{text}");
}

#[test]
fn requests_that_stalls_of_the_generator_disturbed_are_counted_beside_its_use() {
    let mut screen = screen();
    let drawn = |screen: &LiveScreen| drawn(screen, (200, 60), ScreenChoice::default());
    assert!(!drawn(&screen).contains("stalls"));
    let mut tick = tick(48);
    let perturbed = KeyId(90);
    let key = Key::of(Metric::PerturbedResponseTime).scenario("play").endpoint("list").phase("ramp");
    tick.new_keys.push((perturbed, key.outcome(Outcome::Ok)));
    (0..40).for_each(|_| tick.record_ns(perturbed, 3_000_000));
    screen.take(&tick);
    let text = drawn(&screen);
    assert!(text.contains("its stalls disturbed 40 requests"), "{text}");
}
