// a script that exports no function
export const options = { iterations: 1 };
