// an exception ends its iteration, not the run
import { Counter } from 'k6/metrics';

const after = new Counter('after');

export const options = { iterations: 4, thresholds: { after: ['count==2'] } };

export default function () {
  if (__ITER % 2) {
    throw new Error('odd');
  }
  after.add(1);
}
