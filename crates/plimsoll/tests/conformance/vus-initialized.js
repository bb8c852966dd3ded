import exec from 'k6/execution';

export const options = {
  scenarios: {
    first: { executor: 'per-vu-iterations', vus: 3, iterations: 1, maxDuration: '1s', gracefulStop: '0s' },
    second: { executor: 'shared-iterations', vus: 5, iterations: 5, startTime: '1s' },
  },
};

export function setup() {
  console.log('setup', exec.instance.vusInitialized, exec.instance.vusActive);
}

export default function () {
  console.log(exec.scenario.name, exec.instance.vusInitialized);
}
