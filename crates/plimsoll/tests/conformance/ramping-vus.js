// executor ramping-vus; startVUs, stages, gracefulRampDown; approximately: iterations
import { sleep } from 'k6';

export const options = {
  scenarios: {
    ramp: {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [{ duration: '1s', target: 4 }, { duration: '500ms', target: 4 }, { duration: '500ms', target: 0 }],
      gracefulRampDown: '0s',
    },
  },
  thresholds: { iterations: ['count>8'] },
};

export default function () {
  sleep(0.1);
}
