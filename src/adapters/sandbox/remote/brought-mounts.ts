import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { create } from 'tar';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import type { Mount } from '../../../pool/ports/template.ts';

/** Uploads for remote sandboxes are kept here until their programs see them: each mount of the template by its number. */
export const BROUGHT = '/muster/brought';

/** Returns the path at which a mount of the template is put. */
export function getBroughtPath(index: number): string {
  return `${BROUGHT}/${index}`;
}

/** A place in which archives are unpacked: may be there already. Arguments: the place, and how a lone file is called in the archive. */
export const UNPACK =
  'set -e; umask 022; mkdir -p "$1"; tar -x -f - -C "$1"; [ -z "$2" ] || { mv "$1/$2" "$1.file"; rmdir "$1"; mv "$1.file" "$1"; }';

/** The mounted files as an archive. */
export interface PackedMount {
  readonly archive: Readable;
  /** Its name in the archive; empty: a directory, whose content the archive is. */
  readonly file: string;
}

export async function packMount(source: string): Promise<PackedMount> {
  const file = (await stat(source)).isDirectory() ? '' : path.basename(source);
  const [cwd, entry] = file === '' ? [source, '.'] : [path.dirname(source), file];
  return { archive: Readable.from(create({ cwd, portable: true }, [entry])), file };
}

/** A command elsewhere. */
interface RunningCommand {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<
    { readonly kind: 'exited'; readonly code: number } | { readonly kind: 'failed' | 'dropped'; readonly detail: string }
  >;
  terminate(): void;
}

/** Brings what is mounted in, as archives on the input of tar. @throws InfrastructureError `sandbox.mounts` */
export async function bringMounts(
  mounts: readonly Mount[],
  exec: (command: readonly string[], signal: AbortSignal) => Promise<RunningCommand>,
  signal: AbortSignal,
): Promise<void> {
  for (const [i, { source }] of mounts.entries()) {
    const { archive, file } = await packMount(source);
    const channel = await exec(['/bin/sh', '-c', UNPACK, 'muster-bring', getBroughtPath(i), file], signal);
    try {
      await send(archive, channel, signal);
    } catch (error) {
      channel.terminate();
      throw createMountError(source, error);
    }
  }
}

export function createMountError(source: string, cause: unknown): InfrastructureError {
  return new InfrastructureError('sandbox.mounts', `${source} could not be sent into a sandbox: ${getMessage(cause)}`, { cause });
}

async function send(archive: Readable, channel: RunningCommand, signal: AbortSignal): Promise<void> {
  const said = text(channel.stderr);
  channel.stdout.resume();
  await pipeline(archive, channel.stdin, { signal });
  const end = await channel.ended;
  if (end.kind === 'exited' && end.code === 0) return;
  throw new Error(end.kind === 'exited' ? `tar ended with ${end.code}: ${(await said).slice(-500)}` : end.detail);
}
