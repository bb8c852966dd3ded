// teardownTimeout: exit code 101
import { sleep } from 'k6';

export const options = { iterations: 1, teardownTimeout: '300ms' };

export default function () {}

export function teardown() {
  console.log('teardown');
  sleep(5);
}
