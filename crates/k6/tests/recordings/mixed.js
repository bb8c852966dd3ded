// The scenario named default beside another, groups of both with one name, checks outside groups, many values.
import { check, group } from 'k6';
import { Gauge, Trend } from 'k6/metrics';

const gauge = new Gauge('gauge');
const trend = new Trend('trend', true);

export const options = {
  scenarios: {
    default: { executor: 'shared-iterations', vus: 1, iterations: 3 },
    other: { executor: 'shared-iterations', vus: 1, iterations: 7, exec: 'other', startTime: '200ms' },
  },
  thresholds: {
    'trend{group:::same}': ['p(90)>=0'], 'trend{scenario:other}': ['max>=0', 'min<0'], 'gauge{scenario:default}': ['value>0'],
    'checks{group:::same::same}': ['rate>0.5'], 'group_duration{group:::same}': ['max<0.0000001'], 'iterations{scenario:other}': ['count==7'],
    'http_req_duration': ['p(95)<1'], 'http_req_duration{expected_response:true}': ['p(95)<1'], 'http_reqs{method:GET}': ['count>1'],
  },
};

export default function () {
  check(1, { 'a check with a long name — ünïcode 😀 and "quotes"': () => __ITER > 0 });
  group('same', () => { trend.add(__ITER * 7.77); gauge.add(__ITER + 1); check(1, { in: () => true }); });
}

export function other() {
  group('same', () => group('same', () => { trend.add(-__ITER); gauge.add(-1); check(1, { in: () => __ITER !== 3 }); }));
  for (let i = 0; i < 20; i++) trend.add(1.1 ** (i * __ITER));
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
