/** Returns the items without those whose key an earlier one has: parts of a list overlap when it has changed between two reads. */
export function unique<T>(items: readonly T[], key: (item: T) => string): T[] {
  const seen = new Set<string>();
  return items.filter((item) => !seen.has(key(item)) && seen.add(key(item)));
}
