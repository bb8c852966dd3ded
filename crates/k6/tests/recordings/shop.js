// Every kind of metric, groups within groups, checks that fail, limits that are met and violated, two scenarios.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, group } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

export const options = {
  scenarios: {
    browse: { executor: 'shared-iterations', vus: 1, iterations: 4, exec: 'browse' },
    order: { executor: 'per-vu-iterations', vus: 2, iterations: 2, exec: 'order', startTime: '100ms', tags: { team: 'pay' } },
  },
  thresholds: {
    http_req_duration: ['p(95)<500', 'avg<0.001', { threshold: 'max<60000', abortOnFail: true }],
    'http_req_duration{scenario:order}': ['p(99.9)<500'],
    'http_req_duration{status:200,method:POST}': ['min>=0'],
    checks: ['rate>0.99'],
    http_req_failed: ['rate<0.9'],
    'http_reqs{group:::buy::pay}': ['count>3', 'rate>1'],
    ordered: ['count==8'],
    queue: ['value<5'],
    'never_seen{a:b}': ['count>=0'],
    never_seen: ['count>=0'],
    sizes: ['max<1'],
  },
};

const ordered = new Counter('ordered');
const bytes = new Counter('bytes_kept', true);
const queue = new Gauge('queue');
const age = new Gauge('age', true);
const cached = new Rate('cached');
const waits = new Trend('waits', true);
const sizes = new Trend('sizes');
new Counter('never_seen');
const url = `http://${__ENV.TARGET}`;

export function browse() {
  const listed = http.get(`${url}/list?page=${exec.scenario.iterationInTest}`, { tags: { name: 'list' } });
  check(listed, { 'status is 200': (r) => r.status === 200, 'has a body': (r) => r.body === "x" });
  cached.add(exec.scenario.iterationInTest % 3 === 0);
  waits.add(0.0004 * 10 ** (exec.scenario.iterationInTest * 2), { page: 'list' });
  sizes.add(exec.scenario.iterationInTest * 1234.5678);
}

export function order() {
  group('buy', () => {
    const basket = http.post(`${url}/basket`, 'x'.repeat(2000));
    check(basket, { 'basket is kept': (r) => r.status === 200 });
    group('pay', () => {
      const paid = http.post(`${url}/pay`, { amount: 12 });
      check(paid, { 'paid': (r) => r.status === 201, 'in time': (r) => r.timings.duration < 60000 });
    });
  });
  group('empty', () => {});
  ordered.add(2.5);
  queue.add(exec.scenario.iterationInTest);
  age.add(1234.5 + exec.scenario.iterationInTest);
  age.add(61000);
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
