import { spawnSync } from 'node:child_process';
import { cp, mkdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';

export const ROOT = join(import.meta.dirname, '../..');
export const DIST = join(ROOT, 'dist');

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  engines: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
});

export type Manifest = z.infer<typeof manifestSchema>;

/** Reads package.json, the one source of the version of all packages. */
export async function manifest(): Promise<Manifest> {
  return manifestSchema.parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
}

/** Files of the runner that are left out: those of its checks, and compiled files. */
const LEFT_OUT: ReadonlySet<string> = new Set(['__pycache__', 'pyproject.toml', '.mypy_cache', '.ruff_cache', '.pytest_cache']);

/** The packages that run tasks' tests (app/grading/tool-mount.ts). Their commands in `bin` are left out, because these name this machine's Python. */
const PYTEST = '.tools/pytest';
const OF_INSTALLATION: ReadonlySet<string> = new Set(['__pycache__', 'bin', '.setup-stamp']);

export async function emptied(directory: string): Promise<string> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  return directory;
}

/** The files that the running program reads, at the paths at which it looks for them (kernel/package-root.ts). */
export async function copyRuntimeFiles(target: string): Promise<void> {
  await cp(join(ROOT, 'config'), join(target, 'config'), { recursive: true });
  await cp(join(ROOT, 'docs/schemas'), join(target, 'schemas'), { recursive: true });
  await copyRunner(join(target, 'runner'));
  await cp(join(ROOT, PYTEST), join(target, PYTEST), { recursive: true, filter: (path) => !OF_INSTALLATION.has(basename(path)) });
  await cp(join(ROOT, 'LICENSE'), join(target, 'LICENSE'));
}

export async function copyRunner(target: string): Promise<void> {
  await cp(join(ROOT, 'runner'), target, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
}

/** Runs a command. @returns its output. @throws when its exit code is not 0. */
export function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}
