//! Workers whose machine is in trouble: its network is gone, or its disk is full. The machine is a namespace.

use crate::adhoc_connections::at_socket;
use crate::command::{Running, TestFolder, open};

/// Two machines with a cable between them, each a network namespace: on the near one a worker and the command that follows, on the
/// far one a worker. The far machine's end of the cable is taken down when there is a file `cut`. Sockets in the file system join
/// both to the target.
const TWO_MACHINES: &str = r#"
ip link set lo up
unshare --net sh -c '
    touch begun
    until [ -e linked ]; do sleep 0.02; done
    "$0" worker --listen 192.0.2.2:7400 --keys run.pem > far.txt 2> far-errors.txt
    echo $? > far-code' "$1" &
far=$!
until [ -e begun ]; do sleep 0.02; done
ip link add near type veth peer name far netns $far
ip address add 192.0.2.1/24 dev near
ip link set near up
nsenter --target $far --net sh -c 'ip link set lo up; ip address add 192.0.2.2/24 dev far; ip link set far up'
touch linked
"$1" worker --listen 127.0.0.1:7400 --keys run.pem > near.txt &
{ until [ -e cut ]; do sleep 0.02; done; nsenter --target $far --net ip link set far down; } &
until grep -qs listening near.txt && grep -qs listening far.txt; do sleep 0.02; done
exec "$@"
"#;

#[test]
fn a_worker_whose_network_is_gone_has_vanished_and_ends_by_itself() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let address = format!("url = \"http://{}\"\n", target.addr());
    let plan = open(target.addr(), 25).replace(&address, &format!("{address}unix = \"target.sock\"\n"));
    let folder = TestFolder::new(&(plan + "[objectives]\nfew = \"error_rate(all) < 50%\"\n"));
    at_socket(&folder.path("target.sock"), target.addr());
    folder.plimsoll(&["worker", "--make-keys", "run.pem"]).exits_with(0);
    folder.write("machines.sh", TWO_MACHINES);
    let machines =
        "exec unshare --map-root-user --net --pid --mount-proc --fork --kill-child sh machines.sh \"$@\"";
    let workers = ["--worker", "127.0.0.1:7400", "--worker", "192.0.2.2:7400", "--worker-keys", "run.pem"];
    let run = ["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--json=run.json"];
    let mut run = folder.start_after(machines, &[&run[..], &workers].concat());
    let path = folder.path("run.plimsoll");
    run.until("seconds are recorded", || crate::command::recorded_seconds(&path) >= 2);
    folder.write("cut", "");
    // It hears nothing any more, and the run goes on without it.
    run.until("the far worker has ended", || folder.path("far-code").exists());
    run.end().stdout_contains(&["W1", "worker 2 (192.0.2.2:7400) vanished: nothing was received for 10 s"]);
    assert_eq!(folder.read("far-code"), "1\n");
    let why = folder.read("far-errors.txt");
    assert!(why.contains("the coordinator: nothing was received for 15 s"), "{why}");
    let arrivals = &folder.json("run.json")["accounting"]["arrivals"];
    let count = |name: &str| arrivals[name].as_u64().unwrap();
    assert_eq!(count("scheduled"), 1_250);
    assert_eq!(count("started") + count("dropped_late"), 1_250, "{arrivals}");
    // Half of what was due from the second or third second on.
    assert!((500..=600).contains(&count("dropped_late")), "{arrivals}");
}

/// A machine whose working and temporary folder are on a disk that is full, as is the place of the log.
const FULL_DISK: &str = r#"
mkdir full
mount -t tmpfs -o size=64k tmpfs full
head -c 100000 /dev/zero > full/most 2> /dev/null
keys=$PWD/run.pem
cd full
if echo anything > more; then exit 9; fi
TMPDIR=$PWD exec "$@" --keys "$keys" 2> log
"#;

/// A worker on the machine with the full disk, and where it listens.
fn with_full_disk(folder: &TestFolder) -> (Running, String) {
    folder.plimsoll(&["worker", "--make-keys", "run.pem"]).exits_with(0);
    folder.write("machine.sh", FULL_DISK);
    let machine = "exec unshare --map-root-user --mount sh machine.sh \"$@\"";
    let mut worker = folder.start_after(machine, &["worker", "--listen", "127.0.0.1:0"]);
    worker.until("it listens", || folder.read("stdout.txt").contains('\n'));
    let address = folder.read("stdout.txt").trim().trim_start_matches("listening on ").to_owned();
    (worker, address)
}

#[test]
fn a_worker_writes_nothing_to_a_disk_so_that_a_full_one_costs_nothing() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let machine = TestFolder::new("");
    let (worker, address) = with_full_disk(&machine);
    let folder = TestFolder::new(&(open(target.addr(), 2) + "[data.users]\nfile = \"users.csv\"\n"));
    folder.write("users.csv", "id\nanna\n");
    folder.write("run.pem", machine.read("run.pem"));
    let run = ["run", "plan.toml", "--quiet", "--worker", &address, "--worker-keys", "run.pem"];
    folder.plimsoll(&run).exits_with(0);
    worker.end().exits_with(0);
    assert_eq!(target.requests(), 100);
}

#[test]
fn lines_of_a_script_that_a_full_disk_does_not_take_are_lost_and_the_run_is_not() {
    let machine = TestFolder::new("");
    let (worker, address) = with_full_disk(&machine);
    let folder = TestFolder::new("");
    folder.write(
        "script.js",
        "export const options = { scenarios: { all: { executor: 'per-vu-iterations', vus: 2, iterations: 5 } } };
         export default () => console.log('a line that is longer than nothing');
         export const handleSummary = (data) => ({ stdout: `${data.metrics.iterations.values.count} iterations` });",
    );
    folder.write("run.pem", machine.read("run.pem"));
    let run = ["run", "script.js", "--quiet", "--worker", &address, "--worker-keys", "run.pem"];
    folder.plimsoll(&run).exits_with(0).stdout_contains(&["10 iterations"]);
    worker.end().exits_with(0);
}
