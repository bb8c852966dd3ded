// flags: --throw
import ws from 'k6/ws';

export const options = { iterations: 2 };

export default function () {
    if (__ITER === 0) {
        try {
            ws.connect(`${__ENV.WS}/refused`, () => {});
        } catch (e) {
            console.log('threw', e.message);
        }
        ws.connect('ws://127.0.0.1:1/', () => {});
    }
    ws.connect(`${__ENV.WS}/echo`, (socket) => {
        socket.on('open', () => socket.send('x'));
        socket.on('close', (code) => console.log('closed', code));
        socket.on('message', () => { throw new Error('thrown by a handler'); });
    });
    console.log('not reached');
}
