// Only checks that pass and limits that are met, setup and teardown, failing iterations, extreme numbers.
import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Counter, Gauge, Trend } from 'k6/metrics';

export const options = {
  vus: 2,
  iterations: 5,
  thresholds: { http_req_duration: ['p(95)<5000', 'med>=0'], 'http_req_duration{expected_response:true}': ['p(50)<5000'], checks: ['rate==1'] },
};
const url = `http://${__ENV.TARGET}`;
const big = new Counter('a_counter_whose_name_is_longer_than_every_other_one_here');
const sent = new Counter('sent', true);
const level = new Gauge('level');
const kept = new Gauge('kept', true);
const trend = new Trend('extent');

export function setup() {
  group('before', () => check(http.get(`${url}/ready`), { 'is ready': (r) => r.status === 200 }));
}

export default function () {
  const reply = http.get(`${url}/${__ITER}`);
  check(reply, { 'is here ✓': (r) => r.status === 200, 'HTTP': (r) => r.proto === 'HTTP/1.1' });
  big.add(1234567.891);
  sent.add(123456);
  level.add(-3.25);
  kept.add(-1.5);
  trend.add(-1e-7);
  trend.add(1e21);
  sleep(0.4);
  if (__ITER === 1) throw new Error('an iteration that fails');
}

export function teardown() {
  group('after', () => check(null, { 'is over': () => true }));
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
