/** The titles of leagues by their slugs, none before the leagues are read; a league that is not among them goes by its slug. */
export function titlesOf(leagues: readonly { readonly slug: string; readonly title: string }[] | undefined): (slug: string) => string {
  const titles = leagues && new Map(leagues.map((l) => [l.slug, l.title]));
  return (slug) => (titles ? (titles.get(slug) ?? slug) : '');
}
