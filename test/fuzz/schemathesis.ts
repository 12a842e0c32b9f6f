import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { dependent } from '../../scripts/dependent-process.ts';
import { REPOSITORY, type Stage } from '../end-to-end/stage.ts';
import { startFuzzed, type FuzzedServer } from './fuzzed-server.ts';

export interface FuzzOptions {
  readonly seed: number;
  /** Of each call, in each phase. */
  readonly examples: number;
  /** Of the paths to be called, a regular expression; all of them when left out. */
  readonly only?: string | undefined;
  readonly phases: readonly ('coverage' | 'fuzzing' | 'stateful')[];
}

export interface Fuzzed {
  readonly isClean: boolean;
  /** What schemathesis said: each failure with a command that repeats it. */
  readonly text: string;
  /** Of the server's own log. */
  readonly defects: readonly string[];
}

/**
 * Whether a request that a schema allows is accepted is left out: what a request names has to be there, which no schema says.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'missing_required_header',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
];

/** Has schemathesis send a real server what its OpenAPI document allows and what it does not, and look at every answer. */
export async function fuzz(stage: Stage, options: FuzzOptions): Promise<Fuzzed> {
  const fuzzed = await startFuzzed(stage);
  const { exitCode, text } = await schemathesis(fuzzed, options, stage.directory);
  const { command } = fuzzed.server;
  command.signal('SIGTERM');
  const ended = await command.ended;
  const defects = ended.stderr.split('\n').filter((line) => line.includes('a defect of Muster'));
  return {
    isClean: exitCode === 0 && ended.exitCode === 0 && defects.length === 0,
    text: `${text}\n${ended.stderr.slice(-4000)}`,
    defects,
  };
}

async function schemathesis(
  { server, token, known }: FuzzedServer,
  options: FuzzOptions,
  directory: string,
): Promise<{ exitCode: unknown; text: string }> {
  const values = {
    header: `Authorization: Bearer ${token}`,
    checks: CHECKS.join(','),
    phases: options.phases.join(','),
    seed: `${options.seed}`,
    'max-examples': `${options.examples}`,
    'request-timeout': '60',
    'suppress-health-check': 'all',
    // This stream goes on until its reader leaves.
    'exclude-path': '/v1/live',
    ...(options.only === undefined ? {} : { 'include-path-regex': options.only }),
  };
  const flags = Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
  const args = ['run', `${server.url}/openapi.json`, '--no-color', '--continue-on-failure', ...flags];
  const child = spawn(...dependent(path.join(REPOSITORY, '.venv/bin/schemathesis'), args), {
    // It keeps what it found where it is started.
    cwd: directory,
    env: { PATH: process.env['PATH'], SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: import.meta.dirname, FUZZ_KNOWN: JSON.stringify(known) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(child, 'close');
  return { exitCode: child.exitCode, text };
}
