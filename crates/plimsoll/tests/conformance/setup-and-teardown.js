// setup, teardown, what they hand on, what they count
import http from 'k6/http';
import { check, group } from 'k6';
import { Counter, Gauge } from 'k6/metrics';

const calls = new Counter('calls');
const level = new Gauge('level');

export const options = {
  vus: 2,
  iterations: 4,
  thresholds: { checks: ['rate==1'], calls: ['count==6'], http_reqs: ['count==2'] },
};

export function setup() {
  const r = http.get(`${__ENV.BASE}/setup`);
  console.log('setup', __VU);
  calls.add(1);
  return { path: r.json('path'), list: [1, 2], gone: undefined };
}

export default function (data) {
  check(data, { 'data came': (d) => d.path === '/setup' && d.list.length === 2 && d.gone === null });
  calls.add(1);
  level.add(3);
}

export function teardown(data) {
  console.log('teardown', data.path, data.list.join(), data.gone);
  const r = http.get(`${__ENV.BASE}/status/404`);
  check(r, { 'it is torn down': (r) => r.status === 200 });
  group('after', () => check(r, { 'it is gone': (r) => r.status === 404 }));
  calls.add(1);
  level.add(1);
}
