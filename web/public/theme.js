// Runs before the first paint, so that a stored theme does not flash. A reader who
// has the fonts sees them at once; for others they wait until the first view has
// what it needs, which they would slow down.
{
  const root = document.documentElement;
  const stored = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // no storage: the system's preference holds
    }
  };
  const theme = stored('arena.theme');
  if (theme === 'dark' || theme === 'light') root.dataset.theme = theme;
  if (stored('arena.fonts')) root.dataset.fonts = '';
  addEventListener('load', () => {
    root.dataset.fonts = '';
    try {
      localStorage.setItem('arena.fonts', '1');
    } catch {
      // No storage: the fonts wait on the next visit too.
    }
  });
}
