import { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { AttachedStreams } from './attached-streams.ts';

/** Starts a container's program with its streams attached before its first byte. */
export async function startAttached(container: Docker.Container): Promise<AttachedStreams> {
  const connection = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
  if (!(connection instanceof Duplex))
    throw new InfrastructureError('docker.failed', 'Docker: the connection to a container goes one way only');
  const streams = new AttachedStreams(connection);
  try {
    await container.start();
    return streams;
  } catch (error) {
    streams.close();
    throw error;
  }
}
