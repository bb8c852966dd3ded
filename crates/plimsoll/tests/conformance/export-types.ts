import { User, Names, newUser } from './files/users.ts';
import { newUser as again, User as Same } from './files/all-users.ts';

const names: Names = ['anna'];

export default () => {
  const user: User = newUser(names[0]);
  const same: Same = again('berta');
  console.log(user.name, same.name);
};
