import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Sandbox as RemoteSandbox } from 'e2b';
import { create } from 'tar';
import type { Clock } from '../../../kernel/clock.ts';
import { RUNNER_INSIDE } from '../local/template/python-template.ts';
import { toE2bError } from './failure.ts';
import { retryPatiently } from './patience.ts';
import { FILES_USER, INCOMPLETE, runAsRoot } from './root-files.ts';
import { formatShellLine } from './shell-words.ts';

const REQUEST_MS = 30_000;

export interface RunnerPaths {
  /** Holds `runner/`. */
  readonly projectDirectory: string;
  /** The interpreter inside. */
  readonly python: string;
}

/**
 * Uploads this Muster's own runner into a sandbox: as one file, which is unpacked there. A form with a part for each file would need only one
 * request; but fetch continues to build a form's body after its request was aborted, and that error cannot be caught.
 */
export async function uploadRunner(
  remote: RemoteSandbox,
  { projectDirectory, python }: RunnerPaths,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const archive = await packArchive(path.join(projectDirectory, 'runner'));
  const options = { user: FILES_USER, requestTimeoutMs: REQUEST_MS, signal };
  try {
    await retryPatiently(clock, signal, async () => {
      const place = `${INCOMPLETE}/runner-${randomUUID()}`;
      await remote.files.write(`${place}.tar.gz`, archive, { ...options, useOctetStream: true });
      await runAsRoot(remote, formatUnpacking(place, python), 'the runner could not be unpacked in the sandbox', signal);
    });
  } catch (error) {
    signal.throwIfAborted();
    throw toE2bError(error, 'take in the runner');
  }
}

/**
 * Each attempt has its own directory, and moves each file into its final place in one step: an attempt whose connection broke may still run when the
 * next one is done.
 */
function formatUnpacking(place: string, python: string): string {
  const extract = formatShellLine([python, '-I', '-m', 'tarfile', '-e', `${place}.tar.gz`, place]);
  return `mkdir ${place} && ${extract} && cp -rlfT ${place} ${RUNNER_INSIDE} && rm -r ${place} ${place}.tar.gz`;
}

async function packArchive(directory: string): Promise<Blob> {
  const entries = await readdir(directory, { recursive: true });
  const files = entries.filter((entry) => entry.endsWith('.py'));
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  // The files' owners and times on this machine do not matter there.
  for await (const piece of create({ cwd: directory, gzip: true, portable: true, noMtime: true }, files))
    pieces.push(new Uint8Array(piece));
  return new Blob(pieces);
}
