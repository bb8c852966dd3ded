// flags: --execution-segment=0:1/2
// a part of arrivals; approximately: iterations
export const options = {
  scenarios: {
    constant: { executor: 'constant-arrival-rate', rate: 40, duration: '1s', preAllocatedVUs: 4 },
  },
  thresholds: { iterations: ['count>=18', 'count<=22'] },
};

export default function () {}
