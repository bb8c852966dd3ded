// what is not possible outside of functions, and what is possible there only
import http from 'k6/http';
import { check, group } from 'k6';
import { Counter } from 'k6/metrics';
import { SharedArray } from 'k6/data';

export const options = { iterations: 1 };

const early = new Counter('early');
const lines = [];

function attempt(name, made) {
  try {
    made();
    lines.push(`${name} passed`);
  } catch (e) {
    lines.push(`${name} threw`);
  }
}

attempt('get', () => http.get(`${__ENV.BASE}/a`));
attempt('batch', () => http.batch([`${__ENV.BASE}/a`]));
attempt('check', () => check(1, { one: (v) => v === 1 }));
attempt('group', () => group('g', () => 1));
attempt('add', () => early.add(1));

export default function () {
  lines.forEach((line) => console.log(line));
  lines.length = 0;
  attempt('open', () => open('./files/text.txt'));
  attempt('Counter', () => new Counter('late'));
  attempt('SharedArray', () => new SharedArray('late', () => [1]));
  attempt('SharedArray of no array', () => new SharedArray('wrong', () => 1));
  lines.forEach((line) => console.log(line));
}
