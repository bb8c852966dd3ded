// executor shared-iterations
import exec from 'k6/execution';

export const options = {
  scenarios: { shared: { executor: 'shared-iterations', vus: 3, iterations: 10, maxDuration: '30s' } },
  thresholds: { iterations: ['count==10'] },
};

export default function () {
  console.log(exec.scenario.iterationInTest);
}
