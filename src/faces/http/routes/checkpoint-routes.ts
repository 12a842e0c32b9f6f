import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { InfrastructureError, InputError, MusterError } from '../../../kernel/errors.ts';
import { parseDigest } from '../../../kernel/ids.ts';
import { getDigestHex } from '../../../policy-distribution/checkpoint.ts';
import type { StoredCheckpoint } from '../../../policy-distribution/stored-checkpoint.ts';
import { parseCarriedBytes } from '../../../policy-distribution/uploads/content-range.ts';
import type { UploadContent } from '../../../policy-distribution/uploads/uploads.ts';
import type { CheckpointService } from '../../../service/checkpoints/checkpoint-service.ts';
import { requireCaller } from '../requests/caller.ts';
import {
  checkpointParamsSchema,
  checkpointSchema,
  partialUploadSchema,
  receivedQuerySchema,
  uploadBodySchema,
  uploadHeadersSchema,
  uploadQuerySchema,
} from '../schemas/checkpoint-schemas.ts';
import { createGoneSignal } from '../requests/gone-signal.ts';
import { UPLOAD_OFFSET } from '../problems/problem-headers.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';

const ROUTE = '/v1/checkpoints/:sha256';
/** A refused body that is longer, or of which a part was read, is not read to its end: the connection is closed instead. */
const DRAINED_BYTES = 32 * 2 ** 20;
/** A name without meaning: for the files of a directory, whose manifest names them. */
const NAMELESS = 'checkpoint';

/** Whether a route reads its body as it comes. */
export function isUpload(route: string): boolean {
  return route === ROUTE;
}

/** Adds the upload of checkpoints, in a scope of its own, as its bodies are not parsed. */
export async function addCheckpointRoutes(scope: FastifyInstance, checkpoints: CheckpointService): Promise<void> {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  scope.addHook('onSend', async ({ raw, headers }, reply) => {
    const isLeft = raw.readableDidRead || Number(headers['content-length'] ?? 0) > DRAINED_BYTES;
    if (reply.statusCode >= 400 && !raw.complete && isLeft) reply.header('connection', 'close');
  });
  addHeadRoute(scope, checkpoints);
  addPutRoute(scope, checkpoints);
}

function addHeadRoute(scope: FastifyInstance, checkpoints: CheckpointService): void {
  scope.withTypeProvider<ZodTypeProvider>().head(
    ROUTE,
    {
      schema: {
        summary: 'Whether a checkpoint is here for you, and how much of its upload has come',
        description:
          'A checkpoint exists only for principals that sent it or were granted it. Without it, the header Upload-Offset of the 404 says how many bytes of your own upload have come: of the file, or of what is sent in its place. With a name of another format than the one that you sent it under, it is absent: send it again under that name.',
        tags: ['checkpoints'],
        params: checkpointParamsSchema,
        querystring: receivedQuerySchema,
        response: { 200: z.undefined().describe('it is here, whole'), ...PROBLEMS },
      },
    },
    async (request, reply) => {
      const digest = parseDigest(`sha256:${request.params.sha256}`);
      const { principal } = requireCaller(request.caller);
      if (await checkpoints.find(digest, principal, request.query.name)) return reply.code(200).send(undefined);
      const received = await checkpoints.countReceived(digest, principal, request.query.kind);
      reply.header(UPLOAD_OFFSET, String(received));
      throw new InputError('checkpoint.not-found', `there is no checkpoint ${digest}, and ${received} bytes of it have arrived`);
    },
  );
}

function addPutRoute(scope: FastifyInstance, checkpoints: CheckpointService): void {
  scope.withTypeProvider<ZodTypeProvider>().put(
    ROUTE,
    {
      schema: {
        summary: 'Bring a checkpoint, whole or in parts',
        description:
          'The bytes that have arrived are kept when a connection breaks: HEAD says how many, and a PUT with Content-Range continues from there. The digest is verified before the checkpoint can be used. A part that begins elsewhere is refused with 409 and the header Upload-Offset; one that begins at 0 starts anew.',
        tags: ['checkpoints'],
        consumes: ['application/octet-stream'],
        params: checkpointParamsSchema,
        querystring: uploadQuerySchema,
        headers: uploadHeadersSchema,
        body: uploadBodySchema,
        response: {
          201: checkpointSchema.describe('it is here, verified'),
          202: partialUploadSchema.describe('so much has arrived; send the rest'),
          ...PROBLEMS,
        },
      },
    },
    async (request, reply) => {
      const { params, query, headers } = request;
      const announced = headers['transfer-encoding'] === undefined ? (request.raw.headers['content-length'] ?? '0') : undefined;
      const { offset, length, size } = parseCarriedBytes(headers['content-range'], announced);
      const part = {
        digest: parseDigest(`sha256:${params.sha256}`),
        uploader: requireCaller(request.caller).principal,
        content: getContent(query),
        offset,
        size,
        bytes: readBytes(request, length),
      };
      const uploaded = await receiveUpload(request, () => checkpoints.receive(part, createGoneSignal(reply)));
      if (uploaded.kind === 'stored') return reply.code(201).send(toCheckpointResource(uploaded.checkpoint));
      return reply.header(UPLOAD_OFFSET, String(uploaded.received)).code(202).send({ received: uploaded.received });
    },
  );
}

/** @throws InputError `request.aborted` when the connection broke; InfrastructureError `service.draining` when the uploads were closed. */
async function receiveUpload<Value>({ raw }: FastifyRequest, receive: () => Promise<Value>): Promise<Value> {
  try {
    return await receive();
  } catch (error) {
    if (error instanceof MusterError) throw error;
    if (raw.destroyed && !raw.complete)
      throw new InputError('request.aborted', 'the connection broke before all bytes had arrived; continue with the missing ones', {
        cause: error,
      });
    if (error instanceof DOMException && error.name === 'AbortError')
      throw new InfrastructureError(
        'service.draining',
        'the server is shutting down; it keeps the bytes that have arrived, continue with the missing ones',
        {
          cause: error,
        },
      );
    throw error;
  }
}

function getContent({ kind, name }: z.infer<typeof uploadQuerySchema>): UploadContent {
  switch (kind) {
    case 'file':
    case 'delta':
      return { kind, name: name ?? NAMELESS };
    case 'manifest':
      return { kind };
  }
}

async function* readBytes({ raw }: FastifyRequest, length: number): AsyncGenerator<Uint8Array> {
  if (length === 0) return;
  const body: Readable = raw;
  for await (const chunk of body) if (chunk instanceof Uint8Array) yield chunk;
}

function toCheckpointResource({ digest, kind, files }: StoredCheckpoint): z.infer<typeof checkpointSchema> {
  return {
    sha256: getDigestHex(digest),
    kind,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    files: files.map(({ path, size, digest: ofFile }) => ({ path, size, sha256: getDigestHex(ofFile) })),
  };
}
