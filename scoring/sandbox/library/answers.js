// The arena calls this with what the answer defined and the arguments.
return (solve, args) => {
  if (typeof solve !== 'function') throw new TypeError('solve is not a function');
  const result = written(solve(...read(args)), undefined, '', true);
  if (result === undefined) throw new TypeError('solve returned nothing');
  return result;
};
