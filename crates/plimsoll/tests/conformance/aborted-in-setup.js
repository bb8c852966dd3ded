// exec.test.abort in setup: exit code 108
import exec from 'k6/execution';

export const options = { iterations: 1 };

export function setup() {
  exec.test.abort('not today');
}

export default function () {
  console.log('iteration');
}

export function teardown() {
  console.log('teardown');
}
