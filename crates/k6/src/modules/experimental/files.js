// Files of `k6/experimental/fs`.
({ open, size, part, isInit }) => {
    const SeekMode = { Start: 0, Current: 1, End: 2 };
    const failure = (name, message) => Object.assign(new Error(message), { name });
    const isMissing = (value) => value === undefined || value === null;

    class File {
        #file;
        #at = 0;

        constructor(path, file) {
            this.path = path;
            this.#file = file;
        }

        // What a value holds, if it is a file.
        static held(value) { return typeof value === 'object' && value !== null && #file in value ? value.#file : undefined; }

        async stat() { return { name: this.path.slice(this.path.lastIndexOf('/') + 1), size: size(this.#file) }; }
        async read(into) {
            if (isMissing(into)) { throw failure('TypeError', 'read() failed; reason: into argument cannot be null or undefined'); }
            if (into.constructor?.name !== 'Uint8Array') {
                throw failure('TypeError', 'read() failed; reason: into argument must be a Uint8Array');
            }
            if (this.#at === size(this.#file)) { return null; }
            // As in k6, the whole buffer is written to, whatever part of it is shown.
            const whole = new into.constructor(into.buffer);
            const bytes = new into.constructor(part(this.#file, this.#at, this.#at + whole.length));
            whole.set(bytes);
            this.#at += bytes.length;
            return bytes.length;
        }
        async seek(offset, whence) {
            for (const [name, value] of [['offset', offset], ['whence', whence]]) {
                const why = isMissing(value) ? 'cannot be null or undefined' : Number.isInteger(value) ? undefined : 'must be a number';
                if (why !== undefined) { throw failure('TypeError', `seek() failed; reason: the ${name} argument ${why}`); }
            }
            if (!Object.values(SeekMode).includes(whence)) {
                throw failure('TypeError', 'seek() failed; reason: the whence argument must be a SeekMode');
            }
            if (whence === SeekMode.Start && offset < 0) { throw failure('TypeError', 'offset cannot be negative when using SeekModeStart'); }
            if (whence === SeekMode.End && offset > 0) { throw failure('TypeError', 'offset cannot be positive when using SeekModeEnd'); }
            const at = [0, this.#at, size(this.#file) - 1][whence] + offset;
            if (at < 0) { throw failure('TypeError', 'seeking before start of file'); }
            if (at > size(this.#file)) { throw failure('TypeError', 'seeking beyond end of file'); }
            this.#at = at;
            return at;
        }
    }

    return {
        SeekMode,
        held: File.held,
        open: async (path) => {
            if (!isInit()) { throw failure('ForbiddenError', 'open() failed; reason: opening a file is allowed only in the Init context'); }
            if (isMissing(path)) { throw failure('TypeError', 'open() failed; reason: path cannot be null or undefined'); }
            if (String(path) === '') { throw failure('TypeError', 'open() failed; reason: path cannot be empty'); }
            let file;
            try { file = open(String(path)); } catch (error) { throw failure('NotFoundError', error.message); }
            return new File(String(path), file);
        },
    };
}
