import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { createBrokenReadError } from './retries.ts';

/** A server's statement about the digest of the whole file. */
export interface AnnouncedDigest {
  /** It is shown to people. */
  readonly algorithm: string;
  readonly base64: string;
  start(): RunningDigest;
}

export interface RunningDigest {
  update(chunk: Uint8Array): void;
  /** May be called after the last byte. */
  base64(): string;
}

/**
 * Reads the strongest digest in the headers of an answer: RFC 9530's, or those of the object stores, which presigned URLs have as well. Ignores
 * digests of parts, and of data that was stored compressed and is sent differently.
 */
export function readAnnouncedDigest(headers: IncomingHttpHeaders): AnnouncedDigest | undefined {
  const isOfParts = headers['x-amz-checksum-type'] === 'COMPOSITE';
  const isStoredAsItComes = ['', 'identity'].includes(joinHeader(headers['x-goog-stored-content-encoding']));
  const general = findValue(headers['repr-digest'], /(?:^|[\s,])sha-256=:(?<base64>[\w+/]{43}=):/);
  if (general !== undefined) return createAnnouncedDigest('sha256', general);
  const amazons = isOfParts ? undefined : findValue(headers['x-amz-checksum-sha256'], /^(?<base64>[\w+/]{43}=)$/);
  if (amazons !== undefined) return createAnnouncedDigest('sha256', amazons);
  const googles = isStoredAsItComes ? findValue(headers['x-goog-hash'], /(?:^|[\s,])md5=(?<base64>[\w+/]{22}==)/) : undefined;
  if (googles !== undefined) return createAnnouncedDigest('md5', googles);
  const amazonsCrc = isOfParts ? undefined : findValue(headers['x-amz-checksum-crc32'], /^(?<base64>[\w+/]{6}==)$/);
  return amazonsCrc === undefined ? undefined : { algorithm: 'crc32', base64: amazonsCrc, start: startCrc32 };
}

/** Checks the received bytes against the announced digest and size. */
export class DigestCheck {
  readonly #announced: AnnouncedDigest;
  readonly #running: RunningDigest;

  constructor(announced: AnnouncedDigest) {
    this.#announced = announced;
    this.#running = announced.start();
  }

  update(chunk: Uint8Array): void {
    this.#running.update(chunk);
  }

  /** Has to be called after the last byte. @throws InfrastructureError `checkpoint.read` when other bytes came. */
  assertSame(address: string): void {
    const { algorithm, base64 } = this.#announced;
    const found = this.#running.base64();
    if (found !== base64) throw createDamagedBytesError(address, `their ${algorithm} is ${found}, the server announced ${base64}`);
  }
}

export function createDamagedBytesError(address: string, found: string, cause?: unknown): ReturnType<typeof createBrokenReadError> {
  return createBrokenReadError(address, `the bytes were damaged on the way: ${found}. Read it again`, cause);
}

function createAnnouncedDigest(algorithm: 'sha256' | 'md5', base64: string): AnnouncedDigest {
  return {
    algorithm,
    base64,
    start: () => {
      const hash = createHash(algorithm);
      return { update: (chunk) => void hash.update(chunk), base64: () => hash.digest('base64') };
    },
  };
}

function startCrc32(): RunningDigest {
  let value = 0;
  return {
    update: (chunk) => void (value = crc32(chunk, value)),
    base64() {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes.toString('base64');
    },
  };
}

function findValue(header: string | readonly string[] | undefined, pattern: RegExp): string | undefined {
  return pattern.exec(joinHeader(header))?.groups?.['base64'];
}

function joinHeader(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : (header ?? []).join(', ');
}
