import { words } from './i18n';
import { loaded } from './renew';

/** Loads a part of the app, with its texts in the reader's language. */
export async function part<T>(load: () => Promise<T>): Promise<T> {
  const module = await loaded(load);
  await words.complete();
  return module;
}
