// `k6/ws`: a session is handled by functions while the script waits for its end.
({ open, wait, send, ping, close, end, received, response, timer, stopTimers, throws }) => {
    // What a script gets of an error.
    const failure = (text, details) => Object.assign(Object.create({ error: () => text, toString: () => text }), details);
    const isUsual = (code) => code === 1000 || code === 1001;

    class Socket {
        #session;
        #handlers = Object.create(null);
        #timers = Object.create(null);
        #isClosed = false;

        constructor(session) { this.#session = session; }

        on(event, handler) {
            if (typeof handler !== 'function') { return; }
            (this.#handlers[event] ??= []).push(handler);
        }
        send(message) { this.#sent(send(this.#session, String(message))); }
        sendBinary(message) {
            if (arguments.length === 0) { throw new Error('missing argument, expected ArrayBuffer'); }
            if (!(message instanceof ArrayBuffer)) {
                const type = message === null || message === undefined ? String(message) : message.constructor.name;
                throw new Error(`expected ArrayBuffer as argument, received: ${type}`);
            }
            this.#sent(send(this.#session, message));
        }
        ping() { this.#sent(ping(this.#session)); }
        setTimeout(handler, ms) { this.#timer('setTimeout', ms, () => handler()); }
        setInterval(handler, ms) {
            const again = () => {
                this.#timer('setInterval', ms, again);
                handler();
            };
            this.#timer('setInterval', ms, again);
        }
        close(code) { Socket.close(this, code === undefined ? 1001 : Math.trunc(Number(code)) || 0); }

        #sent(error) { if (error !== undefined) { Socket.emit(this, 'error', failure(error)); } }
        #timer(name, ms, handler) {
            const after = Number(ms);
            if (!(after > 0)) { throw new Error(`${name} requires a >0 timeout parameter, received ${after.toFixed(2)}`); }
            if (!this.#isClosed) { this.#timers[timer(this.#session, after)] = handler; }
        }

        static emit(socket, event, ...values) {
            for (const handler of socket.#handlers[event] ?? []) { handler.apply(undefined, values); }
        }
        static isClosed(socket) { return socket.#isClosed; }
        static close(socket, code) {
            if (socket.#isClosed) { return; }
            socket.#isClosed = true;
            stopTimers(socket.#session);
            close(socket.#session, code, '');
            try { Socket.emit(socket, 'close', code); } finally { end(socket.#session); }
        }
        // Lets the script see one thing of the session.
        static see(socket, event) {
            switch (event.type) {
                case 'message':
                case 'binaryMessage':
                    received(socket.#session);
                    return Socket.emit(socket, event.type, event.data);
                case 'ping':
                case 'pong':
                    return Socket.emit(socket, event.type);
                case 'timer': {
                    const handler = socket.#timers[event.timer];
                    delete socket.#timers[event.timer];
                    return handler?.();
                }
                case 'closed':
                    if (!isUsual(event.code)) {
                        Socket.emit(socket, 'error', failure(event.error, { code: event.code, text: event.reason }));
                    }
                    return Socket.close(socket, event.code);
                case 'failed':
                    Socket.emit(socket, 'error', failure(event.error));
                    return Socket.close(socket, 1001);
            }
        }
    }

    const connect = (url, ...others) => {
        if (others.length !== 1 && others.length !== 2) { throw new Error('invalid number of arguments to ws.connect'); }
        const [setUp, params] = others.reverse();
        if (typeof setUp !== 'function') { throw new Error('last argument to ws.connect must be a function'); }
        const session = open(url, params);
        const first = wait(session);
        const answer = response(session);
        if (first.type !== 'open') {
            wait(session);
            if (throws()) { throw new Error(first.error); }
            const shown = answer ?? { status: 0, headers: {}, body: '' };
            return { url: '', status: shown.status, headers: shown.headers, body: shown.body, error: answer ? '' : first.error };
        }
        const socket = new Socket(session);
        try {
            setUp(socket);
            Socket.emit(socket, 'open');
            while (!Socket.isClosed(socket)) { Socket.see(socket, wait(session)); }
        } finally {
            Socket.close(socket, 1001);
            while (wait(session) !== undefined) { /* what it has received is not seen any more */ }
        }
        return { url, status: answer.status, headers: answer.headers, body: answer.body, error: '' };
    };

    return { connect };
}
