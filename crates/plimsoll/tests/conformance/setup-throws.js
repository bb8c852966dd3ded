// setup that throws: exit code 107, and nothing else is run
export const options = { iterations: 2 };

export function setup() {
  console.log('setup');
  throw new Error('no setup');
}

export default function () {
  console.log('iteration');
}

export function teardown() {
  console.log('teardown');
}
