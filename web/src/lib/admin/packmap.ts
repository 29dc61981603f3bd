/** The parts of a task that a column can be chosen for, and how they are written in the API's `map`. */
export const ANSWERS = ['answer', 'answer_index', 'answer_number'] as const;
export type Answer = (typeof ANSWERS)[number];

export interface PackMap {
  description: string;
  /** Columns, several when each holds one option. */
  options: readonly string[];
  answer: string;
  kind: Answer;
  topic: string;
  /** The parts that the form has no field for, as written. */
  others: readonly string[];
}

export const EMPTY_MAP: PackMap = { description: '', options: [], answer: '', kind: 'answer', topic: '', others: [] };

/** Returns the columns that a part can be mapped to: those with a name, each once. The server takes a column by its name. */
export const columnsOf = (names: readonly string[]): string[] => [...new Set(names)].filter(Boolean);

/** Reads the mapping that a check reports. */
export function readMap(text: string): PackMap {
  const parts = new Map(text.split(',').map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)] as const));
  const kind = ANSWERS.find((a) => parts.has(a)) ?? 'answer';
  return {
    description: parts.get('description') ?? '',
    options: parts.get('options')?.split('+') ?? [],
    answer: parts.get(kind) ?? '',
    kind,
    topic: parts.get('topic') ?? '',
    others: [...parts]
      .filter(([part]) => part && !['description', 'options', 'topic', ...ANSWERS].includes(part))
      .map(([part, column]) => `${part}=${column}`),
  };
}

/** Writes a mapping; empty while the question or the answer has no column. */
export function writeMap(m: PackMap): string {
  if (!m.description || !m.answer) return '';
  const parts = [`description=${m.description}`];
  if (m.options.length) parts.push(`options=${m.options.join('+')}`);
  parts.push(`${m.kind}=${m.answer}`);
  if (m.topic) parts.push(`topic=${m.topic}`);
  return [...parts, ...m.others].join(',');
}
