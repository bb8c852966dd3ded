// TypeScript: types, interfaces, enums, generics
import { check } from 'k6';
import http, { RefinedResponse } from 'k6/http';

interface Item {
  id: number;
  name?: string;
}

enum Colour {
  Red = 'red',
  Blue = 'blue',
}

export const options = { iterations: 1 };

function first<T>(list: T[]): T | undefined {
  return list[0];
}

export default function (): void {
  const item: Item = { id: 7 };
  const response: RefinedResponse<'text'> = http.get(`${__ENV.BASE}/a`);
  check(response, { 'it came': (r) => r.status === 200 });
  console.log(item.id as number, item.name ?? 'none', first<string>(['x'])!, Colour.Blue);
}
