/** The titles of leagues by their slugs; a league that is not known goes by its slug. */
export function titlesOf(leagues: readonly { readonly slug: string; readonly title: string }[] | undefined): (slug: string) => string {
  const titles = new Map(leagues?.map((l) => [l.slug, l.title]));
  return (slug) => titles.get(slug) ?? slug;
}
