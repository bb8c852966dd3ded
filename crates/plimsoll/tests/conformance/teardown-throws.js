// teardown that throws: exit code 107
export const options = { iterations: 2, thresholds: { iterations: ['count==2'] } };

export default function () {
  console.log('iteration', __ITER);
}

export function teardown() {
  console.log('teardown');
  throw new Error('no teardown');
}
