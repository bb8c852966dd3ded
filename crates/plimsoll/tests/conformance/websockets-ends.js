import { WebSocket } from 'k6/experimental/websockets';
import http from 'k6/http';

export const options = { iterations: 1, thresholds: { ws_sessions: ['count > 0'] } };

// Resolves with how a session went.
function session(url, then, ...rest) {
    return new Promise((resolve) => {
        const seen = [];
        const socket = new WebSocket(url, ...rest);
        socket.onopen = () => { seen.push(`open "${socket.protocol}" ${socket.readyState}`); then?.(socket, seen); };
        socket.onmessage = (e) => seen.push(`message ${e.data}`);
        socket.onping = () => seen.push('ping');
        socket.onerror = (e) => seen.push(`error ${e.error} ${socket.readyState}`);
        socket.onclose = (e) => {
            seen.push(`close ${e.code} "${e.reason}" ${Object.keys(e)}`);
            resolve(seen.join(', '));
        };
    });
}

export default async function () {
    const send = (socket) => socket.send('x');
    for (const query of ['code=1000&reason=bye', 'code=1001', 'code=1008&reason=policy', 'code=4001&reason=own', 'code=1005']) {
        console.log(query, await session(`${__ENV.WS}/close?${query}`, send));
    }
    console.log('drop', await session(`${__ENV.WS}/drop`, send));
    console.log('refused', await session(`${__ENV.WS}/refused`));
    console.log('other key', await session(`${__ENV.WS}/other-key`));
    console.log('closed port', await session('ws://127.0.0.1:1/'));
    console.log('unknown host', (await session('ws://nowhere.invalid/')).replace(/ on [0-9.:]+:/, ':'));
    console.log('duplicate', await session(`${__ENV.WS}/echo`, null, null, { headers: { Upgrade: 'x' } }));
    console.log('tls', await session(`${__ENV.WSS}/echo`));
    const { error, error_code } = http.get(`${__ENV.WSS.replace('wss', 'https')}/refused`);
    console.log('https', error, error_code);
    console.log('protocol', await session(`${__ENV.WS}/echo`, (socket) => socket.close(), 'other'));
    console.log('protocols', await session(`${__ENV.WS}/echo`, (socket) => socket.close(3001, 'mine'), ['none', 'chat']));
    console.log('server pings', await session(`${__ENV.WS}/pings`, (socket) => {
        socket.onmessage = (e) => { console.log(e.data); socket.close(); };
    }));
    console.log('wrong closes', await session(`${__ENV.WS}/echo`, (socket, seen) => {
        for (const [code, reason] of [[1001], [999], [5000], [1000, 'r'.repeat(124)]]) {
            try { socket.close(code, reason); } catch (e) { seen.push(e.message); }
        }
        socket.close();
        socket.close();
        try { socket.send('after'); } catch (e) { seen.push(e.message); }
    }));
    for (const [...args] of [[], [null], ['http://127.0.0.1/'], ['ws://127.0.0.1/#part'], ['none'], ['ws://127.0.0.1/', null, { other: 1 }], ['ws://127.0.0.1/', null, { compression: 'br' }]]) {
        try { new WebSocket(...args); console.log('made'); } catch (e) { console.log('threw', e.message); }
    }
    console.log('deflate', await session(`${__ENV.WS}/echo`, (socket) => {
        console.log(socket.extensions);
        socket.onmessage = (e) => { console.log(e.data.length); socket.close(); };
        socket.send('long '.repeat(20000));
    }, null, { compression: 'deflate' }));
    console.log('watched', await session(`${__ENV.WS}/watched?name=websockets`, (socket) => socket.close(3500, 'why')));
    console.log(http.get(`${__ENV.WS.replace('ws', 'http')}/end?name=websockets`).body);
}
