// abortOnFail, delayAbortEval; approximately: iterations wrong
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';

const wrong = new Counter('wrong');

export const options = {
  vus: 1,
  duration: '60s',
  thresholds: { wrong: [{ threshold: 'count<5', abortOnFail: true, delayAbortEval: '1s' }] },
};

export default function () {
  wrong.add(1);
  sleep(0.5);
}
