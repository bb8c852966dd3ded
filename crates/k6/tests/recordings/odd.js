// Unusual ways to write thresholds and tags, what setup returned, and a setup and teardown without groups.
import { check } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const ticks = new Counter('ticks');
const level = new Gauge('level', true);
const share = new Rate('share');
const spread = new Trend('spread', true);

export const options = {
  iterations: 2,
  tags: { 'x<&>"y"': '<&>' },
  thresholds: {
    ticks: [' count > 1 ', { threshold: 'rate>=1', abortOnFail: true, delayAbortEval: '10s' }, { threshold: 'count<1e9', abortOnFail: false, delayAbortEval: '1m' }],
    'ticks{ a : "b" }': ['count>=0'],
    "ticks{c:<&>,d:e f}": ['count>=0'],
    'ticks{url:http://x/?a=b}': ['count===0'],
    level: ['value<5', 'value!=7'],
    share: ['rate>0.1'],
    spread: ['p( 95 )<9', 'p(99.5)<9000', 'avg<=5', 'count>1'].slice(1, 3),
    vus: ['value>=0'],
    data_sent: ['count>=0', 'rate>=0'],
  },
  summaryTrendStats: ['min', 'p(75)', 'p(99.9)'],
  noColor: true,
};

export function setup() {
  check(1, { 'set up': () => true });
  return { a: [1, 'x'], b: null };
}

export default function () {
  ticks.add(1, { a: 'b' });
  ticks.add(1, { c: '<&>', d: 'e f' });
  level.add(90061001);
  share.add(true);
  spread.add(61000.5);
  spread.add(1e-3);
}

export function teardown() {
  ticks.add(1);
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
