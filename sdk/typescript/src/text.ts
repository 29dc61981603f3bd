/** Cuts text to at most `limit` bytes of UTF-8, between characters. */
export function clip(text: string, limit: number): string {
  const bytes = Buffer.from(String(text), 'utf8'); // half a surrogate pair becomes U+FFFD: the arena reads strictly
  let end = Math.min(bytes.length, limit);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/**
 * Returns the text of a member of a JSON object exactly as it was written, which JSON.parse does not keep. The object
 * must be valid JSON and have the member; of a repeated member it is the last, as with JSON.parse.
 */
export function memberText(object: string, name: string): string {
  const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;
  let depth = 0;
  let key: string | null = null; // of the member whose value is being read
  let from = 0;
  let end = 0; // of the token before
  let found = '';
  for (let m = tokens.exec(object), last = ''; m !== null; m = tokens.exec(object)) {
    const token = m[0];
    if (depth === 1 && (token === ',' || token === '}')) {
      if (key === name) found = object.slice(from, end);
      key = null;
    } else if (depth === 1 && token === ':') {
      key = JSON.parse(last) as string;
      from = tokens.lastIndex;
    }
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    last = token;
    end = tokens.lastIndex;
  }
  return found.trim();
}
