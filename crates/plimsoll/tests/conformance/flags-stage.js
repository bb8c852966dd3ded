// flags: --stage 500ms:2,500ms:2 --no-teardown --no-thresholds
// --stage, --no-teardown, --no-thresholds; approximately: iterations
import exec from 'k6/execution';
import { sleep } from 'k6';

export const options = { iterations: 1, thresholds: { iterations: ['count<1'] } };

export default function () {
  if (__VU === 1 && __ITER === 0) {
    console.log(exec.scenario.executor);
  }
  sleep(0.2);
}

export function teardown() {
  console.log('teardown');
}
