export const options = { scenarios: { nothing: { vus: 1 } } };
