// setupTimeout: exit code 100
import { sleep } from 'k6';

export const options = { iterations: 1, setupTimeout: '300ms' };

export function setup() {
  console.log('setup');
  sleep(5);
}

export default function () {
  console.log('iteration');
}

export function teardown() {
  console.log('teardown');
}
