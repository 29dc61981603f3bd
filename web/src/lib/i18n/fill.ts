export type Params = Readonly<Record<string, string | number>>;

/** A text with its {blanks} filled in. */
export function fill(text: string, params: Params): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in params ? String(params[name]) : whole));
}
