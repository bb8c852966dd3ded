// `k6/experimental/csv`. `files` has what tells files apart.
({ records, next, isInit, SharedArray }, files) => {
    const integerOf = (value) => Math.trunc(Number(value)) || 0;
    const optionsOf = (given) => {
        const { delimiter = ',', skipFirstLine = false, fromLine, toLine, asObjects = false } = Object(given ?? {});
        if (String(delimiter).length > 1) { throw new Error('delimiter must be a single character'); }
        const options = { delimiter: String(delimiter), skipFirstLine: Boolean(skipFirstLine), asObjects: Boolean(asObjects) };
        if (fromLine !== undefined) { options.fromLine = integerOf(fromLine); }
        if (toLine !== undefined) { options.toLine = integerOf(toLine); }
        if (options.fromLine >= options.toLine) { throw new Error('fromLine must be less than or equal to toLine'); }
        return options;
    };
    const validated = (options) => {
        const { skipFirstLine, asObjects, fromLine, toLine } = options;
        const why = asObjects && skipFirstLine ? "the 'header' option cannot be enabled when 'skipFirstLine' is true"
            : asObjects && fromLine > 0 ? "the 'header' option cannot be enabled when 'fromLine' is set to a value greater than 0"
            : fromLine < 0 ? `the 'fromLine' option must be greater than or equal to 0; got ${fromLine}`
            : toLine < 0 ? `the 'toLine' option must be greater than or equal to 0; got ${toLine}` : undefined;
        if (why !== undefined) { throw new Error(`failed to create a new parser; reason: ${why}`); }
        return options;
    };
    const fileOf = (value) => {
        const file = files.held(value);
        if (file === undefined) { throw new Error('first argument expected to be a fs.File instance'); }
        return file;
    };

    // The records of a file that its options ask for.
    class Reader {
        #records;
        #options;
        #line = 0;
        #names;

        constructor(file, options) {
            this.#options = validated(options);
            this.#records = records(file, options.delimiter);
            const { asObjects, skipFirstLine, fromLine = 0 } = options;
            if (asObjects) { this.#names = this.#skip('failed to read the first line'); }
            if (skipFirstLine && fromLine === 0) { this.#skip('failed to skip the first line'); }
            while (this.#line < fromLine) { this.#skip(`failed to skip lines until line ${fromLine}`); }
        }

        #skip(what) {
            const record = next(this.#records);
            if (record === undefined) { throw new Error(`failed to create a new parser; reason: ${what}; reason: EOF`); }
            this.#line += 1;
            return record;
        }

        read() {
            if (this.#options.toLine > 0 && this.#line > this.#options.toLine) { return undefined; }
            const record = next(this.#records);
            this.#line += 1;
            return record === undefined || this.#names === undefined
                ? record
                : Object.fromEntries(record.map((value, index) => [this.#names[index], value]));
        }
    }

    class Parser {
        #reader;

        constructor(file, given) {
            if (!isInit()) { throw new Error('csv Parser constructor must be called in the init context'); }
            if (file === undefined || file === null) { throw new Error('csv Parser constructor takes at least one non-nil source argument'); }
            this.#reader = new Reader(fileOf(file), optionsOf(given));
        }

        async next() {
            const value = this.#reader.read();
            return value === undefined ? { done: true, value: [] } : { done: false, value };
        }
    }

    return {
        Parser,
        parse: (file, given) => {
            const options = optionsOf(given);
            const reader = new Reader(fileOf(file), options);
            const name = `csv.parse.${JSON.stringify([file.path, options])}`;
            return new Promise((resolve) => resolve(new SharedArray(name, () => {
                const rows = [];
                for (let row = reader.read(); row !== undefined; row = reader.read()) { rows.push(row); }
                return rows;
            })));
        },
    };
}
