// A WebSocket that greets once.
import ws from 'k6/ws';
import { check } from 'k6';

export const options = { iterations: 2, vus: 1, thresholds: { ws_connecting: ['p(95)<5000'] } };

export default function () {
  const reply = ws.connect(`ws://${__ENV.TARGET}/`, {}, (socket) => {
    socket.on('open', () => socket.send('hello'));
    socket.on('message', () => socket.close());
  });
  check(reply, { 'status is 101': (r) => r && r.status === 101 });
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
