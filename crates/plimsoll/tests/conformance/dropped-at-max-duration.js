import { sleep } from 'k6';

export const options = {
  scenarios: {
    shared: { executor: 'shared-iterations', vus: 1, iterations: 5, maxDuration: '1s', gracefulStop: '5s' },
    each: { executor: 'per-vu-iterations', vus: 2, iterations: 4, maxDuration: '1s', gracefulStop: '5s' },
  },
  thresholds: { dropped_iterations: ['count==7'], 'dropped_iterations{scenario:shared}': ['count==3'] },
};

export default function () {
  sleep(0.7);
}
