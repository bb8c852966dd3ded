// scenarios: exec, env, tags, startTime; options tags
import exec from 'k6/execution';
import http from 'k6/http';

export const options = {
  tags: { all: 'yes' },
  scenarios: {
    one: { executor: 'per-vu-iterations', exec: 'one', env: { WHO: 'first' }, tags: { part: 'a' } },
    two: { executor: 'per-vu-iterations', exec: 'two', env: { WHO: 'second' }, tags: { part: 'b' }, startTime: '500ms' },
  },
  thresholds: {
    'http_reqs{part:a}': ['count==1'],
    'http_reqs{part:b}': ['count==2'],
    'http_reqs{all:yes}': ['count==3'],
    'http_reqs{scenario:two}': ['count==2'],
  },
};

export function one() {
  http.get(`${__ENV.BASE}/one`);
  console.log('one', __ENV.WHO, exec.scenario.name, exec.scenario.executor);
}

export function two() {
  http.get(`${__ENV.BASE}/two`);
  http.get(`${__ENV.BASE}/two`);
  console.log('two', __ENV.WHO, exec.scenario.name, exec.vu.tags.part);
}
