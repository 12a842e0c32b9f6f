import { open } from 'node:fs/promises';
import { filesystemSource } from './adapters/checkpoints/filesystem.ts';
import type { Config } from './config/config.ts';
import { inspectCheckpoint, type CheckpointInspection } from './policy-distribution/checkpoint-inspection.ts';
import { guarded, readAt } from './policy-distribution/store-files.ts';

/** What a file or directory of this machine holds. Part of the composition root. @throws as `inspectCheckpoint` does. */
export function inspectionOf(
  path: string,
  { checkpoints }: Pick<Config, 'checkpoints'>,
  signal: AbortSignal,
): Promise<CheckpointInspection> {
  const ports = {
    source: filesystemSource,
    limits: checkpoints,
    open: async ({ address }: { readonly address: string }) => {
      const handle = await guarded(address, () => open(address, 'r'));
      return {
        readAt: (position: number, length: number) => guarded(address, () => readAt(handle, position, length)),
        [Symbol.asyncDispose]: () => handle.close(),
      };
    },
  };
  return inspectCheckpoint(ports, path, signal);
}
