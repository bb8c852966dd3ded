// Implements https://jslib.k6.io/papaparse: CSV texts are parsed and written.

const DELIMITERS = [',', '\t', '|', ';', '\x1e', '\x1f'];
const NUMBER = /^\s*-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i;
const PARSED = ['delimiter', 'newline', 'quoteChar', 'escapeChar', 'header', 'transformHeader', 'dynamicTyping', 'preview',
  'comments', 'skipEmptyLines', 'transform', 'fastMode', 'step', 'complete', 'delimitersToGuess'];
const UNPARSED = ['quotes', 'quoteChar', 'escapeChar', 'delimiter', 'header', 'newline', 'skipEmptyLines', 'columns'];

function checked(config, known) {
  for (const name of Object.keys(config)) {
    if (!known.includes(name)) {
      throw new Error(`papaparse: the option "${name}" is not supported`);
    }
  }
  return config;
}

// The first line end outside of quotes.
function newlineOf(text, quote) {
  const parts = text.slice(0, 1 << 20).split(quote);
  const found = /\r\n|\n|\r/.exec(parts.filter((_, at) => at % 2 === 0 || at === parts.length - 1).join(''));
  return found ? found[0] : '\n';
}

// The delimiter with which the first lines have the most, and equally many, fields.
function guessedDelimiter(text, options) {
  let best = { delimiter: ',', fields: 1.99, delta: Infinity };
  for (const delimiter of options.delimitersToGuess || DELIMITERS) {
    const { rows } = split(text, { ...options, quote: '"', escape: '"', delimiter, limit: 10 });
    const counts = rows.filter((row) => !isSkipped(row, options.skip)).map((row) => row.length);
    if (counts.length === 0) {
      continue;
    }
    const delta = counts.slice(1).reduce((sum, count, at) => sum + Math.abs(count - counts[at]), 0);
    const fields = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    if (delta <= best.delta && fields > best.fields) {
      best = { delimiter, fields, delta };
    }
  }
  return best.delimiter;
}

// The fields of each line, as texts.
function split(text, { delimiter, newline, quote, escape, comments, limit }) {
  const [rows, errors] = [[], []];
  const startsWith = (what, at) => text.startsWith(what, at);
  const isEnd = (at) => startsWith(delimiter, at) || startsWith(newline, at);
  let at = 0;
  const hasEnough = () => Boolean(limit) && rows.length >= limit;
  while (at < text.length && !hasEnough()) {
    if (comments && startsWith(comments, at)) {
      const end = text.indexOf(newline, at);
      endLine(end < 0 ? text.length : end);
      continue;
    }
    const row = [];
    for (;;) {
      const field = startsWith(quote, at) ? quoted(at) : plain(at);
      row.push(field.text);
      at = field.end;
      if (!startsWith(delimiter, at)) {
        break;
      }
      at += delimiter.length;
    }
    rows.push(row);
    endLine(at);
  }
  return { rows, errors };

  // A line end at the end of the text begins one more line, which is empty.
  function endLine(end) {
    at = end + newline.length;
    if (startsWith(newline, end) && at === text.length && !hasEnough()) {
      rows.push(['']);
    }
  }

  function plain(begin) {
    const ends = [text.indexOf(delimiter, begin), text.indexOf(newline, begin)].filter((end) => end >= 0);
    const end = Math.min(text.length, ...ends);
    return { text: text.slice(begin, end), end };
  }

  function quoted(begin) {
    let inside = '';
    let from = begin + 1;
    for (;;) {
      const end = text.indexOf(quote, from);
      if (end < 0) {
        errors.push({ type: 'Quotes', code: 'MissingQuotes', message: 'The field has no closing quote', row: rows.length, index: begin });
        return { text: text.slice(begin + 1), end: text.length };
      }
      if (escape === quote && text[end + 1] === quote) {
        inside += text.slice(from, end + 1);
        from = end + 2;
        continue;
      }
      if (escape !== quote && text[end - 1] === escape) {
        inside += text.slice(from, end - 1) + quote;
        from = end + 1;
        continue;
      }
      let after = end + 1;
      while (!isEnd(after) && /^\s$/.test(text.charAt(after))) {
        after++;
      }
      if (isEnd(after) || end + 1 === text.length) {
        return { text: inside + text.slice(from, end), end: after };
      }
      errors.push({ type: 'Quotes', code: 'InvalidQuotes', message: 'A quote is inside of the field', row: rows.length, index: begin });
      inside += text.slice(from, end + 1);
      from = end + 1;
    }
  }
}

function typed(value) {
  if (value === 'true' || value === 'TRUE') {
    return true;
  }
  if (value === 'false' || value === 'FALSE') {
    return false;
  }
  if (NUMBER.test(value) && Math.abs(Number(value)) < Number.MAX_SAFE_INTEGER + 1) {
    return Number(value);
  }
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?([-+]\d\d:\d\d|Z)$/.test(value)) {
    return new Date(value);
  }
  return value === '' ? null : value;
}

// Whether the values of a column are typed: for all columns, or by their names.
function isTyped(dynamicTyping, column) {
  if (typeof dynamicTyping === 'function') {
    return dynamicTyping(column);
  }
  if (typeof dynamicTyping === 'object' && dynamicTyping !== null) {
    return Boolean(column in dynamicTyping ? dynamicTyping[column] : dynamicTyping.__default);
  }
  return Boolean(dynamicTyping);
}

// Whether `skipEmptyLines` leaves a line out.
function isSkipped(row, skip) {
  return skip === 'greedy' ? row.join('').trim() === '' : Boolean(skip) && row.length === 1 && row[0] === '';
}

export function parse(input, given = {}) {
  const config = checked(given, PARSED);
  if (typeof input !== 'string') {
    throw new TypeError('papaparse: parse() needs a text');
  }
  const text = input.replace(/^\ufeff/, '');
  const quote = config.quoteChar === undefined || config.quoteChar === null ? '"' : config.quoteChar;
  const options = {
    quote,
    escape: config.escapeChar === undefined ? quote : config.escapeChar,
    newline: config.newline || newlineOf(text, quote),
    comments: config.comments === true ? '#' : config.comments,
    delimitersToGuess: config.delimitersToGuess,
    skip: config.skipEmptyLines,
  };
  options.delimiter = typeof config.delimiter === 'function' ? config.delimiter(text) : config.delimiter;
  options.delimiter = options.delimiter || guessedDelimiter(text, options);
  const limit = config.preview > 0 ? config.preview + (config.header ? 1 : 0) : 0;
  const { rows: all, errors } = split(text, { ...options, limit });
  const rows = all.filter((row) => !isSkipped(row, config.skipEmptyLines));
  const meta = {
    delimiter: options.delimiter, linebreak: options.newline, aborted: false, truncated: limit > 0 && all.length >= limit,
    cursor: text.length,
  };
  const value = (text, column) => {
    const transformed = config.transform ? config.transform(text, column) : text;
    return isTyped(config.dynamicTyping, column) ? typed(transformed) : transformed;
  };
  let data = rows;
  if (config.header) {
    meta.fields = (rows[0] || []).map((name, at) => (config.transformHeader ? config.transformHeader(name, at) : name));
    data = rows.slice(1).map((row, number) => named(row, { fields: meta.fields, value, errors, number }));
  } else {
    data = rows.map((row) => row.map((text, at) => value(text, at)));
  }
  return delivered({ data, errors, meta }, config);
}

// A row as an object; fields without a name are in `__parsed_extra`.
function named(row, { fields, value, errors, number }) {
  const object = {};
  row.forEach((text, at) => {
    if (at < fields.length) {
      object[fields[at]] = value(text, fields[at]);
    } else {
      (object.__parsed_extra ||= []).push(value(text, '__parsed_extra'));
    }
  });
  if (row.length !== fields.length) {
    const few = row.length < fields.length;
    errors.push({
      type: 'FieldMismatch',
      code: few ? 'TooFewFields' : 'TooManyFields',
      message: `${row.length} fields where the header has ${fields.length}`,
      row: number,
    });
  }
  return object;
}

// Give a result to `step`, row by row, and `complete`, where there are such functions.
function delivered(result, { step, complete }) {
  if (!step) {
    complete?.(result);
    return result;
  }
  const { data, meta } = result;
  let aborted = false;
  for (const row of data) {
    step({ data: row, errors: [], meta }, { abort: () => { aborted = true; } });
    if (aborted) {
      break;
    }
  }
  const end = { data: [], errors: result.errors, meta: { ...meta, aborted } };
  complete?.(end);
  return end;
}

export function unparse(input, given = {}) {
  const config = checked(given, UNPARSED);
  const { delimiter = ',', newline = '\r\n', quoteChar: quote = '"', header = true } = config;
  const escape = config.escapeChar === undefined ? quote : config.escapeChar;
  const source = typeof input === 'string' ? JSON.parse(input) : input;
  let [fields, rows] = Array.isArray(source) ? [config.columns, source] : [source.fields, source.data];
  if (!fields && rows.length > 0 && !Array.isArray(rows[0])) {
    fields = Object.keys(rows[0]);
  }
  const isSpecial = (text) => text === '' ? false
    : text.includes(delimiter) || text.includes(quote) || /[\r\n\ufeff]|^ | $/.test(text);
  const isQuoted = (value, at) => {
    const { quotes = false } = config;
    return typeof quotes === 'function' ? quotes(value, at) : Array.isArray(quotes) ? quotes[at] : quotes;
  };
  const cell = (value, at) => {
    if (value === undefined || value === null) {
      return '';
    }
    const text = value instanceof Date ? value.toISOString() : String(value);
    const escaped = text.replaceAll(quote, `${escape}${quote}`);
    return isQuoted(value, at) || isSpecial(text) ? `${quote}${escaped}${quote}` : text;
  };
  const line = (values) => values.map(cell).join(delimiter);
  const values = rows.map((row) => (Array.isArray(row) ? row : fields.map((field) => row[field])));
  const isKept = (row) => !isSkipped(row.map((value) => String(value ?? '')), config.skipEmptyLines);
  // Nothing ends the last line, also where that one is left out.
  const end = (at) => (at < values.length - 1 ? newline : '');
  const lines = values.map((row, at) => (isKept(row) ? line(row) + end(at) : ''));
  return (fields && header ? line(fields) + end(-1) : '') + lines.join('');
}

export default { parse, unparse };
