// executors constant-arrival-rate, ramping-arrival-rate; dropped_iterations; approximately: iterations dropped_iterations
import { sleep } from 'k6';

export const options = {
  scenarios: {
    constant: { executor: 'constant-arrival-rate', rate: 40, timeUnit: '1s', duration: '1s', preAllocatedVUs: 5, exec: 'quick' },
    ramping: {
      executor: 'ramping-arrival-rate',
      startRate: 10,
      timeUnit: '1s',
      preAllocatedVUs: 5,
      stages: [{ duration: '1s', target: 30 }],
      exec: 'quick',
    },
    dropping: { executor: 'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 2, exec: 'slow', gracefulStop: '3s' },
  },
  thresholds: {
    'iterations{scenario:constant}': ['count>=39', 'count<=41'],
    'iterations{scenario:ramping}': ['count>=19', 'count<=21'],
    'iterations{scenario:dropping}': ['count==2'],
    'dropped_iterations{scenario:dropping}': ['count>=17', 'count<=19'],
  },
};

export function quick() {}

export function slow() {
  sleep(2);
}
