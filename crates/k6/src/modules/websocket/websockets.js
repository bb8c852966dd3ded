// `k6/websockets`: sessions beside the script.
({ open, next, send, ping, close, end, received, response, warn, goType }) => {
    const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
    const TYPES = ['open', 'message', 'error', 'close', 'ping', 'pong'];
    const shown = (object, name, value) => Object.defineProperty(object, name, { value, enumerable: true });
    const read = (object, name, get, set) => Object.defineProperty(object, name, { get, set, enumerable: true });

    const bytesOf = (part) => {
        if (typeof part === 'string') { return new TextEncoder().encode(part); }
        if (part instanceof ArrayBuffer) { return new Uint8Array(part); }
        // As in k6, of a view of bytes those that it shows, of a DataView all of its buffer.
        if (part instanceof DataView) { return new Uint8Array(part.buffer); }
        if (ArrayBuffer.isView(part)) { return new Uint8Array(part.buffer, part.byteOffset, part.byteLength); }
        const held = Blob.bytes(part);
        if (held === undefined) { throw new Error(`failed to process [blobParts]: unsupported type: ${goType(part)}`); }
        return held;
    };

    class Blob {
        #bytes;
        #type = '';

        constructor(parts, options) {
            if (parts !== undefined && parts !== null && typeof parts[Symbol.iterator] !== 'function') {
                throw new Error(`failed to process [blobParts]: could not convert ${String(parts)} to []interface {}`);
            }
            const all = [...(parts ?? [])].map(bytesOf);
            this.#bytes = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
            let at = 0;
            for (const part of all) {
                this.#bytes.set(part, at);
                at += part.length;
            }
            if (options !== undefined) {
                if (typeof options !== 'object' || options === null) { throw new Error('[options] must be an object'); }
                if (options.type !== undefined) { this.#type = String(options.type); }
            }
            read(this, 'size', () => this.#bytes.length);
            read(this, 'type', () => this.#type);
        }
        static bytes(value) { return typeof value === 'object' && value !== null && #bytes in value ? value.#bytes : undefined; }

        async arrayBuffer() { return this.#bytes.slice().buffer; }
        async bytes() { return this.#bytes.slice(); }
        async text() { return new TextDecoder().decode(this.#bytes); }
        slice(from = 0, to = this.#bytes.length, type = '') {
            const until = Math.trunc(to);
            const part = this.#bytes.slice(Math.trunc(from), until < 0 ? this.#bytes.length + until : until);
            return new Blob([part], { type });
        }
        stream() { throw new Error('Blob.stream() is not supported'); }
        toString() { return '[object Blob]'; }
    }

    function WebSocket(url, protocols, params) {
        if (new.target === undefined) { throw new TypeError("Class constructor WebSocket cannot be invoked without 'new'"); }
        const socket = {};
        const listeners = Object.create(null);
        for (const type of TYPES) { listeners[type] = { on: undefined, added: [] }; }
        let state = CONNECTING;
        let waiting = 0;
        let binaryType = 'blob';
        let closeCode;
        let closeReason = '';
        let asksToClose;
        let answer;
        const notify = () => see(next(session));
        const session = open(url, params, protocols, notify);

        const event = (type, values) => {
            const made = {};
            const timestamp = Date.now();
            read(made, 'type', () => type);
            read(made, 'target', () => socket);
            read(made, 'timestamp', () => timestamp);
            for (const [name, value] of Object.entries(values)) { shown(made, name, value); }
            return made;
        };
        const call = (type, values = {}) => {
            const { on, added } = listeners[type];
            const made = event(type, values);
            for (const listener of on === undefined ? [...added] : [on, ...added]) { listener.call(undefined, made); }
        };
        const closed = (error) => {
            if (state === CLOSED) { return; }
            state = CLOSED;
            if (error !== undefined) { call('error', { error }); }
            call('close', { ...(closeCode === undefined ? {} : { code: closeCode }), reason: closeReason });
        };
        // Listeners of these kinds end the session when they throw.
        const callOrEnd = (type, values) => {
            try { call(type, values); } catch (thrown) {
                end(session);
                closed(String(thrown));
                throw thrown;
            }
        };
        const message = (data) => {
            if (state !== OPEN) { return; }
            received(session);
            callOrEnd('message', { data, origin: String(url) });
        };
        const see = (seen) => {
            switch (seen?.type) {
                case 'open':
                    answer = response(session);
                    if (state === CONNECTING) {
                        state = OPEN;
                        return callOrEnd('open');
                    }
                    return close(session, ...asksToClose);
                case 'message': return message(seen.data);
                case 'binaryMessage': return message(binaryType === 'blob' ? new Blob([seen.data]) : seen.data);
                case 'ping':
                case 'pong': return call(seen.type);
                case 'closed':
                    [closeCode, closeReason] = [seen.code, seen.reason];
                    return closed(seen.code === 1000 || seen.code === 1001 ? undefined : seen.error);
                case 'failed': return closed();
                case 'notOpened': return closed(seen.error);
            }
        };
        const requireOpen = () => { if (state !== OPEN) { throw new Error('InvalidStateError'); } };
        const give = (message, size) => {
            waiting += size;
            const error = send(session, message);
            if (error !== undefined) { throw new Error(error); }
            Promise.resolve().then(() => { waiting -= size; });
        };

        shown(socket, 'addEventListener', (type, listener) => {
            if (listener === undefined || listener === null) {
                throw new Error(`handler for event type "${type}" isn't a callable function`);
            }
            const known = listeners[String(type)];
            if (known === undefined) { warn(`can't add event handler: unknown event type: ${type}`); } else { known.added.push(listener); }
        });
        shown(socket, 'send', (message) => {
            requireOpen();
            if (typeof message === 'string') { return give(message, new TextEncoder().encode(message).length); }
            const bytes = message instanceof ArrayBuffer || ArrayBuffer.isView(message) ? message : Blob.bytes(message);
            if (bytes === undefined) { throw new Error(`unsupported send type ${goType(message)}`); }
            give(bytes, bytes.byteLength);
        });
        shown(socket, 'ping', () => {
            requireOpen();
            ping(session);
        });
        shown(socket, 'close', (code, reason) => {
            if (state === CLOSING || state === CLOSED) { return; }
            const given = Math.trunc(Number(code)) || 0;
            if (given !== 0 && given !== 1000 && !(given >= 3000 && given <= 4999)) {
                throw new Error("InvalidAccessError: Failed to execute 'close' on 'WebSocket': "
                    + `The close code must be either 1000, or between 3000 and 4999. ${given} is neither`);
            }
            const text = reason === undefined ? '' : String(reason);
            if (new TextEncoder().encode(text).length > 123) {
                throw new Error("SyntaxError: Failed to execute 'close' on 'WebSocket': The message must not be greater than 123 bytes");
            }
            closeCode = given || 1000;
            asksToClose = [closeCode, text];
            if (state === OPEN) { close(session, ...asksToClose); }
            state = CLOSING;
        });
        shown(socket, 'url', String(url));
        read(socket, 'readyState', () => state);
        read(socket, 'bufferedAmount', () => waiting);
        read(socket, 'extensions', () => answer?.extensions ?? []);
        read(socket, 'protocol', () => answer?.protocol ?? '');
        read(socket, 'binaryType', () => binaryType, (type) => {
            if (type !== 'blob' && type !== 'arraybuffer') {
                throw new Error(`unknown binaryType ${type}, the supported ones are "blob" and "arraybuffer"`);
            }
            binaryType = type;
        });
        for (const type of TYPES) {
            const kind = listeners[type];
            read(socket, `on${type}`, () => kind.on ?? null, (listener) => {
                if (listener !== undefined && listener !== null && typeof listener !== 'function') {
                    throw new Error(`a value for 'on${type}' should be callable`);
                }
                kind.on = listener ?? undefined;
            });
        }
        return socket;
    }

    return { WebSocket, Blob };
}
