import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import { answerWithDelays } from './delay-meter.ts';

/**
 * Gives pages what another server gave, in a process of its own: answers that it asked for once, and the live stream as it was for some seconds, again
 * and again: `replaying-server.ts URL SECONDS`. Pages that follow it do what they do with the other server, and cost that one nothing.
 */
const [origin = '', seconds = '1'] = process.argv.slice(2);

interface Frame {
  /** Milliseconds after the first. */
  readonly at: number;
  readonly text: string;
}
interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

const frames = await record(1000 * Number(seconds));
const answers = new Map<string, Promise<Answer>>();
const readers = new Set<ServerResponse>();
const server = createServer((request, response) => {
  if (request.url === '/v1/live') return follow(response);
  void answer(request.url ?? '/', response);
});
server.listen(0, '0.0.0.0');
await once(server, 'listening');
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('the replaying server has no port');
answerWithDelays();
process.send?.({ url: `http://127.0.0.1:${address.port}` });
for (;;) await play();

async function record(milliseconds: number): Promise<readonly Frame[]> {
  const gone = AbortSignal.timeout(milliseconds);
  const recorded: Frame[] = [];
  const start = systemClock.now();
  let text = '';
  const { body } = await fetch(`${origin}/v1/live`);
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = `${text}${chunk}`.split(/(?<=\n\n)/);
    text = parts.at(-1)?.endsWith('\n\n') === true ? '' : (parts.pop() ?? '');
    recorded.push(...parts.map((part) => ({ at: systemClock.now() - start, text: part })));
    if (gone.aborted) break;
  }
  if (recorded.length < 2) throw new Error(`${origin} sent ${recorded.length} frames in ${milliseconds} ms`);
  return recorded;
}

/** The first frame is for readers that come; the others are for all readers at the same time, as the other server sent them. */
async function play(): Promise<void> {
  const start = systemClock.now();
  for (const { at, text } of frames.slice(1)) {
    await sleep(systemClock, Math.max(0, start + at - systemClock.now()));
    const bytes = Buffer.from(text);
    for (const reader of readers) reader.write(bytes);
  }
}

function follow(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
  response.write(frames[0]?.text ?? '');
  readers.add(response);
  response.once('close', () => readers.delete(response));
}

async function answer(url: string, response: ServerResponse): Promise<void> {
  const known = answers.get(url) ?? ask(url);
  answers.set(url, known);
  const { status, type, body } = await known;
  response.writeHead(status, { 'content-type': type }).end(body);
}

async function ask(url: string): Promise<Answer> {
  const given = await fetch(`${origin}${url}`);
  return { status: given.status, type: given.headers.get('content-type') ?? 'text/plain', body: Buffer.from(await given.arrayBuffer()) };
}
