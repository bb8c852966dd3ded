// ramping-vus: gracefulRampDown: iterations of virtual users that are no longer needed are finished or interrupted
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';

const begun = new Counter('begun');
const ramp = (more) => ({
  executor: 'ramping-vus',
  startVUs: 2,
  stages: [{ duration: '500ms', target: 2 }, { duration: '0s', target: 0 }, { duration: '1s', target: 0 }],
  ...more,
});

export const options = {
  scenarios: {
    graceful: ramp({ gracefulRampDown: '3s' }),
    interrupted: ramp({ gracefulRampDown: '0s' }),
  },
  thresholds: {
    'begun{scenario:graceful}': ['count==2'],
    'begun{scenario:interrupted}': ['count==2'],
    'iterations{scenario:graceful}': ['count==2'],
    'iterations{scenario:interrupted}': ['count==0'],
  },
};

export default function () {
  begun.add(1);
  sleep(0.8);
}
