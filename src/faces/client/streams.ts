import { createParser } from 'eventsource-parser';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { sleep } from '../../kernel/clock.ts';
import { Deadline, withTimeout } from '../../kernel/deadline.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import { type EpisodeLine, episodeSchema } from '../http/schemas/episode-schemas.ts';
import { type LiveMessage, liveMessageSchema } from '../http/schemas/live-schemas.ts';
import type { Call, Calls } from './calls.ts';
import { UnavailableError } from './client-errors.ts';
import { Patience } from './patience.ts';
import { readChunks, readLines } from './wire.ts';

const eventSchema = z.object({
  sequence: z.int().describe('1, 2, … of its evaluation, without a gap'),
  type: z.string().describe('`state`, `progress` or `verdict`'),
  at: z.string(),
  data: z.unknown(),
});
export type FollowedEvent = z.infer<typeof eventSchema>;

/** The server sends something every 15 s, at least a heartbeat: a connection that is silent for longer has broken. */
const SILENCE_MILLISECONDS = 45_000;

const lastSchema = z.object({ state: z.enum(['finished', 'cancelled', 'failed']) });

/** Streams all events after one, each once, until it is over, across broken connections and restarts of the server. */
export async function* streamEvents(calls: Calls, id: string, after: number, signal: AbortSignal): AsyncGenerator<FollowedEvent> {
  const patience = new Patience(calls.options);
  let last = after;
  for (;;) {
    const headers = { accept: 'text/event-stream', 'last-event-id': String(last) };
    const call = { method: 'GET', path: `${buildEvaluationPath(id)}/events`, headers } as const;
    try {
      const answer = await openStream(calls, call, signal);
      if (answer.statusCode === 204) return void answer.resume();
      for await (const data of readData(readAnswerLines(calls, answer, signal), () => patience.onSuccess())) {
        const event = calls.read(eventSchema, { text: data }, call);
        last = event.sequence;
        yield event;
        if (event.type === 'state' && lastSchema.safeParse(event.data).success) return;
      }
      throw new UnavailableError('server.stream', `${id}: the stream of events ended before the evaluation did`);
    } catch (error) {
      await calls.pause(patience, error, signal);
    }
  }
}

/** Yields settled episodes, by index. A broken stream continues where it broke. */
export async function* streamEpisodes(
  calls: Calls,
  id: string,
  first: number,
  arm: number,
  signal: AbortSignal,
): AsyncGenerator<EpisodeLine> {
  const patience = new Patience(calls.options);
  let next = first;
  for (;;) {
    const call = { method: 'GET', path: `${buildEvaluationPath(id)}/episodes?from=${next}&arm=${arm}` } as const;
    try {
      const answer = await openStream(calls, call, signal);
      for await (const line of readAnswerLines(calls, answer, signal)) {
        const episode = calls.read(episodeSchema, { text: line }, call);
        next = episode.index + 1;
        patience.onSuccess();
        yield episode;
      }
      return;
    } catch (error) {
      await calls.pause(patience, error, signal);
    }
  }
}

/**
 * Changes of all evaluations and pools, at most twice a second, until the signal is aborted. The first message after a reconnection says that changes
 * were left out.
 *
 * @param onLost called when a connection has broken, before the next attempt; not when the signal has ended it.
 */
export async function* streamLive(calls: Calls, onLost: () => void, signal: AbortSignal): AsyncGenerator<LiveMessage> {
  const patience = new Patience(calls.options);
  const call = { method: 'GET', path: '/v1/live', headers: { accept: 'text/event-stream' } } as const;
  let wasLost = false;
  for (;;) {
    try {
      const answer = await openStream(calls, call, signal);
      for await (const data of readData(readAnswerLines(calls, answer, signal), () => patience.onSuccess())) {
        const message = calls.read(liveMessageSchema, { text: data }, call);
        yield wasLost ? { ...message, isIncomplete: true } : message;
        wasLost = false;
      }
      throw new UnavailableError('server.stream', 'the live stream ended');
    } catch (error) {
      signal.throwIfAborted();
      wasLost = true;
      onLost();
      await sleep(calls.options.clock, patience.pauseAfter(error), signal);
    }
  }
}

export function buildEvaluationPath(id: string): string {
  return `/v1/evaluations/${encodeURIComponent(id)}`;
}

async function openStream(calls: Calls, call: Call, signal: AbortSignal): Promise<IncomingMessage> {
  const { clock, url } = calls.options;
  // After its head the answer has a deadline for each line.
  using head = new Deadline(clock, SILENCE_MILLISECONDS, () => createSilenceError(url));
  const connection = AbortSignal.any([head.signal, signal]);
  return await calls.open(call, connection);
}

function readAnswerLines(calls: Calls, answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<string> {
  return readLines(readWithDeadline(calls, answer, signal), createTooLongError);
}

/** @throws UnavailableError when nothing arrives for too long. */
async function* readWithDeadline(calls: Calls, answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { clock, url } = calls.options;
  const chunks = readChunks(answer, url, signal);
  try {
    for (;;) {
      const { done, value } = await withTimeout(clock, SILENCE_MILLISECONDS, chunks.next(), () => createSilenceError(url));
      if (done === true) return;
      yield value;
    }
  } finally {
    answer.destroy();
  }
}

/** Reads the data of server-sent events. @param onLine called for every line, also for a heartbeat. */
async function* readData(lines: AsyncIterable<string>, onLine: () => void): AsyncGenerator<string> {
  let found: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => void found.push(data) });
  for await (const line of lines) {
    onLine();
    parser.feed(`${line}\n`);
    yield* found;
    found = [];
  }
}

function createTooLongError(most: number): InfrastructureError {
  return new InfrastructureError(
    'server.answer',
    `the server sent a line of more than ${most} characters; expected an event or an episode`,
  );
}

function createSilenceError(url: string): UnavailableError {
  return new UnavailableError('server.silent', `${url} said nothing for ${SILENCE_MILLISECONDS / 1000} s`);
}
