import { describe, expect, it } from 'vitest';
import { parseAgentEpisodeId } from '../../src/agents/arena/episode-ids.ts';
import type { FileContents } from '../../src/agents/arena/step-files.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { Digest } from '../../src/kernel/ids.ts';

const TREE = parseAgentEpisodeId('ep-tree');
const OTHER = parseAgentEpisodeId('ep-other');

function contentsOf(...contents: readonly Buffer[]): ReadonlyMap<Digest, Buffer> {
  return new Map(contents.map((content) => [digestBytes(content), content]));
}

/** Runs every case on a fresh subject. */
export function fileContentsContract(name: string, make: () => Promise<AsyncDisposable & { readonly contents: FileContents }>): void {
  describe(`${name} keeps the contract of contents of files`, () => {
    it('returns stored content of any size, repeatedly and to several readers at once', async () => {
      await using subject = await make();
      const { contents } = subject;
      const [empty, small, large] = [Buffer.alloc(0), Buffer.from([0, 255, 10]), Buffer.alloc(1_000_001, 'x')];
      const all = contentsOf(empty, small, large);
      await Promise.all([contents.keep(TREE, all), contents.keep(TREE, all)]);
      await contents.keep(TREE, contentsOf(small));
      for (const [digest, content] of all) expect((await contents.read(TREE, digest))?.equals(content)).toBe(true);
      expect(await contents.read(TREE, digestBytes('nothing'))).toBeUndefined();
    });

    it('forgets only one tree of episodes', async () => {
      await using subject = await make();
      const { contents } = subject;
      const content = Buffer.from('of both');
      for (const tree of [TREE, OTHER]) await contents.keep(tree, contentsOf(content));
      await contents.forget(TREE);
      await contents.forget(TREE);
      expect(await contents.read(TREE, digestBytes(content))).toBeUndefined();
      expect((await contents.read(OTHER, digestBytes(content)))?.toString()).toBe('of both');
    });
  });
}
