import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/sandbox.ts';
import { E2bGround } from '../../../support/e2b/e2b-ground.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { heldMemory } from '../../../support/held-memory.ts';
import { shellCommands } from '../../../contract/sandbox-commands.ts';
import { firstLine } from '../../../contract/sandbox-scene.ts';
import { TEMPLATE } from '../../../support/evaluation-scene.ts';

useRealSockets();

const MEBIBYTE = 2 ** 20;
/** Only with `E2B_BULK_MIB=1024`, in minutes: the contract has the short form of both. */
const IS_ASKED_FOR = process.env['E2B_BULK_MIB'] !== undefined;
const SIZE = Number(process.env['E2B_BULK_MIB']) * MEBIBYTE;
const PIECE = 65_536;
/** What the simulator holds counts as well: it is in this process, too. */
const MOST_GROWTH = 100 * MEBIBYTE;
const LONG = { timeout: 1_800_000 };
const NEVER = new AbortController().signal;
const commands = shellCommands('python3');

let ground: E2bGround;
let provider: SandboxProvider;
beforeEach(async () => {
  ground = await E2bGround.open([]);
  provider = ground.provider();
});
afterEach(async () => {
  await provider[Symbol.asyncDispose]();
  await ground[Symbol.asyncDispose]();
});

function create(command: readonly string[]): Promise<Sandbox> {
  return provider.create({ id: parseSandboxId('bulk'), template: { ...TEMPLATE, command } }, NEVER);
}

/** Looks at the memory now and then, while bytes pass. */
class Watch {
  readonly #before = heldMemory();
  #seen = 0;
  #nextLook = 0;
  growth = 0;

  passed(bytes: number): void {
    this.#seen += bytes;
    if (this.#seen < this.#nextLook) return;
    this.#nextLook += SIZE / 8;
    this.growth = Math.max(this.growth, heldMemory() - this.#before);
  }
}

test.runIf(IS_ASKED_FOR)('a bulky upload passes in bounded memory, and arrives whole', LONG, async () => {
  const sandbox = await create(commands.hashFiles());
  const watch = new Watch();
  const sent = createHash('sha256');
  const pieces = function* (): Generator<Buffer> {
    for (let at = 0; at < SIZE; at += PIECE) {
      const piece = Buffer.alloc(PIECE, at / PIECE);
      sent.update(piece);
      watch.passed(PIECE);
      yield piece;
    }
  };
  const inside = await sandbox.upload('bulk', { kind: 'stream', stream: Readable.from(pieces()) }, NEVER);
  sandbox.stdin.write(`${inside}\n`);
  expect(await firstLine(sandbox)).toBe(`${sent.digest('hex')}\n`);
  expect(watch.growth).toBeLessThan(MOST_GROWTH);
});

test.runIf(IS_ASKED_FOR)('bulky output passes in bounded memory, though the SDK keeps output', LONG, async () => {
  const sandbox = await create(commands.emit(SIZE));
  const watch = new Watch();
  let received = 0;
  for await (const chunk of sandbox.stdout) {
    received += Buffer.from(chunk).length;
    watch.passed(Buffer.from(chunk).length);
  }
  expect(received).toBe(SIZE);
  expect(await sandbox.exit).toEqual({ kind: 'exited', code: 0 });
  expect(watch.growth).toBeLessThan(MOST_GROWTH);
});
