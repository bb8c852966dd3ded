// k6/experimental/fs and k6/experimental/csv
import { open, SeekMode } from 'k6/experimental/fs';
import csv from 'k6/experimental/csv';

export const options = { scenarios: { one: { executor: 'per-vu-iterations', vus: 2, iterations: 2 } } };

const tried = async (name, f) => {
  try {
    const value = await f();
    console.log(name, value === undefined ? 'undefined' : JSON.stringify(value));
  } catch (e) {
    console.log(name, 'threw', e.name, e.message);
  }
};

const file = await open('./files/people.csv');
const rows = await csv.parse(await open('./files/people.csv'), { skipFirstLine: true });
const objects = await csv.parse(await open('./files/people.csv'), { asObjects: true });
const some = await csv.parse(await open('./files/people.csv'), { fromLine: 2, toLine: 3 });
const semicolons = await csv.parse(await open('./files/semicolons.csv'), { delimiter: ';' });
const parser = new csv.Parser(await open('./files/people.csv'));
const named = new csv.Parser(await open('./files/people.csv'), { asObjects: true });
const broken = new csv.Parser(await open('./files/broken.csv'));

export default async function () {
  if (__ITER === 0) {
    await tried('parsed', async () => [rows.length, rows[0], rows[rows.length - 1]]);
    await tried('objects', async () => [objects.length, Object.entries(objects[1]).sort()]);
    await tried('some', async () => [...some]);
    await tried('semicolons', async () => [...semicolons]);
    await tried('next', () => parser.next());
    await tried('next object', async () => { const { done, value } = await named.next(); return [done, Object.entries(value).sort()]; });
    for (let count = 0; count < 4; count += 1) {
      await tried('broken', () => broken.next().catch(() => 'rejected'));
    }
    await tried('stat', async () => { const { name, size } = await file.stat(); return [name, size]; });
    const bytes = new Uint8Array(7);
    await tried('read', async () => [await file.read(bytes), String.fromCharCode(...bytes)]);
    await tried('read on', async () => [await file.read(bytes), String.fromCharCode(...bytes)]);
    await tried('seek', () => file.seek(-4, SeekMode.End));
    await tried('read at the end', async () => [await file.read(bytes), bytes[0]]);
    await tried('read beyond the end', () => file.read(bytes));
    await tried('seek from there', () => file.seek(-6, SeekMode.Current));
    await tried('seek to a place', () => file.seek(2, SeekMode.Start));
    await tried('seek before', () => file.seek(-1, SeekMode.Start));
    await tried('seek behind', () => file.seek(1, SeekMode.End));
    await tried('seek far', () => file.seek(1e6, SeekMode.Start));
    await tried('seek back', () => file.seek(-100, SeekMode.Current));
    await tried('seek nowhere', () => file.seek());
    await tried('seek by text', () => file.seek('1', 0));
    await tried('seek by what', () => file.seek(1, 7));
    await tried('read into nothing', () => file.read());
    await tried('read into text', () => file.read('text'));
    await tried('open', () => open('./files/people.csv'));
  } else if (__VU === 1) {
    await tried('the next one', () => parser.next());
    let count = 0;
    for (;;) {
      const { done } = await named.next();
      if (done) { break; }
      count += 1;
    }
    console.log('further ones', count);
    await tried('the end', () => named.next());
  }
}
