import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { create } from 'tar';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import type { Mount } from '../../../pool/ports/template.ts';
import type { BuildLine } from './build-line.ts';
import { getMountPath } from './walls.ts';

/** Arguments: where to put it, and how a lone file is called in the archive. */
const UNPACK = 'set -e; umask 022; mkdir -p "$1.new"; tar -x -f - -C "$1.new"; mv "$1.new${2:+/$2}" "$1"';

/** Brings what is mounted into the build, as archives on the input of tar. @throws InfrastructureError `cloud-build.mounts` */
export async function bringMounts(mounts: readonly Mount[], line: BuildLine, signal: AbortSignal): Promise<void> {
  for (const [i, { source }] of mounts.entries()) await bring(source, getMountPath(i), line, signal);
}

async function bring(source: string, place: string, line: BuildLine, signal: AbortSignal): Promise<void> {
  const isDirectory = (await stat(source)).isDirectory();
  const [cwd, entry, alone] = isDirectory ? [source, '.', ''] : [path.dirname(source), path.basename(source), path.basename(source)];
  const channel = await line.exec(['/bin/sh', '-c', UNPACK, 'muster-bring', place, alone], signal);
  try {
    const said = text(channel.stderr);
    channel.stdout.resume();
    await pipeline(create({ cwd, portable: true }, [entry]), channel.stdin, { signal });
    const end = await channel.ended;
    if (end.kind === 'exited' && end.code === 0) return;
    throw new Error(end.kind === 'exited' ? `tar ended with ${end.code}: ${(await said).slice(-500)}` : end.detail);
  } catch (error) {
    channel.terminate();
    throw new InfrastructureError('cloud-build.mounts', `${source} could not be brought into a build: ${getMessage(error)}`, {
      cause: error,
    });
  }
}
