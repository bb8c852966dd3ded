import { WebSocket } from 'k6/websockets';

export const options = { iterations: 5 };

// What throws, by iteration: listeners, a timer, the iteration itself; in the last one nothing does.
export default function () {
    const socket = new WebSocket(`${__ENV.WS}/watched?name=throws-${__ITER}`);
    socket.onerror = (e) => console.log(__ITER, 'error', e.error.split(' at ')[0]);
    socket.onclose = (e) => console.log(__ITER, 'close', e.code);
    socket.addEventListener('open', () => {
        console.log(__ITER, 'open');
        if (__ITER === 0) { throw new Error('thrown by open'); }
        if (__ITER === 1) { socket.close(1000); }
    });
    if (__ITER === 1) { socket.onclose = () => { throw new Error('thrown by close'); }; }
    if (__ITER === 2) {
        socket.onopen = () => setTimeout(() => { throw new Error('thrown by a timer'); }, 1);
        socket.onclose = undefined;
    }
    if (__ITER === 4) {
        socket.addEventListener('open', () => socket.close());
    }
    if (__ITER === 3) {
        socket.onerror = undefined;
        socket.onclose = undefined;
        throw new Error('thrown at once');
    }
}
