import ws from 'k6/ws';
import { check } from 'k6';

export const options = {
    iterations: 1,
    thresholds: { 'ws_sessions{status:403}': ['count == 1'], ws_session_duration: ['max < 30000'] },
};

function attempt(name, ...args) {
    try {
        const { url, status, headers, body, error } = ws.connect(...args);
        console.log(name, 'returned', url, status, headers === null || headers === undefined ? 'no headers' : headers['X-Why'], body.length, error.replace(/ on [0-9.:]+:/, ':'));
    } catch (e) {
        console.log(name, 'threw', e.message);
    }
}

export default function () {
    const nothing = () => { throw new Error('not called'); };
    attempt('refused', `${__ENV.WS}/refused`, {}, nothing);
    attempt('not found', `${__ENV.WS}/none`, nothing);
    attempt('other key', `${__ENV.WS}/other-key`, nothing);
    attempt('http', `${__ENV.BASE}/`, nothing);
    attempt('no websocket', `${__ENV.BASE.replace('http', 'ws')}/object`, nothing);
    attempt('user', `${__ENV.WS.replace('//', '//a:b@')}/echo`, nothing);
    attempt('closed port', 'ws://127.0.0.1:1/echo', nothing);
    attempt('unknown host', 'ws://nowhere.invalid/echo', nothing);
    attempt('duplicate', `${__ENV.WS}/echo`, { headers: { upgrade: 'x' } }, nothing);
    attempt('no function', `${__ENV.WS}/echo`, {});
    attempt('nothing', `${__ENV.WS}/echo`);
    attempt('too many', `${__ENV.WS}/echo`, {}, nothing, 1);
    attempt('compression', `${__ENV.WS}/echo`, { compression: 'gzip' }, nothing);
    attempt('tags', `${__ENV.WS}/echo`, { tags: { a: {} } }, nothing);
    attempt('set up', `${__ENV.WS}/echo`, { tags: null }, nothing);
    check(1, { reached: () => true });
}
