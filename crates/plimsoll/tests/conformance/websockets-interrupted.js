import { WebSocket } from 'k6/websockets';
import ws from 'k6/ws';
import http from 'k6/http';

// Sessions that are open when the time of their iterations is over.
export const options = {
    scenarios: {
        concurrent: { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: '1s', gracefulStop: '0s', exec: 'concurrent' },
        blocking: { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: '1s', gracefulStop: '0s', exec: 'blocking' },
        graceful: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '20s', exec: 'graceful' },
    },
};

export function concurrent() {
    const socket = new WebSocket(`${__ENV.WS}/watched?name=cut-concurrent`);
    socket.onclose = () => console.log('not seen');
}

export function blocking() {
    ws.connect(`${__ENV.WS}/watched?name=cut-blocking`, (socket) => socket.on('message', () => console.log('not seen')));
}

// It ends by itself, within its grace.
export function graceful() {
    const socket = new WebSocket(`${__ENV.WS}/echo`);
    socket.onopen = () => setTimeout(() => socket.close(), 1500);
    socket.onclose = () => console.log('ended');
}

export function teardown() {
    for (const name of ['concurrent', 'blocking']) {
        console.log(name, http.get(`${__ENV.WS.replace('ws', 'http')}/end?name=cut-${name}`).body);
    }
}
