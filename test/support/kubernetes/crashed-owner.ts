import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { type OwnerId, parseSandboxId, type SandboxId } from '../../../src/kernel/ids.ts';
import type { PodTemplate } from '../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';

const CRASHING_OWNER = path.join(import.meta.dirname, 'crashing-owner.ts');
const createdSchema = z.array(z.string());

/** A Muster in a process of its own makes pods with these commands, and is killed. @returns its sandboxes. */
export async function crashedOwner(
  owner: OwnerId,
  commands: readonly (readonly string[])[],
  pod: PodTemplate,
): Promise<readonly SandboxId[]> {
  const order = JSON.stringify({ owner, commands, pod });
  const child = spawn(process.execPath, [CRASHING_OWNER, order], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    return createdSchema.parse(JSON.parse(await firstLineOf(child))).map(parseSandboxId);
  } finally {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

async function firstLineOf({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('the other Muster has no stdout');
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error('the other Muster ended before its sandboxes ran');
}
