import type { FastifyReply } from 'fastify';

/** Answers with a document that is stored as a text: its bytes are sent unchanged, without parsing. */
export function sendJsonText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text);
}

/** Answers with a file's bytes. What an agent has written is never shown by a browser as a page of this server. */
export function sendFile(reply: FastifyReply, content: Buffer): FastifyReply {
  return reply
    .header('x-content-type-options', 'nosniff')
    .header('content-disposition', 'attachment')
    .type('application/octet-stream')
    .send(content);
}
