// console: values of every type
export const options = { iterations: 1 };

export default function () {
  console.log('text', 1, 1.5, -0, 1e21, true, null, undefined, NaN, Infinity);
  console.log({ a: 1, b: [1, { c: null }] }, [1, 'a'], [], {});
  console.log(new Date(0), /re/g, new Error('message'), () => 1, Symbol('s').toString());
  console.log(new Map([[1, 2]]), new Set([1]), new Uint8Array([1, 2]), 10n.toString());
  console.info('info');
  const circle = { a: 1 };
  circle.self = circle;
  console.log(circle, [undefined, null, Symbol('s')], { 'with space': 'a"b' }, Symbol('s'), [new Date(0)], { e: new TypeError('t') });
  console.log(new Uint8Array(0), new Uint8Array([1, 255]).buffer, { f: new Float64Array([1.5]) }, [10n], [-0, NaN, 1e21], /x/);
  console.log(Symbol(), new Date(NaN));
  console.log([[1, [2]], {}, []], { get g() { return 7; } }, Object.create(null), new String('s'));
}
