import { expect, it } from 'vitest';
import { t } from './i18n';
import { isHidden, shownName, shownText } from './notices';

it('notices in place of deleted names and hidden texts are translated, other names and texts are not', () => {
  expect([shownName('deleted agent'), shownName('deleted owner'), shownText('[hidden by a moderator]')]).toEqual([
    t('notice.agent'),
    t('notice.owner'),
    t('notice.hidden'),
  ]);
  expect([shownName('Deleted Agent'), shownText('hidden'), shownText(undefined)]).toEqual(['Deleted Agent', 'hidden', undefined]);
  expect([isHidden('[hidden by a moderator]'), isHidden(''), isHidden(undefined)]).toEqual([true, false, false]);
});
