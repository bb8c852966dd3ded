// flags: --insecure-skip-tls-verify --user-agent=agent
import ws from 'k6/ws';
import http from 'k6/http';

export const options = {
    iterations: 1,
    thresholds: { 'ws_sessions{subproto:chat}': ['count == 2'], 'ws_msgs_sent{url:named}': ['count == 0'], 'ws_sessions{name:named}': ['count == 1'] },
};

function headers(base, params) {
    let seen;
    ws.connect(`${base}/headers?code=1000`, params, (socket) => {
        socket.on('message', (text) => {
            const all = JSON.parse(text);
            delete all.host;
            seen = JSON.stringify(all);
            socket.close();
        });
    });
    return seen;
}

export default function () {
    console.log('plain', headers(__ENV.WS, {}));
    console.log('tls', headers(__ENV.WSS, {}));
    console.log('own', headers(__ENV.WS, { headers: { 'x-own': 'value', 'User-Agent': 'mine' } }));
    console.log('protocol', headers(__ENV.WS, { headers: { 'Sec-WebSocket-Protocol': 'none, chat' } }));
    console.log('protocol', headers(__ENV.WSS, { headers: { 'sec-websocket-protocol': 'chat' }, tags: { name: 'named' } }));
    console.log('deflate', headers(__ENV.WS, { compression: ' deflate ' }));
    http.cookieJar().set(__ENV.WS.replace('ws', 'http'), 'from', 'jar');
    console.log('jar', headers(__ENV.WS, {}));
    const own = new http.CookieJar();
    own.set(__ENV.WS.replace('ws', 'http'), 'of', 'own');
    console.log('own jar', headers(__ENV.WS, { jar: own }));
    console.log('both', headers(__ENV.WS, { headers: { Cookie: 'given=1' } }));
    ws.connect(`${__ENV.WS}/echo?cookie=set%3Dby-server`, (socket) => socket.close());
    console.log('set', headers(__ENV.WS, {}));

    for (const compression of ['', 'deflate']) {
        ws.connect(`${__ENV.WSS}/echo`, { compression }, (socket) => {
            const messages = ['', 'short', 'long '.repeat(30000)];
            socket.on('open', () => messages.forEach((message) => socket.send(message)));
            socket.on('message', (text) => {
                const sent = messages.shift();
                if (text !== sent) { console.log('differs', text.length, sent.length); }
                if (messages.length === 0) {
                    console.log(`echoed by "${compression}"`);
                    socket.close();
                }
            });
        });
    }
}
