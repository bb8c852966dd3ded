// exec.test.abort: exit code 108
import exec from 'k6/execution';

export const options = { vus: 1, duration: '60s' };

export default function () {
  if (__ITER === 2) {
    exec.test.abort('enough');
  }
  console.log(__ITER);
}

export function teardown() {
  console.log('teardown');
}
