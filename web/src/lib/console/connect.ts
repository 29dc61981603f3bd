import type { Agent } from '$lib/api/contract';

// The ways to connect an agent, as lines to copy, and how far a connection is.

/** Where an agent runs. All but http fetch their tasks. */
export const WAYS = ['command', 'mcp', 'sdk', 'http'] as const;
export type Way = (typeof WAYS)[number];

/** Stands for a key that is not known: it was shown when it was made. */
export const KEY_BLANK = 'arg_…';

/** What answers behind `arena join`. */
export const SOURCES = ['program', 'model', 'local', 'endpoint'] as const;
export type Source = (typeof SOURCES)[number];

const SOURCE_FLAGS: Readonly<Record<Source, string>> = {
  program: `--exec 'claude -p --tools "" --strict-mcp-config'`,
  model: '--model gpt-4.1-mini',
  local: '--model llama3.2 --base-url http://127.0.0.1:11434/v1',
  endpoint: '--url http://127.0.0.1:8700/agora',
};

/** Installs the program arena, without root, and makes it known to the shell. */
export const installCommand = (arena: string): string => `curl -fsSL ${arena}/install.sh | sh && export PATH="$HOME/.local/bin:$PATH"`;

export const joinCommand = (arena: string, key: string, source: Source): string =>
  `arena join ${arena} --key ${key} ${SOURCE_FLAGS[source]}`;

/** The MCP server as a command of Claude Code, and as the settings of other clients. */
export const mcpCommand = (arena: string, key: string): string =>
  `claude mcp add --transport http arena ${arena}/mcp --header "Authorization: Bearer ${key}"`;
export const mcpSettings = (arena: string, key: string): string =>
  JSON.stringify({ mcpServers: { arena: { url: `${arena}/mcp`, headers: { Authorization: `Bearer ${key}` } } } }, null, 2);

export const LANGUAGES = ['typescript', 'python', 'rust', 'go'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface Sample {
  readonly file: string;
  readonly code: string;
  /** Before the lines that install the SDK. */
  readonly prepare: readonly string[];
  /** Installs the SDK from the public registry, for an arena that serves no packages. */
  readonly install: string;
  readonly run: string;
}

/** A whole agent in a language; connect.test.ts compares it with the examples of the SDKs. */
export const sampleOf = (language: Language, arena: string, key: string): Sample => SAMPLES[language](arena, key);

const SAMPLES: Readonly<Record<Language, (arena: string, key: string) => Sample>> = {
  typescript: (arena, key) => ({
    file: 'agent.mjs',
    prepare: [],
    install: 'npm install @agora/arena-sdk',
    run: 'node agent.mjs',
    code: `import { connect } from '@agora/arena-sdk';

await connect('${arena}', '${key}', (ctx, task, events) => {
  events.thinking(\`\${task.options?.length ?? 0} options, \${Math.round(ctx.remainingMs() / 1000)} s\`);
  if (task.options === null) return { value: 'I do not know' };
  return { value: task.options[0] ?? '', confidence: 1 / task.options.length };
});
`,
  }),
  python: (arena, key) => ({
    file: 'agent.py',
    prepare: ['python3 -m venv .venv && . .venv/bin/activate'],
    install: 'pip install agora-arena',
    run: 'python agent.py',
    code: `from agora_arena import Answer, Context, Events, Task, connect


def answer(ctx: Context, task: Task, events: Events) -> Answer:
    events.thinking(f"{len(task.options or [])} options, {ctx.remaining():.0f} s")
    options = task.options or ["I do not know"]
    return Answer(options[0], confidence=1 / len(options))


connect("${arena}", "${key}", answer)
`,
  }),
  rust: (arena, key) => ({
    file: 'src/main.rs',
    prepare: ['cargo init --name agent'],
    install: 'cargo add agora-rust',
    run: 'cargo run',
    code: `use agora_rust::{connect, Answer};

fn main() -> std::io::Result<()> {
    connect("${arena}", "${key}", |ctx, task, events| {
        let options = task.options.as_deref().unwrap_or_default();
        events.thinking(&format!("{} options, {:.0?}", options.len(), ctx.remaining()));
        let chance = 1.0 / options.len().max(1) as f64;
        Ok(options.first().map_or(Answer::new("I do not know"), |o| Answer::new(o).confidence(chance)))
    })
}
`,
  }),
  go: (arena, key) => ({
    file: 'main.go',
    prepare: ['go mod init agent'],
    install: 'go get github.com/agora-arena/agora-go/arenaagent',
    run: 'go run .',
    code: `package main

import (
	"context"
	"log"

	"github.com/agora-arena/agora-go/arenaagent"
)

func main() {
	config := arenaagent.Config{Arena: "${arena}", AgentKey: "${key}"}
	log.Fatal(arenaagent.Connect(context.Background(), config, func(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Thinking("The first option looks good.")
		if len(task.Options) == 0 {
			return arenaagent.Answer{Value: "I do not know"}, nil
		}
		return arenaagent.Answer{Value: task.Options[0]}, nil
	}))
}
`,
  }),
};

type Seen = Pick<Agent, 'status' | 'health' | 'pause'>;

const ABSENT: readonly string[] = ['not_polling', 'not_connected'];

/** Of an agent that contacts the arena by itself; waiting: it never has. */
export function connectionOf({ status, health }: Seen): 'waiting' | 'connected' | 'lost' {
  if (health.ok) return 'connected';
  return status === 'pending' && (!health.checked_at || ABSENT.includes(health.reason ?? '')) ? 'waiting' : 'lost';
}

/** The stable word for what keeps an agent from playing; empty if nothing does, or a person, or if it is still to connect for the first time. */
export function failureOf(agent: Seen): string {
  const { status, health, pause } = agent;
  if (status === 'retired' || pause?.reason === 'owner' || pause?.reason === 'admin') return '';
  if (pause?.reason === 'failing') return pause.reason;
  if (!health.checked_at || connectionOf(agent) !== 'lost') return '';
  return health.reason ?? 'not_ok';
}

/** The request of an entry of the log, for a shell. The log keeps no token. */
export const curlOf = (endpoint: string, request: string): string =>
  [
    'curl -i',
    quote(endpoint),
    "-H 'Content-Type: application/json'",
    '-H "Authorization: Bearer $TASK_TOKEN"',
    `--data-raw ${quote(request)}`,
  ].join(' \\\n  ');

/** A text as one word of a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
