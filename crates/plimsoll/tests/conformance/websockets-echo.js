import { WebSocket } from 'k6/websockets';
import { check, group } from 'k6';

export const options = {
    iterations: 2,
    thresholds: {
        'ws_sessions{status:101}': ['count == 2'],
        'ws_msgs_received{tag:one}': ['count == 8'],
        'ws_msgs_sent{group:::outer}': ['count == 12'],
        ws_session_duration: ['max < 30000'],
        ws_connecting: ['max < 30000'],
        ws_ping: ['max < 30000'],
    },
};

export default function () {
    group('outer', () => {
        const url = `${__ENV.WS}/echo`;
        const socket = new WebSocket(url, null, { tags: { tag: 'one' } });
        const seen = [];
        seen.push(`${socket.readyState} ${socket.url === url} ${socket.bufferedAmount} ${socket.binaryType} "${socket.protocol}"`);
        socket.binaryType = 'arraybuffer';
        try { socket.send('early'); } catch (e) { seen.push(e.message); }
        try { socket.binaryType = 'other'; } catch (e) { seen.push(e.message); }
        try { socket.ping(); } catch (e) { seen.push(e.message); }
        socket.addEventListener('open', (event) => {
            seen.push(`${event.type} ${event.target === socket} ${socket.readyState} ${typeof event.timestamp} ${Object.keys(event)}`);
            socket.send('hello');
            seen.push(`buffered ${socket.bufferedAmount}`);
            socket.send(new Uint8Array([1, 2, 255]).buffer);
            socket.send(new Uint8Array([0, 7, 8, 9]).subarray(1, 3));
            socket.send('\u00fcber');
            for (const value of [5, 1.5, true, null, undefined, {}, [1]]) {
                try { socket.send(value); } catch (e) { seen.push(e.message); }
            }
            socket.ping();
        });
        let count = 0;
        socket.onmessage = (event) => {
            count += 1;
            const data = typeof event.data === 'string' ? event.data : new Uint8Array(event.data);
            seen.push(`${event.type} ${data} ${event.origin === url}`);
        };
        socket.onpong = () => {
            const close = () => { if (count < 4) { setTimeout(close, 10); } else { socket.close(1000, 'done'); seen.push(`closing ${socket.readyState}`); } };
            close();
        };
        socket.onclose = (event) => {
            seen.push(`${event.type} ${event.code} "${event.reason}" ${socket.readyState}`);
            check(seen, { 'all events': () => count === 4 });
            console.log(seen.join('; '));
        };
        socket.onerror = (event) => seen.push(`error ${event.error}`);
    });
}
