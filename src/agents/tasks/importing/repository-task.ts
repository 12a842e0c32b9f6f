import { toWrittenFile, type WrittenTask } from '../written-task.ts';
import { formatTomlText, toDirectoryName } from './imported-row.ts';

/** Only the ids of pytest name the file. The ids of other runners need that repository's own runner. */
const PYTEST_ID = /^[\w./-]+\.py::/;

/** An issue of a repository, judged by tests of pytest that are pinned. */
export interface RepositoryTask {
  readonly source: 'swe-bench' | 'swe-smith' | 'r2e-gym';
  readonly id: string;
  readonly repository: string;
  /** The directory of the repository in the image. */
  readonly workdir: string;
  /** The table `environment` of task.toml. */
  readonly environment: Readonly<Record<string, string>>;
  readonly instruction: string;
  /** Runs the tests. */
  readonly command: readonly string[];
  /** Further settings of the stage, as TOML. */
  readonly settings?: string;
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  readonly files: readonly (readonly [path: string, text: string])[];
}

export function writeRepositoryTask(task: RepositoryTask): WrittenTask {
  const { source, id, repository, workdir, environment, instruction, command, settings = '', failToPass, passToPass, files } = task;
  const name = toDirectoryName(id);
  const taskToml = `schema_version = "1.4"
artifacts = [{ source = "${workdir}", exclude = [".git", "__pycache__"] }]

[task]
name = ${formatTomlText(`${source}/${name}`)}
description = ${formatTomlText(`An issue of ${repository}`)}
keywords = ["${source}", "repository"]

[agent]
timeout_sec = 3000.0

[verifier]
timeout_sec = 3000.0

[environment]
network_mode = "no-network"
workdir = "${workdir}"
${Object.entries(environment)
  .map(([key, text]) => `${key} = ${formatTomlText(text)}\n`)
  .join('')}`;
  const musterToml = `[execute]
kind = "suite"
runner = "pytest"
boundary = "shared"
command = [${command.map(formatTomlText).join(', ')}]
${settings}failToPass = "fail-to-pass.json"
passToPass = "pass-to-pass.json"
seconds = 1800
`;
  const written: readonly (readonly [string, string])[] = [
    ['task.toml', taskToml],
    ['muster.toml', musterToml],
    ['instruction.md', `${instruction.trim()}\n`],
    ['tests/fail-to-pass.json', listText(failToPass)],
    ['tests/pass-to-pass.json', listText(passToPass)],
    ...files,
  ];
  return { name, files: written.map(([path, text]) => toWrittenFile(path, text)), notices: [] };
}

/** Returns why pinned tests cannot judge; undefined when they can. */
export function findPinnedProblem({ failToPass, passToPass }: Pick<RepositoryTask, 'failToPass' | 'passToPass'>): string | undefined {
  if (failToPass.length === 0) return 'it has no test that has to begin to pass';
  const foreign = [...failToPass, ...passToPass].find((id) => !PYTEST_ID.test(id));
  if (foreign !== undefined)
    return `the test id ${JSON.stringify(foreign.slice(0, 100))} is not one of pytest's; this repository has a runner of its own`;
  const seen = new Set<string>();
  const twice = [...failToPass, ...passToPass].find((id) => seen.size === seen.add(id).size);
  return twice === undefined ? undefined : `the test id ${JSON.stringify(twice.slice(0, 100))} occurs twice`;
}

/** A patch is the oracle, and stands in no other file of the task. @param flags of git apply. */
export function listOracleFiles(workdir: string, file: string, patch: string, flags = ''): RepositoryTask['files'] {
  const apply = `git apply ${flags}--whitespace=nowarn /solution/${file}`;
  return [
    [`solution/${file}`, patch],
    ['solution/solve.sh', `#!/bin/sh\nset -e\ncd ${quoteShellWord(workdir)}\n${apply}\n`],
  ];
}

export function quoteShellWord(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function listText(ids: readonly string[]): string {
  return `${JSON.stringify(ids, undefined, 1)}\n`;
}
