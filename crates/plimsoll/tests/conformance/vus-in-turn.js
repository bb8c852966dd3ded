// approximately: iterations
export const options = {
  scenarios: {
    turns: { executor: 'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 5, maxVUs: 5 },
  },
};

export default function () {
  if (__ITER === 2) {
    console.log(__VU);
  }
}
