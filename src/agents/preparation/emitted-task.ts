import { posix } from 'node:path';
import type { Tripwire } from '../tasks/muster-schema.ts';
import { type WrittenFile, toWrittenFile, type WrittenTask } from '../tasks/written-task.ts';
import { formatTomlText } from '../tasks/importing/imported-row.ts';
import type { CodeStates } from './candidate.ts';
import type { PinnedTests } from './derivation.ts';
import type { Cheat, SuiteCommand } from './languages/language-adapter.ts';
import { classifyPath } from './source/path-kinds.ts';
import { compareFiles, type SourceFile, type SourceFiles } from './source/source-files.ts';
import { limitSuite } from './time-scale.ts';
import { quoteShellWord } from '../tasks/importing/repository-task.ts';

export const WORKDIR = '/app';
/** Room for the repository, its installed dependencies and the output of a build. */
export const STORAGE_MEBIBYTES = 2048;
const BUILD_FILES: ReadonlySet<string> = new Set(['Dockerfile', 'docker-compose.yaml', 'docker-compose.yml', '.dockerignore']);
/** Installed dependencies, and leftovers of tools. */
const NOT_HANDED_IN = ['.dependencies', '.git', '__pycache__', '.pytest_cache', 'node_modules', 'target'].flatMap((name) => [
  name,
  `${name}/**`,
  `**/${name}/**`,
]);

/** All that a task is made of, once every earlier step is done. */
export interface TaskParts {
  readonly name: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly instruction: string;
  readonly states: CodeStates;
  /** Test files that the agent must not find: those of tests that it has to make pass, unless they are new. */
  readonly hidden: readonly string[];
  /** Files that the framework names, whatever their paths. */
  readonly testFiles: readonly string[];
  /** Dependencies by their paths in the workdir. */
  readonly dependencies: SourceFiles;
  readonly pinned: PinnedTests;
  readonly tripwires: readonly Tripwire[];
  /** Test files of the repository with tripwires among their tests. */
  readonly wired: ReadonlyMap<string, SourceFile>;
  readonly suite: SuiteCommand;
  readonly environment: Readonly<Record<string, string>>;
  readonly cheats: readonly Cheat[];
  /** Seconds of one run of the tests. */
  readonly measuredSeconds: number;
}

/** Writes the task's directory: Harbor's format, and muster.toml. */
export function emitTask(parts: TaskParts): WrittenTask {
  const { states, hidden, dependencies, wired, pinned, suite } = parts;
  const found = [...states.before].filter(([path]) => !hidden.includes(path) && !BUILD_FILES.has(path));
  const named = new Set(parts.testFiles);
  const tests = new Map([...states.solved].filter(([path]) => classifyPath(path) === 'test' || named.has(path)));
  for (const [path, file] of wired) tests.set(path, file);
  const files: WrittenFile[] = [
    toWrittenFile('task.toml', writeTaskToml(parts)),
    toWrittenFile('muster.toml', writeMusterToml(parts)),
    toWrittenFile('instruction.md', parts.instruction),
    ...Object.entries(suite.files).map(([path, text]) => toWrittenFile(`tests/${path}`, text)),
    toWrittenFile('tests/fail-to-pass.json', formatList(pinned.failToPass)),
    toWrittenFile('tests/pass-to-pass.json', formatList(pinned.passToPass)),
    ...placeIn('environment', found),
    ...placeIn('environment', dependencies),
    ...placeIn('tests/package', tests),
    ...writeSolution(states),
    ...parts.cheats.flatMap(({ name, files: cheat }) => cheat.map((file) => ({ ...file, path: `cheats/${name}/${file.path}` }))),
  ];
  return { name: parts.name, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), notices: [] };
}

function placeIn(directory: string, files: Iterable<readonly [string, SourceFile]>): readonly WrittenFile[] {
  return [...files].map(([path, { content, executable }]) => ({
    path: posix.join(directory, path),
    text: content,
    isExecutable: executable,
  }));
}

/** Writes the files that the fix changes; a script where it also removes some. */
function writeSolution({ tested, solved }: CodeStates): readonly WrittenFile[] {
  const changed = [...compareFiles(tested, solved)];
  const written = changed.flatMap(([path, file]) => (file === undefined ? [] : [[path, file] as const]));
  const gone = changed.flatMap(([path, file]) => (file === undefined ? [quoteShellWord(path)] : []));
  if (gone.length === 0) return placeIn('solution', written);
  const script = `#!/bin/sh\nset -e\ncp -R /solution/files/. .\nrm -f -- ${gone.join(' ')}\n`;
  return [toWrittenFile('solution/solve.sh', script), ...placeIn('solution/files', written)];
}

function writeTaskToml({ name, description, keywords, environment, measuredSeconds }: TaskParts): string {
  const excluded = NOT_HANDED_IN.map(formatTomlText).join(', ');
  const variables = Object.entries(environment).map(([key, text]) => `${key} = ${formatTomlText(text)}\n`);
  return `schema_version = "1.4"
artifacts = [{ source = "${WORKDIR}", exclude = [${excluded}] }]

[task]
name = ${formatTomlText(`prepared/${name}`)}
description = ${formatTomlText(description)}
keywords = [${keywords.map(formatTomlText).join(', ')}]

[agent]
timeout_sec = 3600.0

[verifier]
timeout_sec = ${(4 * limitSuite(measuredSeconds)).toFixed(1)}

[environment]
network_mode = "no-network"
workdir = "${WORKDIR}"
storage_mb = ${STORAGE_MEBIBYTES}

[environment.env]
${variables.join('')}`;
}

function writeMusterToml({ suite, tripwires, measuredSeconds }: TaskParts): string {
  const wires = tripwires.map(
    ({ id, file, changed, literal }) =>
      `\n[[execute.tripwires]]\nid = ${formatTomlText(id)}\nfile = ${formatTomlText(file)}\nchanged = ${formatTomlText(changed)}\nliteral = ${formatTomlText(literal)}\n`,
  );
  return `[workspace]
root = "host"

[execute]
kind = "suite"
runner = "${suite.runner}"
boundary = "shared"
command = [${suite.command.map(formatTomlText).join(', ')}]
overlay = "package"
failToPass = "fail-to-pass.json"
passToPass = "pass-to-pass.json"
seconds = ${limitSuite(measuredSeconds)}
${wires.join('')}
[score]
correctness = "all"
weights = { correctness = 1.0 }
`;
}

function formatList(ids: readonly string[]): string {
  return `${JSON.stringify(ids, undefined, 1)}\n`;
}
