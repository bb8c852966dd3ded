// Groups of setup, of teardown and of scenarios; the same check in several places; names that need escapes.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, group } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

export const options = {
  scenarios: {
    second: { executor: 'shared-iterations', vus: 1, iterations: 1, exec: 'second', startTime: '300ms' },
    first: { executor: 'shared-iterations', vus: 1, iterations: 2, exec: 'first', tags: { 'a tag': 'with, comma & "quotes"' } },
  },
  tags: { run: 'r<1>' },
  thresholds: {
    falling: ['max<0'],
    'no_rate': ['rate<1'],
    'no_gauge{x:y}': ['value>=0'],
    'no_trend{x:y, z:w}': ['p(99)>=0'],
    'checks{check:is good}': ['rate>0.1'],
  },
};
const falling = new Trend('falling');
const warming = new Gauge('warming');
new Rate('no_rate');
new Gauge('no_gauge');
new Trend('no_trend');
new Counter('no_counter');
const url = `http://${__ENV.TARGET}`;
const good = (passes) => check(passes, { 'is good': (p) => p });

export function setup() {
  good(true);
  group('before', () => good(false));
}

export function first() {
  falling.add(-5);
  falling.add(-2.5, { note: 'line\nbreak\t\u2028 \u0001 é \\ <&>' });
  warming.add(7);
  warming.add(3);
  exec.vu.metrics.metadata['trace id'] = 'a,b"c"';
  good(true);
  delete exec.vu.metrics.metadata['trace id'];
  http.get(`${url}/a?b=1&c=<d>`);
  group('outer', () => {
    good(exec.scenario.iterationInTest === 0);
    group('inner', () => {
      group('innermost', () => good(false));
      check(1, { 'one': () => true, 'two': () => false });
    });
    group('beside', () => good(true));
  });
}

export function second() {
  group('outer', () => good(false));
  http.get('http://127.0.0.1:1/gone', { tags: { name: 'gone', z: '1', 'b c': '2' } });
}

export function teardown() {
  good(false);
  group('outer', () => good(true));
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
