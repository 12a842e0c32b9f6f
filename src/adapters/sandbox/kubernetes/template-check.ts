import { InputError } from '../../../kernel/errors.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { getPodPart } from './settings/pod-template.ts';

const MEBIBYTE = 2 ** 20;
const MEMORY_MIN_BYTES = 4 * MEBIBYTE;
const DISK_MIN_BYTES = 65_536;

/** @throws InputError `template.invalid` for what no pod can be made of. */
export function checkPodTemplate(template: SandboxTemplate): void {
  const { name, command, mounts, environment, limits } = template;
  const pod = getPodPart(template);
  const { memoryBytes, processes, cpus, diskBytes, lifetimeSeconds } = limits;
  if (mounts.length > 0)
    reject(name, 'mounts', 'has paths of this machine, which the nodes of a cluster do not have', 'mounts: [], and the files in the image');
  if (command.length === 0) reject(name, 'command', 'is empty', 'the program and its arguments');
  if (pod?.claims !== undefined && pod.transport.kind === 'dial-back') {
    reject(name, 'kubernetes.transport', 'is dial-back, but pods that are claimed are made before Muster could tell them a token', 'exec');
  }
  for (const variable of Object.keys(environment)) {
    if (!/^[^=\0]+$/.test(variable)) reject(name, 'environment', `has the name ${JSON.stringify(variable)}`, 'names without "=" and NUL');
  }
  assertAtLeast(name, 'limits.memoryBytes', memoryBytes, MEMORY_MIN_BYTES);
  assertAtLeast(name, 'limits.processes', processes, 1);
  assertAtLeast(name, 'limits.cpus', cpus, 0.01);
  assertAtLeast(name, 'limits.diskBytes', diskBytes, DISK_MIN_BYTES);
  assertAtLeast(name, 'limits.lifetimeSeconds', lifetimeSeconds, 0);
}

function assertAtLeast(template: string, field: string, value: number, minimum: number): void {
  if (!Number.isFinite(value) || value < minimum) reject(template, field, `is ${value}`, `a finite number from ${minimum} on`);
}

function reject(template: string, field: string, problem: string, expected: string): never {
  throw new InputError('template.invalid', `template "${template}": ${field} ${problem}; expected ${expected}`);
}
