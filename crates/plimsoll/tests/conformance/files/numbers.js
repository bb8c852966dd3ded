export const double = (n) => n * 2;
export default 42;
