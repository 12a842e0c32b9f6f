import { describeUrl } from '../../service/access/egress.ts';
import { InputError } from '../../kernel/errors.ts';
import { builtInAgents } from './built-in-agents.ts';
import type { CheckpointSource, ListedFile } from '../../policy-distribution/checkpoint-source.ts';

export interface SourcesByUri {
  /** It reads absolute paths and `file:` URLs. */
  readonly files: CheckpointSource;
  /** It reads `http:` and `https:` URLs. */
  readonly web: CheckpointSource;
  /** It reads `gs:` URIs. */
  readonly gcs: CheckpointSource;
  /** It reads `s3:` URIs. */
  readonly s3: CheckpointSource;
}

const KNOWN = 'file:///path, https://host/path, gs://bucket/name or s3://bucket/name';

/** Combines all sources into one. @throws InputError `checkpoint.uri` also, for a URI that belongs to none. */
export function createSourceByUri(sources: SourcesByUri): CheckpointSource {
  const listedBy = new WeakMap<ListedFile, CheckpointSource>();
  const findSource = (file: ListedFile): CheckpointSource => listedBy.get(file) ?? getSource(sources, file.address);
  return {
    async list(uri, options) {
      const source = getSource(sources, uri);
      const listing = await source.list(uri, options);
      for (const file of listing.files) listedBy.set(file, source);
      return listing;
    },
    read: (file, signal, buffer) => findSource(file).read(file, signal, buffer),
    readFrom(file, from, signal) {
      const source = findSource(file);
      return source.readFrom?.(file, from, signal) ?? skipBytes(from, source.read(file, signal));
    },
  };
}

/** Reads and discards the first `from` bytes. */
async function* skipBytes(from: number, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let passed = 0;
  for await (const chunk of bytes) {
    const rest = chunk.subarray(Math.min(chunk.length, Math.max(0, from - passed)));
    passed += chunk.length;
    if (rest.length > 0) yield rest;
  }
}

function getSource({ files, web, gcs, s3 }: SourcesByUri, uri: string): CheckpointSource {
  if (uri.startsWith('/')) return files;
  switch (URL.parse(uri)?.protocol) {
    case 'file:':
      return files;
    case 'http:':
    case 'https:':
      return web;
    case 'agent:':
      return builtInAgents;
    case 'gs:':
      return gcs;
    case 's3:':
      return s3;
    case undefined:
      throw new InputError('checkpoint.uri', `checkpoint: ${describeUrl(uri)} is not a URI; expected an absolute path, or a URI: ${KNOWN}`);
    default:
      throw new InputError('checkpoint.uri', `checkpoint: ${describeUrl(uri)}: expected an absolute path, or a URI: ${KNOWN}`);
  }
}
