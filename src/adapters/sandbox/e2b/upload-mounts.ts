import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import type { Sandbox } from 'e2b';
import type { Clock } from '../../../kernel/clock.ts';
import type { Mount } from '../../../pool/ports/template.ts';
import { createMountError, getBroughtPath, packMount, UNPACK } from '../remote/brought-mounts.ts';
import { retryPatiently } from './patience.ts';
import { INCOMPLETE, runAsRoot, sendFile } from './root-files.ts';
import { formatShellLine } from './shell-words.ts';

/** Brings what is mounted into a sandbox, each mount as an archive. @throws InfrastructureError `sandbox.mounts` */
export async function uploadMounts(remote: Sandbox, mounts: readonly Mount[], clock: Clock, signal: AbortSignal): Promise<void> {
  for (const [i, { source }] of mounts.entries()) {
    try {
      // A source that is missing now does not appear before the next attempt.
      await access(source);
      const { place, file } = await retryPatiently(clock, signal, () => sendArchive(remote, source, signal));
      const unpacking = formatShellLine(['/bin/sh', '-c', UNPACK, 'muster-bring', getBroughtPath(i), file]);
      // It is not repeated: the first attempt may have succeeded.
      await runAsRoot(remote, `${unpacking} <${place} && rm ${place}`, 'tar', signal);
    } catch (error) {
      signal.throwIfAborted();
      throw createMountError(source, error);
    }
  }
}

/** Each attempt has a name of its own: one that broke off may still be written to. */
async function sendArchive(
  remote: Sandbox,
  source: string,
  signal: AbortSignal,
): Promise<{ readonly place: string; readonly file: string }> {
  const place = `${INCOMPLETE}/mount-${randomUUID()}.tar`;
  const { archive, file } = await packMount(source);
  await sendFile(remote, place, archive, signal);
  return { place, file };
}
