import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { addAbortSignal, type Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createAbortError, raceWithAbort } from '../../../../kernel/abort.ts';
import { InfrastructureError, getMessage } from '../../../../kernel/errors.ts';
import type { UploadContent } from '../../../../pool/ports/upload-target.ts';
import { checkUploadPath, INBOX } from '../../upload-path.ts';
import type { ProgramChannel } from '../exec/program-channel.ts';

/** Runs a command in the container that may write the inbox. */
export type InboxExec = (command: readonly string[], signal: AbortSignal) => Promise<ProgramChannel>;

/**
 * Writes the input to a temporary file, and moves it into place when it is complete: a broken connection ends the input like any other end. A build's
 * inbox is made by its program, which may begin later. Arguments: the incomplete file, the complete one, its directory, its size or nothing.
 */
const RECEIVE =
  'set -e; mkdir -p "${1%/*}"; cat >"$1"; size=$(wc -c <"$1"); if [ -z "$4" ]; then echo $size; exit; fi; test "$size" -eq "$4" || exit 9; ';
const PLACE = 'chmod 0444 "$1"; mkdir -p "$3"; mv -f "$1" "$2"';
const REMOVE = 'rm -f "$1"';

/**
 * Brings a file into a pod's inbox through its `inbox` container; see `Sandbox.upload`. The file streams: memory does not grow with it.
 */
export async function uploadToInbox(exec: InboxExec, target: string, content: UploadContent, signal: AbortSignal): Promise<string> {
  checkUploadPath(target);
  const complete = path.posix.join(INBOX, target);
  const files = [`${INBOX}/.incomplete-${randomUUID()}`, complete, path.posix.dirname(complete)] as const;
  try {
    if (signal.aborted) throw createAbortError(signal);
    const size = content.kind === 'file' ? await measureFile(content.hostPath) : undefined;
    const sent = await send(exec, files, content, size, signal);
    // A stream's size is known at its end only: then it is checked whether all of it has arrived, and moved into place.
    if (size === undefined) await run(exec, [`test "$(wc -c <"$1")" -eq "$4"; ${PLACE}`, ...files, String(sent)], signal);
    return complete;
  } catch (error) {
    if (content.kind === 'stream') content.stream.destroy();
    await removeQuietly(exec, files[0], signal);
    if (signal.aborted) throw createAbortError(signal);
    throw new InfrastructureError('sandbox.upload', `upload of "${target}" failed: ${getMessage(error)}`, { cause: error });
  }
}

/** Whether the container still executes commands. Never rejects. */
export async function canRunCommand(exec: InboxExec, signal: AbortSignal): Promise<boolean> {
  try {
    await run(exec, [':'], signal);
    return true;
  } catch {
    return false;
  }
}

/** @returns the number of bytes. */
async function send(
  exec: InboxExec,
  files: readonly string[],
  content: UploadContent,
  size: number | undefined,
  signal: AbortSignal,
): Promise<number> {
  const channel = await exec(buildShellCommand(`${RECEIVE}${PLACE}`, [...files, size === undefined ? '' : String(size)]), signal);
  let sent = 0;
  try {
    for await (const piece of getPieces(content, signal)) {
      await raceWithAbort(writePiece(channel.stdin, piece), signal);
      sent += piece.length;
    }
    channel.stdin.end();
    await awaitSuccess(channel, signal);
  } catch (error) {
    channel.terminate();
    throw error;
  }
  return sent;
}

/** Resolves when the piece has left this process, and its memory is free again. */
async function writePiece(input: Writable, piece: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  input.write(piece, (error) => (error ? reject(error) : resolve()));
  await promise;
}

async function run(exec: InboxExec, [script = '', ...words]: readonly string[], signal: AbortSignal): Promise<void> {
  const channel = await exec(buildShellCommand(`set -e; ${script}`, words), signal);
  channel.stdin.end();
  try {
    await awaitSuccess(channel, signal);
  } catch (error) {
    channel.terminate();
    throw error;
  }
}

async function awaitSuccess(channel: ProgramChannel, signal: AbortSignal): Promise<void> {
  channel.stdout.resume();
  const [said, end] = await raceWithAbort(Promise.all([text(channel.stderr), channel.ended]), signal);
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return;
      throw new Error(said.trim().slice(0, 500) || `only a part of it arrived (exit code ${end.code})`);
    case 'failed':
    case 'dropped':
      throw new Error(end.detail);
  }
}

/** A file that cannot be removed is removed with the pod. */
async function removeQuietly(exec: InboxExec, incomplete: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await run(exec, [REMOVE, incomplete], signal).catch(() => undefined);
}

async function measureFile(hostPath: string): Promise<number> {
  const found = await stat(hostPath);
  if (!found.isFile()) throw new Error(`${hostPath} is not a regular file`);
  return found.size;
}

function buildShellCommand(script: string, words: readonly string[]): readonly string[] {
  return ['/bin/sh', '-c', script, 'muster-inbox', ...words];
}

/** Large enough for few round trips to the disk, small enough for hundreds of uploads at the same time. */
const PIECE_BYTES = 128 * 1024;

/**
 * Returns the pieces of an upload, in order. A piece is valid only until the next is requested: all of a file's are read into the same memory, so
 * that a large file leaves no more garbage than a small one.
 */
function getPieces(content: UploadContent, signal: AbortSignal): AsyncIterable<Buffer> {
  return content.kind === 'file' ? readFileChunks(content.hostPath) : readStreamChunks(addAbortSignal(signal, content.stream));
}

async function* readFileChunks(hostPath: string): AsyncGenerator<Buffer> {
  await using file = await open(hostPath);
  const memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(memory, 0, memory.length);
    if (bytesRead === 0) return;
    yield memory.subarray(0, bytesRead);
  }
}

async function* readStreamChunks(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    if (chunk instanceof Uint8Array) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    else yield Buffer.from(String(chunk));
  }
}
