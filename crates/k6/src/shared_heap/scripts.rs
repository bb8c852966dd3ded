//! Scripts and modules of [`super::exercise`]: each does something that may outlive what it belongs to.

pub(super) const SCRIPTS: &[&str] = &[
    "(() => note('plain'))",
    "Promise.resolve().then(() => abort()); Promise.resolve().then(() => note('left')); (() => note('kept'))",
    "for (let i = 0; i < 50; i++) Promise.resolve().then(() => { note(i); wait(); }); note('queued')",
    "Promise.reject(hold()); (async () => { throw hold(); })(); (() => Promise.reject(1))",
    "throw hold()",
    "const all = []; for (;;) all.push(new Array(500).fill('x'.repeat(100)))",
    "let text = 'x'; for (;;) text += text + 'y'",
    "try { for (;;) {} } catch (e) { note('caught') } finally { wait() }",
    "globalThis.o = { held: hold() }; o.o = o; [o].map(() => wait()); (() => note(o.held))",
    "const deep = (n) => (n === 0 ? wait() : deep(n - 1)); deep(30); const down = () => down(); try { down(); } catch (e) { note(e); }",
    "[3, 1, 2, 5, 4].sort((a, b) => { wait(); return a - b; }); 'abcabc'.replace(/b/g, () => { wait(); return 'x'; })",
    "(async () => { for (let i = 0; i < 20; i++) { await null; wait(); } abort(); })(); (function* () { yield wait(); yield abort(); })().next()",
    "globalThis.gen = (function* () { try { yield 1; yield wait(); } finally { note('closed'); wait(); } })(); gen.next(); (() => gen.next())",
    "globalThis.ArrayBuffer = undefined; note(bytes()); note(bytes()); bytes()",
    "Object.defineProperty(globalThis, 'Uint8Array', { configurable: true, get() { for (;;) wait(); } }); bytes()",
    "Object.defineProperty(Array.prototype, 'toString', { configurable: true, get() { abort(); } }); bytes()",
    "import('waits').then(note, note); import('round').then(note, note); (() => import('second'))",
    "try { require('common'); } catch (e) { note(e); } try { require('round'); } catch (e) { note(e); } require('second')",
    "globalThis.p = new Promise((resolve) => { globalThis.go = resolve; }); p.then(() => abort()); p.then(hold); (() => go())",
    "new Proxy({}, { get() { wait(); return abort; }, ownKeys() { abort(); } }).x(); Object.keys(new Proxy({}, {}))",
    "const w = new WeakMap(); const key = {}; w.set(key, hold()); const m = new Map([[key, w]]); for (const [k] of m) { m.delete(k); wait(); }",
    "Promise.resolve({ then(f) { wait(); f(hold()); abort(); } }).finally(() => { throw 1; }); note(new Error('x'.repeat(500)).stack)",
    "Error.prepareStackTrace = (e, s) => { wait(); return s; }; try { null.x; } catch (e) { note(e.stack); }",
    "JSON.stringify({ toJSON() { wait(); abort(); } })",
];

pub(super) const MODULES: &[(&str, &str)] = &[
    ("plain", "\nexport const x = hold(); Promise.resolve().then(() => note(x));"),
    ("waits", "\nexport let done = false; await new Promise(() => {}); done = true;"),
    ("reachable", "\nawait new Promise((resolve) => { globalThis.go = resolve; });"),
    (
        "aborts",
        "\nPromise.resolve().then(() => abort()); Promise.resolve().then(() => note('left')); await null; await null; note(1);",
    ),
    ("round", "\nimport 'second'; import 'plain'; import 'missing';"),
    ("second", "\nimport 'round'; import 'plain'; export const y = 1; note(y);"),
    ("throws", "\nimport { x } from 'plain'; import 'slow'; throw x;"),
    ("slow", "\nawait null; await null; export default 1; for (let i = 0; i < 100; i++) await i;"),
    (
        "common",
        "exports.a = 1; try { require('throws'); } catch (e) { note(e); } Promise.resolve().then(() => require('slow'));",
    ),
    (
        "mixed",
        "\nimport { a } from 'common'; import('waits'); import('throws').catch(note); export { a }; export * from 'plain';",
    ),
    ("fills", "\nimport 'slow'; export const all = []; for (;;) all.push('x'.repeat(1000) + all.length);"),
    ("wrong", "\nimport { nothing } from 'plain';"),
    ("odd", "let = ;"),
];
