// teardown that throws where a threshold does not hold
export const options = { iterations: 2, thresholds: { iterations: ['count==3'] } };

export default function () {}

export function teardown() {
  throw new Error('no teardown');
}
