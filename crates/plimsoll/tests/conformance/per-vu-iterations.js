// executor per-vu-iterations; __VU, __ITER
export const options = {
  scenarios: { each: { executor: 'per-vu-iterations', vus: 3, iterations: 2 } },
};

export default function () {
  console.log(__VU, __ITER);
}
