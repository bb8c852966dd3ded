import ws from 'k6/ws';
import { check, group } from 'k6';

export const options = {
    iterations: 2,
    thresholds: {
        'ws_sessions{status:101}': ['count == 2'],
        'ws_sessions{group:::outer}': ['count == 2'],
        'ws_msgs_received{tag:one}': ['count == 6'],
        'ws_msgs_sent{status:101}': ['count == 6'],
        'ws_session_duration{scenario:default}': ['max < 30000'],
        ws_connecting: ['max < 30000'],
        ws_ping: ['max < 30000'],
    },
};

export default function () {
    group('outer', () => {
        const url = `${__ENV.WS}/echo`;
        const seen = [];
        const response = ws.connect(url, { tags: { tag: 'one' } }, (socket) => {
            socket.on('open', () => {
                seen.push('open');
                socket.send('hello');
                socket.sendBinary(new Uint8Array([1, 2, 255]).buffer);
                socket.send('\u00fcber \u{1f600}');
                socket.ping();
            });
            socket.on('open', () => seen.push('open again'));
            socket.on('message', (text) => seen.push(`text ${text}`));
            socket.on('binaryMessage', (bytes) => seen.push(`bytes ${new Uint8Array(bytes)} ${bytes instanceof ArrayBuffer}`));
            socket.on('pong', () => {
                seen.push('pong');
                socket.setTimeout(() => socket.close(3000), 50);
            });
            socket.on('ping', () => seen.push('ping'));
            socket.on('error', (e) => seen.push(`error ${e.error()}`));
            socket.on('close', (code) => seen.push(`close ${code}`));
        });
        check(response, { switched: (r) => r.status === 101, header: (r) => r.headers.Upgrade === 'websocket' });
        // A pong comes when it comes.
        const pong = seen.indexOf('pong');
        console.log(pong > 0, seen.filter((one) => one !== 'pong').join(', '));
        console.log(response.url === url, response.status, response.body === '', response.error === '', response.headers['X-Server']);
        console.log(Object.keys(response).sort());
    });
}
