// options stages; approximately: iterations
import exec from 'k6/execution';
import { sleep } from 'k6';

export const options = {
  stages: [{ duration: '500ms', target: 3 }, { duration: '500ms', target: 3 }, { duration: '0s', target: 0 }],
  thresholds: { iterations: ['count>=6'], 'iterations{scenario:default}': ['count>=6'] },
};

export default function () {
  if (__VU === 1 && __ITER === 0) {
    console.log(exec.scenario.name, exec.scenario.executor);
  }
  sleep(0.25);
}
