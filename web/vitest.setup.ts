// Without the compiler of Svelte, state is a plain value.
const plain = (value: unknown) => value;
Object.assign(globalThis, { $state: Object.assign(plain, { raw: plain }), document: { documentElement: {} } });
