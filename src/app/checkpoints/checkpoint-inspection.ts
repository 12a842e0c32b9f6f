import { open } from 'node:fs/promises';
import { filesystemSource } from '../../adapters/checkpoints/filesystem.ts';
import type { Config } from '../../config/config.ts';
import { systemClock } from '../../kernel/clock.ts';
import { toCheckpointUri, isUri, createSourceForOwner } from './own-checkpoints.ts';
import {
  inspectCheckpoint,
  type CheckpointInspection,
  type InspectionPorts,
} from '../../policy-distribution/inspection/checkpoint-inspection.ts';
import type { CheckpointSource, ListedFile } from '../../policy-distribution/checkpoint-source.ts';
import type { ReadAt } from '../../policy-distribution/formats/read-at.ts';
import { translateErrors, readAt } from '../../policy-distribution/files/store-files.ts';

/**
 * Inspects what a checkpoint contains. On this machine all of it is read, for its digest; elsewhere only the parts that show its content, unless the
 * digest is requested. Part of the composition root.
 *
 * @param written a path, or a URI. @throws as `inspectCheckpoint` does.
 */
export function inspectWritten(
  written: string,
  config: Pick<Config, 'checkpoints' | 'sources'>,
  wantsDigest: boolean,
  signal: AbortSignal,
): Promise<CheckpointInspection> {
  const limits = config.checkpoints;
  const isHere = !isUri(written) || /^file:/i.test(written);
  const ports = isHere
    ? { source: filesystemSource, limits, readsAll: true, open: openLocally }
    : { limits, readsAll: wantsDigest, ...openElsewhere(createSourceForOwner(config, systemClock), signal) };
  return inspectCheckpoint(ports, toCheckpointUri(written), signal);
}

async function openLocally({ address }: ListedFile): ReturnType<InspectionPorts['open']> {
  const handle = await translateErrors(address, () => open(address, 'r'));
  return {
    readAt: (position, length) => translateErrors(address, () => readAt(handle, position, length)),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

function openElsewhere(source: CheckpointSource, signal: AbortSignal): Pick<InspectionPorts, 'source' | 'open'> {
  const open: InspectionPorts['open'] = async (file) => ({
    readAt: createRangeReader(source, file, signal),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
  return { source, open };
}

/** Opens a connection for each read: a file needs only a few. */
function createRangeReader(source: CheckpointSource, file: ListedFile, signal: AbortSignal): ReadAt {
  return async (position, length) => {
    const wanted = Math.max(0, Math.min(length, file.size - position));
    const parts: Uint8Array[] = [];
    let read = 0;
    if (wanted === 0) return new Uint8Array();
    for await (const chunk of source.readFrom?.(file, position, signal) ?? []) {
      const part = chunk.subarray(0, wanted - read);
      parts.push(part);
      read += part.length;
      if (read === wanted) break;
    }
    return Buffer.concat(parts);
  };
}
