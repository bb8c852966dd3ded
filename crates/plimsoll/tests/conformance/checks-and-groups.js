// check, fail, group, sleep
import { check, fail, group, sleep } from 'k6';

export const options = { vus: 1, iterations: 3 };

export default function () {
  group('outer', () => {
    const both = check({ n: __ITER }, { 'is even': (v) => v.n % 2 === 0, 'is a value': true });
    group('inner', () => check(1, { one: (v) => v === 1 }, { kind: 'nested' }));
    console.log(`${__ITER}: ${both}`);
  });
  sleep(0.01);
  if (__ITER === 1) {
    fail('the second one fails');
  }
  check(null, { 'after it': () => true });
}
