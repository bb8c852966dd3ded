import ws from 'k6/ws';
import http from 'k6/http';

export const options = { iterations: 1 };

// How a session went, and what `connect` returned of it.
function session(path, setUp) {
    const seen = [];
    const response = ws.connect(`${__ENV.WS}${path}`, {}, (socket) => {
        for (const type of ['open', 'message', 'ping', 'pong']) { socket.on(type, (value) => seen.push(value === undefined ? type : `${type} ${value}`)); }
        socket.on('error', (e) => seen.push(`error ${e.error()}`));
        socket.on('close', (code) => seen.push(`close ${code} ${typeof code}`));
        setUp(socket, seen);
    });
    console.log(path, seen.join(', '), response.status, response.error);
    return response;
}

export default function () {
    const send = (socket) => socket.on('open', () => socket.send('x'));
    for (const query of ['code=1000&reason=bye', 'code=1001', 'code=1008&reason=policy', 'code=1011', 'code=4001&reason=own', 'code=1005']) {
        session(`/close?${query}`, send);
    }
    session('/drop', send);
    session('/pings', (socket) => socket.on('message', () => socket.close()));
    // Closed in the function that sets it up, and twice.
    session('/echo', (socket) => { socket.close(1000); socket.close(1001); });
    session('/echo', (socket, seen) => {
        let count = 0;
        socket.setInterval(() => {
            count += 1;
            seen.push(`tick ${count}`);
            if (count === 3) { socket.close(1000); }
        }, 20);
        socket.setTimeout(() => seen.push('timeout'), 30);
    });
    session('/echo', (socket, seen) => {
        for (const ms of [0, -1, NaN]) {
            try { socket.setTimeout(() => {}, ms); } catch (e) { seen.push(e.message); }
            try { socket.setInterval(() => {}, ms); } catch (e) { seen.push(e.message); }
        }
        for (const value of [undefined, null, 'text', 5, new Uint8Array(2), [1], {}]) {
            try { socket.sendBinary(value); } catch (e) { seen.push(e.message); }
        }
        try { socket.sendBinary(); } catch (e) { seen.push(e.message); }
        socket.on('message', 'no function');
        socket.close();
        socket.send('after');
    });
    // The server sees with which code a session was closed.
    for (const [name, setUp] of [['default', (s) => s.close()], ['own', (s) => s.close(4999)], ['returns', (s) => s.setTimeout(() => s.close(1000), 10)]]) {
        session(`/watched?name=ws-${name}`, setUp);
        console.log(name, http.get(`${__ENV.WS.replace('ws', 'http')}/end?name=ws-${name}`).body);
    }
}
