import path from 'node:path';
import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { Isolation, SandboxLimits, SandboxTemplate } from '../../../pool/template.ts';
import type { ForkableTemplate } from '../zygote/wardens.ts';
import type { Capabilities } from './capabilities.ts';
import { DISK_MIN_BYTES } from './command-line.ts';

/** Less is not enough for bubblewrap and a shell to start. */
const MEMORY_MIN_BYTES = 4 * 2 ** 20;
/** Mounting over these would undo what isolates the sandbox, or hide the inbox. */
const RESERVED = ['/', '/proc', '/dev', '/muster/inbox', '/sys'];

/** See `SandboxProvider.describe`. */
export function isolationFor(template: SandboxTemplate, capabilities: Capabilities): Isolation {
  requireSandboxes(capabilities);
  checkTemplate(template);
  requireForking(template, capabilities);
  for (const demand of template.demands) {
    const { scope, by } = capabilities.limits[demand];
    if (scope === 'tree') continue;
    const state = scope === 'none' ? 'not enforced at all' : `enforced by ${by} for each process only`;
    const remedy = capabilities.cgroups.state === 'missing' ? capabilities.cgroups.remedy : 'drop the demand';
    throw new InputError(
      'template.limit-unavailable',
      `template "${template.name}" demands the limit "${demand}" for the whole process tree, but here it is ${state}; ${remedy}`,
    );
  }
  return { mechanism: isForked(template, capabilities) ? 'bubblewrap, forked' : 'bubblewrap', limits: capabilities.limits };
}

/** Whether sandboxes of this template are forked from a zygote here. */
export function isForked(template: SandboxTemplate, { forking }: Capabilities): template is ForkableTemplate {
  return template.zygote !== undefined && forking.state === 'available';
}

function requireSandboxes({ bubblewrap, namespaces }: Capabilities): void {
  for (const finding of [bubblewrap, namespaces]) {
    if (finding.state === 'available') continue;
    throw new InfrastructureError('sandbox.unavailable', `no local sandbox can be made: ${finding.detail}; ${finding.remedy}`);
  }
}

function requireForking({ name, zygote }: SandboxTemplate, { forking }: Capabilities): void {
  if (!zygote?.isRequired || forking.state === 'available') return;
  throw new InfrastructureError('sandbox.unavailable', `template "${name}" is to be forked, but ${forking.detail}; ${forking.remedy}`);
}

export function checkTemplate(template: SandboxTemplate): void {
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
