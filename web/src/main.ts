import { mount } from 'svelte';
import App from './App.svelte';
import './tokens.css';
import './base.css';
import './font.css';
import { words } from '$lib/i18n';
import { marks } from '$lib/marks.svelte';

const target = document.getElementById('app');
if (!target) throw new Error('the page has no #app');
marks.begin();
await words.begin();
mount(App, { target });
