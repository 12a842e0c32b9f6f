import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { z } from 'zod';
import type { InjectedFault } from './faults.ts';
import type { MachineProcess, SimulatedMachine } from './machine.ts';
import { answer, endOfStream, envelope, envelopedBody, jsonBody, Refusal, RpcRefusal } from './wire.ts';

const selector = z.object({ process: z.object({ pid: z.number() }) });
const startSchema = z.object({
  process: z.object({
    cmd: z.string(),
    args: z.array(z.string()).optional(),
    envs: z.record(z.string(), z.string()).optional(),
    cwd: z.string().optional(),
  }),
});
const inputSchema = selector.extend({ input: z.object({ stdin: z.string() }) });
const moveSchema = z.object({ source: z.string(), destination: z.string() });

/** Output of the program after which the connection is cut, so that some of it has passed. */
const FRAMES_BEFORE_CUT = 3;

type Call = (
  machine: SimulatedMachine,
  request: IncomingMessage,
  response: ServerResponse,
  fault: InjectedFault | undefined,
) => Promise<void>;

/** The daemon inside of a sandbox: processes by Connect-RPC in JSON, files by HTTP. */
export const DAEMON: Readonly<Record<string, Call>> = {
  'GET /health': async (_machine, _request, response) => answer(response, 204),

  'POST /process.Process/Start': async (machine, request, response, fault) => {
    const isRoot = userOf(request) === 'root';
    const started = await machine.start({ ...(await envelopedBody(request, startSchema)).process, isRoot });
    await relay(started, response, fault, machine);
  },

  'POST /process.Process/Connect': async (machine, request, response, fault) => {
    await relay(machine.process((await envelopedBody(request, selector)).process.pid), response, fault, machine);
  },

  'POST /process.Process/List': async (machine, _request, response) =>
    answer(response, 200, { processes: [...machine.processes.values()].map(({ pid, config }) => ({ pid, config })) }),

  'POST /process.Process/SendInput': async (machine, request, response) => {
    const { process: target, input } = await jsonBody(request, inputSchema);
    const found = machine.process(target.pid);
    const { stdin } = found.sandbox;
    if (found.isInputClosed) throw new RpcRefusal('internal', 'error writing to stdin: stdin not enabled or closed');
    // A full pipe keeps the call waiting, as a program keeps the daemon.
    if (!stdin.write(Buffer.from(input.stdin, 'base64'))) await Promise.race([hasRoom(stdin), found.sandbox.exit]);
    answer(response, 200, {});
  },

  'POST /process.Process/CloseStdin': async (machine, request, response) => {
    const found = machine.process((await jsonBody(request, selector)).process.pid);
    found.isInputClosed = true;
    found.sandbox.stdin.end();
    answer(response, 200, {});
  },

  'POST /process.Process/SendSignal': async (machine, request, response) => {
    void machine.process((await jsonBody(request, selector)).process.pid).sandbox.destroy();
    answer(response, 200, {});
  },

  'POST /filesystem.Filesystem/Move': async (machine, request, response) => {
    const { source, destination } = await jsonBody(request, moveSchema);
    await machine.move(source, destination);
    answer(response, 200, { entry: { name: path.basename(destination), type: 'FILE_TYPE_FILE', path: destination } });
  },

  'POST /files': async (machine, request, response) => {
    const type = request.headers['content-type'] ?? '';
    const target = new URL(request.url ?? '', 'http://sandbox').searchParams.get('path');
    const written = type.startsWith('multipart/') ? await writeForm(machine, request, type) : [target ?? ''];
    if (!type.startsWith('multipart/')) {
      if (target === null) throw new Refusal(400, 'path query parameter is required for raw body upload');
      await machine.write(target, request);
    }
    answer(
      response,
      200,
      written.map((file) => ({ path: file, name: path.basename(file), type: 'file' })),
    );
  },
};

/** The SDK names the user as the name of HTTP's own sign-in, without a password. */
function userOf({ headers }: IncomingMessage): string | undefined {
  const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  return basic === undefined ? undefined : Buffer.from(basic, 'base64').toString().split(':')[0];
}

async function writeForm(machine: SimulatedMachine, request: IncomingMessage, type: string): Promise<string[]> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of request) chunks.push(new Uint8Array(chunk));
  // A form's file names lose their directories on the way through FormData, so they are read from the parts' heads.
  const boundary = /boundary=(.+)$/.exec(type)?.[1] ?? '';
  const parts = Buffer.concat(chunks).toString('latin1').split(`--${boundary}`).slice(1, -1);
  const written: string[] = [];
  for (const part of parts) {
    const [head = '', ...body] = part.split('\r\n\r\n');
    const name = Buffer.from(/filename="([^"]*)"/.exec(head)?.[1] ?? '', 'latin1').toString();
    const content = Buffer.from(body.join('\r\n\r\n').slice(0, -2), 'latin1');
    await machine.write(name, Readable.from([content]));
    written.push(name);
  }
  return written;
}

/** Sends what the program prints while a client reads it, and how it ended. */
async function relay(
  started: MachineProcess,
  response: ServerResponse,
  fault: InjectedFault | undefined,
  machine: SimulatedMachine,
): Promise<void> {
  const { pid } = started;
  let frames = 0;
  const send = async (event: unknown): Promise<void> => {
    if (response.destroyed) return;
    frames += 1;
    const frame = envelope({ event });
    if (frames > FRAMES_BEFORE_CUT && fault?.kind === 'cut') {
      fault.strike();
      response.write(frame.subarray(0, frame.length / 2), () => response.destroy());
      return;
    }
    if (frames > FRAMES_BEFORE_CUT && fault?.kind === 'dies') {
      fault.strike();
      return machine.end();
    }
    if (!response.write(frame)) await hasRoom(response);
  };
  started.listener = {
    hear: async (output, bytes) => {
      for (const piece of pieces(bytes)) await send({ data: { [output]: piece.toString('base64') } });
    },
    cut: () => response.destroy(),
  };
  const { listener } = started;
  response.once('close', () => {
    if (started.listener === listener) started.listener = undefined;
  });
  response.writeHead(200, { 'content-type': 'application/connect+json' });
  await send({ start: { pid } });
  const exit = await Promise.race([started.ended, closed(response)]);
  if (machine.isOver || exit === undefined) return void response.destroy();
  await send({ end: endOf(exit) });
  if (!response.destroyed) response.end(endOfStream());
}

async function closed(response: ServerResponse): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  response.once('close', () => resolve(undefined));
  if (response.destroyed) resolve(undefined);
  return promise;
}

/** Resolves when the stream takes more, or nothing at all any more. */
async function hasRoom(stream: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const event of ['drain', 'close']) stream.on(event, resolve);
  if (stream.destroyed) resolve();
  await promise;
  for (const event of ['drain', 'close']) stream.off(event, resolve);
}

/** What the daemon reads at once. */
const CHUNK_BYTES = 32_768;

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** As Go words it. The code of 0 is left out, like every default in Connect's JSON. */
function endOf(exit: Awaited<MachineProcess['sandbox']['exit']>): object {
  if (exit.kind !== 'exited') return { exitCode: -1, status: 'signal: killed', error: 'signal: killed' };
  if (exit.code === 0) return { exited: true, status: 'exit status 0' };
  return { exitCode: exit.code, exited: true, status: `exit status ${exit.code}`, error: `exit status ${exit.code}` };
}
