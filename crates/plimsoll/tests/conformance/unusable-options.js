// options that cannot be used: exit code 104
export const options = {
  scenarios: { one: { executor: 'constant-vus', vus: 1, duration: '1s', exec: 'missing' } },
};

export default function () {}
