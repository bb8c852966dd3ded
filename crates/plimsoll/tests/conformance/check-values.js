// check: values of every type, names, tags; what it returns
import { check } from 'k6';

export const options = { iterations: 1, thresholds: { 'checks{kind:own}': ['rate==0.5'] } };

export default function () {
  for (const value of [true, false, 0, 1, '', 'a', null, undefined, NaN, [], {}]) {
    console.log(JSON.stringify(value), check(value, { 'is true': (v) => v, 'is given': value }));
  }
  console.log(check(1, { '': () => true }), check(1, {}), check(1, { a: () => true, b: () => false }, { kind: 'own' }));
}
