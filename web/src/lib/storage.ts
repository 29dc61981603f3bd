// What the browser keeps for the reader. Where it may keep nothing, a choice lives as long as the page.

export function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // No storage, or a full one.
  }
}
