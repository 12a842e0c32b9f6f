import { basename } from 'node:path';
import type { MusterClient } from '../../faces/client/muster-client.ts';
import { nameCheckpoint, type NamedCheckpoint } from '../../faces/client/named-checkpoint.ts';
import { openProgressDisplay } from '../progress/progress-display.ts';
import { uploadView } from '../progress/remote-progress.ts';

/**
 * A checkpoint as a request names it: one of this machine is brought there, with its progress on stderr.
 *
 * @param given path, URI or SHA-256.
 * @param base path of one that the server may have.
 */
export async function bringCheckpoint(client: MusterClient, given: string, signal: AbortSignal, base?: string): Promise<NamedCheckpoint> {
  const named = nameCheckpoint(given);
  if (!('path' in named)) return named;
  const began = performance.now();
  using display = openProgressDisplay(uploadView(basename(named.path)), process.stderr);
  const sha256 = await client.upload(named.path, {
    signal,
    base,
    onUpload: (upload) => display.show({ ...upload, seconds: (performance.now() - began) / 1000 }),
  });
  return { sha256 };
}
