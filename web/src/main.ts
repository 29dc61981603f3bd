import { mount } from 'svelte';
import App from './App.svelte';
import './tokens.css';
import './base.css';
import './font.css';
import { words } from '$lib/i18n';

const target = document.getElementById('app');
if (!target) throw new Error('the page has no #app');
await words.begin();
mount(App, { target });
