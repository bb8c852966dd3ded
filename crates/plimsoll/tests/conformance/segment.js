// flags: --execution-segment=1/3:2/3 --execution-segment-sequence=0,1/3,2/3,1
// a part of the load: executionSegment, executionSegmentSequence
import exec from 'k6/execution';

export const options = {
  scenarios: {
    shared: { executor: 'shared-iterations', vus: 4, iterations: 11, exec: 'shared' },
    each: { executor: 'per-vu-iterations', vus: 5, iterations: 2, exec: 'each' },
  },
};

export function shared() {
  console.log('shared', exec.scenario.iterationInTest);
}

export function each() {
  console.log('each', exec.vu.iterationInScenario);
}
