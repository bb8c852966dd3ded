export const options = { vus: 3, iterations: 3 };

if (__VU === 2) {
  throw new Error('not for the second');
}

export default function () {}
