import { expect, it, vi } from 'vitest';
import { isHidden, shownName, shownText } from './notices';

vi.mock('./i18n/index.svelte', () => ({ t: (key: string) => key })); // needs the compiler

it('notices in place of deleted names and hidden texts are translated, other names and texts are not', () => {
  expect([shownName('deleted agent'), shownName('deleted owner'), shownText('[hidden by a moderator]')]).toEqual([
    'notice.agent',
    'notice.owner',
    'notice.hidden',
  ]);
  expect([shownName('Deleted Agent'), shownText('hidden'), shownText(undefined)]).toEqual(['Deleted Agent', 'hidden', undefined]);
  expect([isHidden('[hidden by a moderator]'), isHidden(''), isHidden(undefined)]).toEqual([true, false, false]);
});
