// executor constant-vus; gracefulStop: iterations under way are finished or interrupted
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';

const begun = new Counter('begun');

export const options = {
  scenarios: {
    graceful: { executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '5s', exec: 'graceful' },
    interrupted: { executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '0s', exec: 'interrupted' },
  },
  thresholds: {
    'iterations{scenario:graceful}': ['count==4'],
    'iterations{scenario:interrupted}': ['count==2'],
    'begun{scenario:interrupted}': ['count==4'],
  },
};

export function graceful() {
  sleep(0.7);
}

export function interrupted() {
  begun.add(1);
  sleep(0.7);
}
