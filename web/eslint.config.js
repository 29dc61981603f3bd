import js from '@eslint/js';
import globals from 'globals';
import svelte from 'eslint-plugin-svelte';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

export default ts.config(
  { ignores: ['dist', 'public', 'src/lib/api/schema.d.ts'] },
  js.configs.recommended,
  ts.configs.recommended,
  svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { extraFileExtensions: ['.svelte'], parser: ts.parser, svelteConfig } },
  },
  {
    rules: {
      'no-undef': 'off', // tsc and svelte-check report names that do not exist,
      'svelte/no-unused-svelte-ignore': 'off', // and svelte-check unused comments; this rule takes their reasons for codes
      'svelte/no-useless-mustaches': 'off', // prettier writes them to keep spaces
      'svelte/prefer-svelte-reactivity': 'off', // most maps and URLs are values of one call
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
);
