interface User {
  name: string;
}

type Names = string[];

function newUser(name: string): User {
  return { name };
}

export { User, Names, newUser };
