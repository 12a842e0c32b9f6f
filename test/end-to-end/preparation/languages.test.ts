import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { PATIENCE_MS, prepareFixture } from '../../support/prepared-repository.ts';
import { isFullForm } from '../../support/full-form.ts';
import { RepositoryFixture } from '../../support/repository-fixture.ts';
import { SAMPLES } from '../../support/repository-languages.ts';

/** As sandboxes look for it. */
function isInstalled(program: string): boolean {
  const PATH = '/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin';
  try {
    execFileSync('sh', ['-c', `[ -e ${program} ] || command -v ${program}`], { env: { PATH } });
    return true;
  } catch {
    return false;
  }
}

describe.runIf(isFullForm)('a repository in', () => {
  for (const { title, language, program, before, fix, failToPass, passToPass } of SAMPLES)
    it.runIf(isInstalled(program))(
      `${title}: a fix becomes a task that is sound, and mutations become tasks or are refused with a reason`,
      async () => {
        await using made = await RepositoryFixture.make();
        await made.commit('Begin with sums', before);
        await made.commit('Give a mean of no numbers\n\nThe mean of nothing was an error; it is 0 now.', fix);
        const { candidates } = await prepareFixture(made, { commits: 1, mutations: 3 });
        const [first, ...mutations] = candidates;
        const tripwires = expect.any(Number);
        expect(first).toMatchObject({
          refusal: null,
          void: null,
          evidence: { language, failToPass, passToPass, tripwires, soundness: { isSound: true } },
        });
        expect(first?.evidence.tripwires).toBeGreaterThan(0);
        expect(mutations.length).toBeGreaterThan(0);
        for (const { refusal, task } of mutations) expect((refusal === null) !== (task === null)).toBe(true);
        expect(mutations.some(({ task }) => task !== null)).toBe(true);
      },
      PATIENCE_MS,
    );
});
