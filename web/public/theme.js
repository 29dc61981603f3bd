// Runs before the first paint, so that a stored theme does not flash.
try {
  const theme = localStorage.getItem('arena.theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch {
  // No storage: the system's preference holds.
}
