import { tick } from 'svelte';
import { ApiError } from '$lib/api/client';
import { place, type Placed } from './problem';
import { t } from '../i18n';
import '../i18n/console.en';

const CLEAN: Placed = { fields: {}, rest: [] };

/** A form or a button that sends something: busy, and what was wrong with it. */
export class Form {
  busy = $state(false);
  fields = $state.raw(CLEAN.fields);
  rest = $state.raw(CLEAN.rest);
  readonly #known: readonly string[];

  constructor(...known: string[]) {
    this.#known = known;
  }

  /** Runs what sends; true when it went well. Then focus goes to the first wrong field. */
  async send(what: () => Promise<unknown>, form?: HTMLElement): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.#show(CLEAN);
    try {
      await what();
      return true;
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      const text = plain(cause);
      this.#show(text ? { fields: {}, rest: [text] } : place(cause, this.#known));
      await tick();
      form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
      return false;
    } finally {
      this.busy = false;
    }
  }

  #show({ fields, rest }: Placed): void {
    this.fields = fields;
    this.rest = rest;
  }
}

/** Failures that are about no field, in the reader's words. */
function plain(error: ApiError): string | undefined {
  if (error.status === 0) return t('console.problem.network');
  if (error.code === 'not_owner' || error.code === 'not_admin') return t(`console.problem.${error.code}`);
  if (error.status === 401) return t('console.problem.token');
  if (error.status === 429) return t('console.problem.often', { text: error.message });
  if (error.status >= 500) return t('console.problem.server', { text: error.message });
  return undefined;
}
