import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const users = ['u1', 'u2', 'u3'];
const calls = new Counter('calls');
let known = 0;

export const options = {
  scenarios: {
    warm: { executor: 'per-vu-iterations', vus: 2, iterations: 2, maxDuration: '1s', gracefulStop: '0s', env: { PART: 'warm' } },
    main: { executor: 'per-vu-iterations', vus: 2, iterations: 1, startTime: '1s', maxDuration: '1s', gracefulStop: '0s', tags: { part: 'main' } },
    last: { executor: 'shared-iterations', vus: 3, iterations: 3, startTime: '2s', exec: 'other', env: { PART: 'last' } },
  },
  thresholds: { 'calls{scenario:main}': ['count==2'], 'calls{part:main}': ['count==2'], 'iterations{scenario:warm}': ['count==4'] },
};

export default function () {
  known += 1;
  calls.add(1);
  exec.vu.tags.mine = 'x';
  console.log(exec.scenario.name, __ITER, known, exec.vu.iterationInInstance, exec.vu.iterationInScenario, __ENV.PART,
    users[exec.vu.idInTest - 1] !== undefined, exec.vu.idInTest === __VU);
}

export function other() {
  calls.add(1);
  console.log(exec.scenario.name, __ENV.PART, exec.vu.tags.mine, users[__VU - 1] !== undefined, __VU <= 3);
}
