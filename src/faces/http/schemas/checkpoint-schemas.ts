import type { Readable } from 'node:stream';
import { z } from 'zod';

export const checkpointParamsSchema = z.strictObject({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hexadecimal digits')
    .describe('of the file, or of the manifest of a directory'),
});

const uploadKindSchema = z
  .enum(['file', 'delta', 'manifest'])
  .default('file')
  .describe(
    'delta: the difference from a file on the server (muster-delta/1); manifest: the lines `<sha256 hex>  <path>` of a directory whose files are on the server',
  );

const fileNameSchema = z
  .string()
  .min(1)
  .max(255)
  .exactOptional()
  .describe(
    'of the file, with the suffix of its format, such as policy.safetensors. Left out for the files of a directory and for its manifest',
  );

/** Names the upload whose received bytes are requested. */
export const receivedQuerySchema = z.strictObject({ name: fileNameSchema, kind: uploadKindSchema });

export const uploadQuerySchema = z
  .strictObject({ name: fileNameSchema, kind: uploadKindSchema })
  .refine(({ name, kind }) => kind !== 'manifest' || name === undefined, {
    error: 'expected no name with a manifest: its paths name the files',
    path: ['name'],
  });

export const uploadHeadersSchema = z.looseObject({
  'content-range': z
    .string()
    .exactOptional()
    .describe('`bytes FIRST-LAST/SIZE` of a part; `bytes */SIZE`, without a body, when all bytes have arrived'),
});

/** A stream: the body is not held in memory. */
export const uploadBodySchema = z.custom<Readable>().meta({ type: 'string', format: 'binary', description: 'the bytes' });

export const checkpointSchema = z
  .strictObject({
    sha256: z.string(),
    kind: z.enum(['file', 'directory']),
    bytes: z.int().describe('of all files together'),
    files: z.array(z.strictObject({ path: z.string(), size: z.int(), sha256: z.string() })),
  })
  .describe('a verified checkpoint on the server');

export const partialUploadSchema = z.strictObject({
  received: z.int().describe('bytes that have arrived: the next part begins there. Also in the header Upload-Offset'),
});
