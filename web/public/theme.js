// Runs before the first paint, so that a stored theme does not flash. A reader who
// has the fonts sees them at once; for others they wait until the first view has
// what it needs, which they would slow down.
const root = document.documentElement;
let kept;
try {
  kept = localStorage;
} catch {
  // No storage: the system's preference holds.
}
const theme = kept?.getItem('arena.theme');
if (theme === 'dark' || theme === 'light') root.dataset.theme = theme;
if (kept?.getItem('arena.fonts')) root.dataset.fonts = '';
addEventListener('load', () => {
  root.dataset.fonts = '';
  kept?.setItem('arena.fonts', '1');
});
