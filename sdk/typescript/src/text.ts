/** Cuts text to at most `limit` bytes of UTF-8, between characters. */
export function clip(text: string, limit: number): string {
  const bytes = Buffer.from(String(text), 'utf8'); // half a surrogate pair becomes U+FFFD: the arena reads strictly
  let end = Math.min(bytes.length, limit);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
