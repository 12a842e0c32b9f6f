import { InputError } from '../../kernel/errors.ts';
import type { z } from 'zod';
import { INVALID } from './declaration.ts';
import type { agentSchema, HarborArtifact, HarborTask, HarborVerifier } from './harbor-schema.ts';
import type { MusterTask } from './muster-schema.ts';
import { parseStagedVerifier } from './staged-verifier.ts';
import type { TaskDirectory } from './task-directory.ts';
import type { ScriptVerifier, TaskStep, Verifier, Workspace } from './task.ts';
import type { TestFiles } from './test-files.ts';
import { decodeText } from './text-file.ts';
import { readArtifacts, readNetwork } from './workspace.ts';

export interface StepParts {
  readonly name: string;
  /** '' or `steps/NAME/`. */
  readonly directory: string;
  readonly agent: z.infer<typeof agentSchema>;
  readonly verifier: HarborVerifier;
  readonly artifacts: readonly HarborArtifact[];
  readonly leastReward: number;
  readonly muster: MusterTask;
}

interface Surroundings {
  readonly harbor: HarborTask;
  readonly workspace: Workspace;
}

/** Lines that mark the text for filters of training data, which Harbor hides from agents as well. */
const CANARY = /^\s*(<!--[^\n]*canary[^\n]*-->|#[^\n]*canary GUID[^\n]*)\s*$/gim;
const TESTS = 'tests/';

export function readStep(
  directory: TaskDirectory,
  place: StepParts,
  { workspace }: Surroundings,
): { readonly step: TaskStep; readonly notices: readonly string[] } {
  const where = `${directory.where}/task.toml`;
  const tests = listTests(directory, place.directory);
  const verifier = getVerifier(directory, place, { tests, workspace });
  const step: TaskStep = {
    name: place.name,
    directory: place.directory,
    instruction: getInstruction(directory, `${place.directory}instruction.md`),
    agent: {
      timeoutSeconds: place.agent.timeout_sec,
      user: getUser(place.agent.user),
      network: readNetwork(place.agent, workspace.network),
    },
    artifacts: readArtifacts(where, place.artifacts, workspace.workdir),
    verifier,
    leastReward: place.leastReward,
    tests,
  };
  return { step, notices: listStepNotices(place, verifier) };
}

function getInstruction(directory: TaskDirectory, path: string): string {
  const text = decodeText(directory, path)?.replaceAll(CANARY, '').trim();
  if (text !== undefined && text !== '') return text;
  const problem = text === undefined ? 'is missing' : 'is empty';
  throw new InputError(INVALID, `${directory.where}/${path}: ${problem}; expected what the agent is to do, as Markdown`);
}

/** Lists the task's own tests, and over them the step's. */
function listTests({ files }: TaskDirectory, step: string): TaskStep['tests'] {
  const byPath = new Map<string, string>();
  for (const prefix of new Set([TESTS, `${step}${TESTS}`]))
    for (const { path } of files) if (path.startsWith(prefix)) byPath.set(path.slice(prefix.length), path);
  return [...byPath].map(([path, file]) => ({ path, file })).sort((a, b) => (a.path < b.path ? -1 : 1));
}

interface StepContext {
  readonly tests: TaskStep['tests'];
  readonly workspace: Workspace;
}

function getVerifier(directory: TaskDirectory, place: StepParts, { tests, workspace }: StepContext): Verifier {
  const { timeout_sec: timeoutSeconds, env: environment } = place.verifier;
  const where = `${directory.where}/${place.directory}muster.toml`;
  const staged = parseStagedVerifier(where, place.muster, createTestFiles(directory, tests), { timeoutSeconds, environment });
  if (staged !== undefined) return staged;
  if (tests.some(({ path }) => path === 'test.sh')) return createScriptVerifier(place.verifier, workspace);
  throw new InputError(
    'task.no-tests',
    `${directory.where}: ${place.directory}tests/test.sh is missing, and ${place.directory}muster.toml has no execute; expected one of them to judge submissions by`,
  );
}

function createScriptVerifier(verifier: HarborVerifier, workspace: Workspace): ScriptVerifier {
  const { timeout_sec: timeoutSeconds, env: environment, user, collect } = verifier;
  return {
    kind: 'script',
    timeoutSeconds,
    environment,
    user: getUser(user),
    network: readNetwork(verifier, workspace.network),
    collect: collect.map(({ command, timeout_sec, user: by }) => ({ command, timeoutSeconds: timeout_sec, user: getUser(by) })),
  };
}

function createTestFiles({ where, contents }: TaskDirectory, tests: TaskStep['tests']): TestFiles {
  const byPath = new Map(tests.map(({ path, file }) => [path, file]));
  return {
    has: (path) => byPath.has(path),
    hasDirectory: (path) => tests.some((test) => test.path.startsWith(`${path}/`)),
    bytes: (path) => contents.get(byPath.get(path) ?? ''),
    name: (path) => `${where}/${byPath.get(path) ?? path}`,
  };
}

function listStepNotices({ verifier: { environment_mode: mode, environment } }: StepParts, verifier: Verifier): readonly string[] {
  if (verifier.kind === 'staged') return [];
  if (environment !== undefined)
    return ["verifier.environment: the grading sandbox is made of the workspace's root file system; this table is kept and has no effect"];
  return mode === 'separate' ? [] : ['verifier: graded in a sandbox of its own, also where Harbor would grade in the workspace'];
}

function getUser(user: string | number | undefined): string | undefined {
  return user === undefined ? undefined : String(user);
}
