// thresholds that do not hold: exit code 99
import { check } from 'k6';

export const options = {
  iterations: 4,
  thresholds: { checks: ['rate>0.9', 'rate>0.1'], iterations: ['count>100'], iteration_duration: ['max<60000'] },
};

export default function () {
  check(__ITER, { 'is even': (n) => n % 2 === 0 });
}
