// In which order scenarios, groups, checks and sections come, and which names belong to which section.
import { check, group } from 'k6';
import { Counter } from 'k6/metrics';

const names = ['browser_x', 'browser_web_vital_x', 'webvital_x', 'grpc_x', 'ws_x', 'http_x', 'vus_x', 'data_x', 'iteration_x', 'dropped_x', 'group_x', 'checks_x', 'Zed', 'zed', '_low', 'iterations_x', 'grpc_streams', 'websocket_x'];
const counters = names.map((name) => new Counter(name));

export const options = {
  scenarios: {
    zulu: { executor: 'shared-iterations', vus: 1, iterations: 1 },
    mike: { executor: 'shared-iterations', vus: 1, iterations: 1, startTime: '600ms' },
    alfa: { executor: 'shared-iterations', vus: 1, iterations: 1, startTime: '300ms', exec: 'alfa' },
  },
  thresholds: {
    'zed{b:c}': ['count>=0'], 'zed{a:b}': ['count>=0', 'count<1'], zed: ['count>5', 'count>6'], 'Zed{a:b}': ['count>=0'], _low: ['count>=1'], 'vus_x{scenario:alfa}': ['count>=0'],
  },
};

export function alfa() {
  group('yes', () => { counters.forEach((counter) => counter.add(1)); check(1, { y: () => true }); });
  group('again', () => check(1, { b: () => true, a: () => true }));
}

export default function () {
  group('yes', () => check(1, { z: () => true }));
  group('again', () => { counters.forEach((counter) => counter.add(2, { a: 'b' })); check(1, { a: () => false, y: () => true }); });
  group('also', () => {});
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
