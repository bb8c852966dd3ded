import exec from 'k6/execution';

export const options = { vus: 3, iterations: 3 };

if (__VU === 2) {
  exec.test.abort('not for the second');
}

export default function () {}
