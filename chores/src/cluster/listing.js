// A file, a variable, and thresholds that only hold over all pods together: each iteration has a number of its own.
import exec from 'k6/execution';
import http from 'k6/http';
import { SharedArray } from 'k6/data';
import { Counter } from 'k6/metrics';

const players = new SharedArray('players', () => JSON.parse(open('players.json')));
const numbers = new Counter('numbers');

export const options = {
    scenarios: { list: { executor: 'per-vu-iterations', vus: 10, iterations: 20 } },
    thresholds: { iterations: ['count==200'], numbers: ['count==19900'] },
};

export default () => {
    const number = exec.scenario.iterationInTest;
    numbers.add(number);
    const player = `${__ENV.PLAYERS}-${players[number % players.length]}`;
    http.get('http://challenge:8000/challenge/v1/challenges', { headers: { 'x-mock-user-id': player } });
};
