import { mount } from 'svelte';
import Embed from './Embed.svelte';
import './tokens.css';
import './base.css';
import './font-embed.css';
import { words } from '$lib/i18n';
import { marks } from '$lib/marks.svelte';

// The page of a frame loads its own parts only: it is paid for by the readers
// of another site.
const target = document.getElementById('app');
if (!target) throw new Error('the page has no #app');
marks.begin();
await words.begin();
mount(Embed, { target });
