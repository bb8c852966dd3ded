import { WebSocket, Blob } from 'k6/websockets';

export const options = { iterations: 1 };

export default async function () {
    const blob = new Blob(['ab', new Uint8Array([99, 100]).buffer, new Uint16Array([0x6665]), new Blob(['gh'])], { type: 'text/x' });
    console.log(blob.size, blob.type, await blob.text(), String(blob));
    console.log(new Uint8Array(await blob.arrayBuffer()), (await blob.bytes()).length);
    const part = blob.slice(1, -1, 'text/y');
    console.log(part.size, part.type, await part.text(), await blob.slice().text(), await blob.slice(6).text());
    console.log(new Blob().size, new Blob([]).type === '', await new Blob([new DataView(new Uint8Array([65, 66]).buffer)]).text());
    for (const args of [[[5]], [[{}]], [['a'], 'options']]) {
        try { new Blob(...args); } catch (e) { console.log(e.message); }
    }
    const socket = new WebSocket(`${__ENV.WS}/echo`);
    await new Promise((resolve) => {
        socket.onopen = () => socket.send(new Uint8Array([104, 105]));
        socket.addEventListener('message', async (e) => {
            console.log(e.data.size, e.data.type, await e.data.text());
            socket.close();
        });
        socket.onclose = resolve;
    });
}
