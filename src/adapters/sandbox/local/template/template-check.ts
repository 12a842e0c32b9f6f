import path from 'node:path';
import { InputError } from '../../../../kernel/errors.ts';
import { computeOnce } from '../../../../kernel/once.ts';
import type { SandboxLimits, SandboxTemplate, WorkspaceFileSystem } from '../../../../pool/ports/template.ts';
import { DISK_MIN_BYTES } from './writable-space.ts';

/** Less is not enough for what holds a sandbox and a shell to start. */
const MEMORY_MIN_BYTES = 4 * 2 ** 20;
/** Mounting over these would undo what isolates the sandbox, or hide the inbox. */
const RESERVED = ['/', '/proc', '/dev', '/muster/inbox', '/sys'];

/**
 * Checks a template once, since all sandboxes of a pool are made of the same one.
 *
 * @throws InputError `template.invalid` for what no sandbox can be made of.
 */
export const checkTemplate = computeOnce((template: SandboxTemplate): void => {
  if (template.workspace) checkWorkspace(template.name, template.workspace);
  checkLimits(template.name, template.limits);
  if (template.command.length === 0) reject(template.name, 'command', 'is empty', 'the program and its arguments');
  for (const name of Object.keys(template.environment)) {
    if (!/^[^=\0]+$/.test(name)) reject(template.name, 'environment', `has the name ${JSON.stringify(name)}`, 'names without "=" and NUL');
  }
  const words = [...template.command, ...Object.values(template.environment), ...template.mounts.flatMap((m) => [m.source, m.target])];
  if (words.some((word) => word.includes('\0'))) reject(template.name, 'command, environment or mounts', 'has a NUL character', 'none');
  for (const { source, target } of template.mounts) {
    if (!path.isAbsolute(source)) reject(template.name, 'mounts', `has the source "${source}"`, 'an absolute path');
    if (path.normalize(target) !== target || !path.isAbsolute(target) || isReserved(target)) {
      reject(template.name, 'mounts', `has the target "${target}"`, `a normalised absolute path, not in ${RESERVED.join(', ')}`);
    }
  }
});

function checkWorkspace(name: string, { root, writable }: WorkspaceFileSystem): void {
  if (root !== undefined && !path.isAbsolute(root)) reject(name, 'workspace.root', `is "${root}"`, 'an absolute path');
  for (const each of writable) {
    const isPlace =
      path.isAbsolute(each) && path.normalize(each) === each && !each.endsWith('/') && !isReserved(each) && !isIn(each, '/tmp');
    if (!isPlace || each.includes('\0')) {
      reject(name, 'workspace.writable', `has ${JSON.stringify(each)}`, `a normalised absolute path, not in /tmp, ${RESERVED.join(', ')}`);
    }
  }
}

function isIn(target: string, directory: string): boolean {
  return target === directory || target.startsWith(`${directory}/`);
}

function isReserved(target: string): boolean {
  return RESERVED.some((reserved) => target === reserved || (reserved !== '/' && target.startsWith(`${reserved}/`)));
}

function checkLimits(name: string, limits: SandboxLimits): void {
  const minima: SandboxLimits = { memoryBytes: MEMORY_MIN_BYTES, processes: 1, cpus: 0.01, diskBytes: DISK_MIN_BYTES, lifetimeSeconds: 0 };
  const pairs = [
    ['memoryBytes', limits.memoryBytes, minima.memoryBytes],
    ['processes', limits.processes, minima.processes],
    ['cpus', limits.cpus, minima.cpus],
    ['diskBytes', limits.diskBytes, minima.diskBytes],
    ['lifetimeSeconds', limits.lifetimeSeconds, minima.lifetimeSeconds],
  ] as const;
  for (const [field, value, minimum] of pairs) {
    const isWhole = field === 'cpus' || field === 'lifetimeSeconds' || Number.isInteger(value);
    if (!Number.isFinite(value) || value < minimum || !isWhole) {
      reject(name, `limits.${field}`, `is ${value}`, `a finite${isWhole ? '' : ' whole'} number from ${minimum} on`);
    }
  }
}

function reject(template: string, field: string, problem: string, expected: string): never {
  throw new InputError('template.invalid', `template "${template}": ${field} ${problem}; expected ${expected}`);
}
