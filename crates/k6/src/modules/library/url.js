// Implements https://jslib.k6.io/url: URL and URLSearchParams.

const DEFAULT_PORTS = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
const PARTS = /^([a-z][a-z0-9+.-]*:)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/is;
const AUTHORITY = /^(?:([^:@]*)(?::(.*))?@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?$/s;
const NOT_IN_HOSTS = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const NOT_IN_NAMES = /[\0-\x20#%/:<>?@[\\\]^|\x7f-\u{10ffff}]/u;
const ADDRESS = /^\[[0-9a-f:.]+\]$/i;
// A character as bytes of UTF-8, each encoded; or one byte of an incomplete one.
const ENCODED = /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}|%[89a-f][0-9a-f]/gi;

const isSpecial = (protocol) => protocol in DEFAULT_PORTS;

// Percent-encode what `allowed` does not match; what is encoded already stays.
const encode = (text, allowed) => Array.from(text, (character) =>
  allowed.test(character) ? character : encodeURIComponent(character.toWellFormed()).replace(/^['()*!~]$/, hexOf)).join('');
const hexOf = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
const encodePath = (text) => encode(text, /[^\0-\x20"#<>?`{}\x7f-\u{10ffff}^]/u);
const encodeQuery = (text) => encode(text, /[^\0-\x20"#<>'\x7f-\u{10ffff}]/u);
const encodeFragment = (text) => encode(text, /[^\0-\x20"<>`\x7f-\u{10ffff}]/u);
const encodeOpaque = (text) => encode(text, /[\x20-\x7e]/);
const encodeUser = (text) => encode(text, /[^\0-\x20"#<>?`{}/:;=@[\\\]^|\x7f-\u{10ffff}]/u);

// Without `.` and `..`.
function normalPath(path) {
  const normal = [];
  const parts = path.split('/').slice(1);
  parts.forEach((part, at) => {
    const isLast = at === parts.length - 1;
    const plain = part.replace(/%2e/gi, '.');
    if (plain === '..') {
      normal.pop();
    }
    if (plain !== '.' && plain !== '..') {
      normal.push(part);
    } else if (isLast) {
      normal.push('');
    }
  });
  return `/${normal.join('/')}`;
}

const decode = (text) => text.replace(ENCODED, (encoded) => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '\ufffd';
  }
});
const decodeForm = (text) => decode(text.replaceAll('+', ' '));
const encodeForm = (text) => encode(text, /[A-Za-z0-9*._-]/).replaceAll('%20', '+');

export class URLSearchParams {
  #pairs = [];
  #changed = () => {};

  constructor(init = '') {
    if (typeof init === 'object' && init !== null) {
      const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
      for (const pair of pairs) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length > 0) {
          throw new TypeError('each parameter is a name and a value');
        }
        this.#pairs.push([String(name), String(value)]);
      }
    } else {
      this.#read(String(init));
    }
  }

  // Parameters that say when they have changed, and a function that reads them again.
  static _of(search, changed) {
    const params = new URLSearchParams(search);
    params.#changed = () => changed(params.toString());
    return [params, (text) => params.#read(text)];
  }

  #read(text) {
    const parts = text.replace(/^\?/, '').split('&').filter((part) => part !== '');
    this.#pairs = parts.map((part) => {
      const at = part.indexOf('=');
      return at < 0 ? [decodeForm(part), ''] : [decodeForm(part.slice(0, at)), decodeForm(part.slice(at + 1))];
    });
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#pairs.push([String(name), String(value)]);
    this.#changed();
  }

  delete(name, value) {
    this.#pairs = this.#pairs.filter(([known, has]) =>
      known !== String(name) || (value !== undefined && has !== String(value)));
    this.#changed();
  }

  get(name) {
    const pair = this.#pairs.find(([known]) => known === String(name));
    return pair ? pair[1] : null;
  }

  getAll(name) {
    return this.#pairs.filter(([known]) => known === String(name)).map(([, value]) => value);
  }

  has(name, value) {
    return this.#pairs.some(([known, has]) =>
      known === String(name) && (value === undefined || has === String(value)));
  }

  set(name, value) {
    const first = this.#pairs.find(([known]) => known === String(name));
    if (!first) {
      this.append(name, value);
      return;
    }
    first[1] = String(value);
    this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== String(name));
    this.#changed();
  }

  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }

  forEach(callback, self) {
    this.#pairs.forEach(([name, value]) => callback.call(self, value, name, this));
  }

  *entries() {
    for (const [name, value] of this.#pairs) {
      yield [name, value];
    }
  }

  *keys() {
    for (const [name] of this.#pairs) {
      yield name;
    }
  }

  *values() {
    for (const [, value] of this.#pairs) {
      yield value;
    }
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    return this.#pairs.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join('&');
  }
}

export class URL {
  #parts;
  #params;
  #readParams;

  constructor(url, base) {
    this.#parts = parse(String(url), base === undefined ? undefined : new URL(base).#parts);
    [this.#params, this.#readParams] = URLSearchParams._of(this.#parts.search, (query) => {
      this.#parts.search = query === '' ? '' : `?${query}`;
    });
  }

  static canParse(url, base) {
    try {
      return Boolean(new URL(url, base));
    } catch {
      return false;
    }
  }

  get href() {
    const { protocol, username, password, host, port, pathname, search, hash } = this.#parts;
    const user = username || password ? `${username}${password && `:${password}`}@` : '';
    const authority = host === null ? '' : `//${user}${host}${port && `:${port}`}`;
    return `${protocol}${authority}${pathname}${search}${hash}`;
  }

  set href(url) {
    this.#parts = parse(String(url));
    this.#readParams(this.#parts.search);
  }

  get origin() {
    const { protocol } = this.#parts;
    return isSpecial(protocol) && protocol !== 'file:' ? `${protocol}//${this.host}` : 'null';
  }

  get protocol() {
    return this.#parts.protocol;
  }

  set protocol(protocol) {
    const given = /^([a-z][a-z0-9+.-]*):?/i.exec(protocol);
    if (given && isSpecial(`${given[1].toLowerCase()}:`) === isSpecial(this.#parts.protocol)) {
      this.#parts.protocol = `${given[1].toLowerCase()}:`;
      this.port = this.#parts.port;
    }
  }

  get username() {
    return this.#parts.username;
  }

  set username(username) {
    if (this.#parts.host) {
      this.#parts.username = encodeUser(String(username));
    }
  }

  get password() {
    return this.#parts.password;
  }

  set password(password) {
    if (this.#parts.host) {
      this.#parts.password = encodeUser(String(password));
    }
  }

  get host() {
    const { host, port } = this.#parts;
    return `${host || ''}${port && `:${port}`}`;
  }

  set host(host) {
    const parts = authorityOf(host, this.#parts);
    if (parts) {
      this.#parts.host = parts.host;
      this.#parts.port = /:\d+$/.test(host) ? parts.port : this.#parts.port;
    }
  }

  get hostname() {
    return this.#parts.host || '';
  }

  set hostname(hostname) {
    const parts = authorityOf(hostname, this.#parts);
    if (parts) {
      this.#parts.host = parts.host;
    }
  }

  get port() {
    return this.#parts.port;
  }

  set port(port) {
    const number = String(port) === '' ? '' : String(parseInt(port, 10));
    if (number === '' || Number(number) <= 65535) {
      this.#parts.port = number === DEFAULT_PORTS[this.#parts.protocol] ? '' : number;
    }
  }

  get pathname() {
    return this.#parts.pathname;
  }

  set pathname(pathname) {
    this.#parts.pathname = normalPath(encodePath(String(pathname).replace(/^\/?/, '/')));
  }

  get search() {
    return this.#parts.search === '?' ? '' : this.#parts.search;
  }

  set search(search) {
    const query = String(search).replace(/^\?/, '');
    this.#parts.search = search === '' ? '' : `?${encodeQuery(query)}`;
    this.#readParams(query);
  }

  get searchParams() {
    return this.#params;
  }

  get hash() {
    return this.#parts.hash === '#' ? '' : this.#parts.hash;
  }

  set hash(hash) {
    const fragment = String(hash).replace(/^#/, '');
    this.#parts.hash = hash === '' ? '' : `#${encodeFragment(fragment)}`;
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }
}

// The parts of a URL; of a relative one, beside `base`.
function parse(url, base) {
  const text = url.replace(/^[\0-\x20]+|[\0-\x20]+$|[\t\n\r]/g, '');
  const invalid = () => new TypeError(`Invalid URL: ${url}`);
  const named = /^([a-z][a-z0-9+.-]*:)/i.exec(text);
  const special = isSpecial(named ? named[1].toLowerCase() : base ? base.protocol : '');
  const slashed = special ? text.replace(/^[^?#]*/, (begin) => begin.replaceAll('\\', '/')) : text;
  const [, scheme, authority, path, search = '', hash = ''] = PARTS.exec(slashed);
  if (!scheme && !base) {
    throw invalid();
  }
  const protocol = scheme ? scheme.toLowerCase() : base.protocol;
  const ends = { search: encodeQuery(search.slice(1)), hash: encodeFragment(hash.slice(1)) };
  ends.search = search && `?${ends.search}`;
  ends.hash = hash && `#${ends.hash}`;
  if (scheme && authority === undefined && !special) {
    return { protocol, username: '', password: '', host: null, port: '', pathname: encodeOpaque(path), ...ends };
  }
  if (authority === undefined && base && (!scheme || protocol === base.protocol)) {
    if (base.host === null && path + search !== '') {
      throw invalid();
    }
    return { ...base, ...besideBase(path, search, base), ...ends, search: path || search ? ends.search : base.search };
  }
  const [begin, rest] = authority || !special ? [authority || '', path] : splitAuthority(path, protocol);
  const parts = AUTHORITY.exec(begin.replace(/@(?=.*@)/g, '%40'));
  if (!parts) {
    throw invalid();
  }
  const [, username = '', password = '', name, port = ''] = parts;
  const host = ADDRESS.test(name) ? name.toLowerCase() : special ? nameOf(name) : opaqueOf(name);
  if (host === undefined || (special && host === '' && protocol !== 'file:') || Number(port) > 65535) {
    throw invalid();
  }
  return {
    protocol,
    username: encodeUser(username),
    password: encodeUser(password),
    host,
    port: port === '' || port === DEFAULT_PORTS[protocol] ? '' : String(Number(port)),
    pathname: special || rest ? normalPath(encodePath(rest || '/')) : '',
    ...ends,
  };
}

// Of a special URL, slashes before the host may be missing or be more than two.
function splitAuthority(path, protocol) {
  if (protocol === 'file:') {
    return ['', path];
  }
  const [, begin, rest] = /^\/*([^/]*)(.*)$/s.exec(path);
  return [begin, rest];
}

// The name of a host, in ASCII; others are not supported.
function nameOf(given) {
  const name = decode(given).toLowerCase();
  return NOT_IN_NAMES.test(name) ? undefined : name;
}

function opaqueOf(name) {
  return NOT_IN_HOSTS.test(name) ? undefined : encodeOpaque(name);
}

// Host and port; none where a URL cannot have them.
function authorityOf(host, { protocol, host: current }) {
  if (current === null || !/^[^/?#@]/.test(host)) {
    return undefined;
  }
  try {
    return parse(`${protocol}//${host}`);
  } catch {
    return undefined;
  }
}

function besideBase(path, search, base) {
  if (path === '') {
    return { pathname: base.pathname };
  }
  if (path.startsWith('/')) {
    return { pathname: normalPath(encodePath(path)) };
  }
  return { pathname: normalPath(base.pathname.replace(/[^/]*$/, '') + encodePath(path)) };
}
