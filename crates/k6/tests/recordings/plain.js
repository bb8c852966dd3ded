// Groups of the one scenario that is not named, percentiles and iterations that were dropped.
import { check, group, sleep } from 'k6';

export const options = {
  scenarios: { default: { executor: 'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 1, maxVUs: 1 } },
  summaryTrendStats: ['p(99)', 'p(99.90)', 'count', 'med'],
  summaryTimeUnit: 's',
  thresholds: { dropped_iterations: ['count<100'], iteration_duration: ['p(42)<5000', 'max<1'] },
};

export default function () {
  group('g', () => check(1, { 'passes': () => true, 'fails': () => __ITER % 3 === 0 }));
  sleep(0.2);
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
