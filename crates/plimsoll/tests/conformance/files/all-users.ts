export { newUser } from './users.ts';
export type { User } from './users.ts';
