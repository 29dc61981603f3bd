import type { ApiError } from '$lib/api/client';

// Problems (RFC 9457) at the fields of a form.

export interface Placed {
  /** What is wrong, by the name of the field. */
  readonly fields: Readonly<Record<string, string>>;
  /** What belongs to no field of this form. */
  readonly rest: readonly string[];
}

// Codes that are about one field even when the problem names none.
const FIELDS_OF: Readonly<Record<string, readonly string[]>> = {
  name_taken: ['name', 'slug'],
  endpoint_invalid: ['endpoint'],
  endpoint_blocked: ['endpoint'],
  endpoint_own: ['endpoint'],
};

/** The field of a form that a name is about: itself, or what it is a part of; leagues[2] belongs to leagues, judge.kind to judge. */
function fieldOf(name: string, known: readonly string[]): string | undefined {
  const parts = name.replace(/\[.*?\]/g, '').split('.');
  for (let n = parts.length; n > 0; n--) {
    const field = parts.slice(0, n).join('.');
    if (known.includes(field)) return field;
  }
  return undefined;
}

/** Puts an error at the fields that a form has. */
export function place(error: Pick<ApiError, 'code' | 'message' | 'fields'>, known: readonly string[]): Placed {
  const named = error.fields.length
    ? error.fields
    : [{ field: FIELDS_OF[error.code]?.find((f) => known.includes(f)) ?? '', message: error.message }];
  const fields: Record<string, string> = {};
  const rest: string[] = [];
  for (const { field, message } of named) {
    const base = fieldOf(field, known);
    if (base === undefined) rest.push(field && error.fields.length ? `${field}: ${message}` : message);
    else fields[base] = fields[base] ? `${fields[base]}; ${message}` : message;
  }
  return { fields, rest };
}
