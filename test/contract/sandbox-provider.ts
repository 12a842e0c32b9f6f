import { afterEach, beforeEach, describe } from 'vitest';
import type { SandboxId } from '../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Mount, SandboxTemplate, Zygote } from '../../src/pool/ports/template.ts';
import { sampled } from '../support/full-form.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import type { SkippableClock } from '../support/skippable-clock.ts';
import { contractCase, type ExpectedFailures } from './expected-failure.ts';
import { DISK_BOMB, MEMORY_BOMB, PROCESS_COUNT } from './limit-failures.ts';
import type { SandboxCommands } from './sandbox-commands.ts';
import { SandboxFixture } from './sandbox-fixture.ts';
import { isolationScenarios } from './scenarios/isolation.ts';
import { leavingScenarios } from './scenarios/leaving.ts';
import { limitScenarios } from './scenarios/limits.ts';
import { streamScenarios } from './scenarios/streams.ts';
import { uploadScenarios } from './scenarios/uploads.ts';

/** What the contract needs to know of an adapter. */
export interface SandboxProviderSubject {
  readonly commands: SandboxCommands;
  /** What the commands need from the host. */
  readonly mounts: readonly Mount[];
  /** What sandboxes are forked from, if they are. */
  readonly zygote?: Zygote;
  /** A place of its own for one test. */
  open(): Promise<SandboxContext>;
  /** Groups of which the short form runs the scenarios of SAMPLE, where another subject of the same adapter, or of a cheaper one, shows the rest. */
  readonly sample?: readonly Group[];
}

/** The place that the providers of one test share: a machine, a cluster, an account. */
export interface SandboxContext extends AsyncDisposable {
  readonly clock: SkippableClock;
  /** A provider of another owner each time. */
  provider(): SandboxProvider;
  /** What there is of sandboxes, outside of the providers' own memory; empty when nothing is left. */
  traces(): Promise<readonly string[]>;
  /** Processes of programs that carry the marker, where this machine's process table does not show them. */
  markedProcesses?(marker: string): Promise<readonly string[]>;
  /** What this machine has charged to a sandbox, where the machine's own kernel does not report it to a program inside. */
  processorSeconds?(provider: SandboxProvider, id: SandboxId): Promise<number>;
  /** Takes a sandbox away behind its provider's back. */
  killFromOutside(provider: SandboxProvider, id: SandboxId): Promise<void>;
  /** Another Muster creates sandboxes with these commands and dies without warning. @returns their ids. */
  crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]>;
  /** What every template has besides, on this context. */
  readonly additions?: Partial<SandboxTemplate>;
  /** Host paths that no sandbox may see. */
  readonly hiddenPaths: readonly string[];
}

export type Scenario = (fixture: SandboxFixture) => Promise<void>;

const GROUPS = {
  streams: streamScenarios,
  uploads: uploadScenarios,
  leaving: leavingScenarios,
  isolation: isolationScenarios,
  limits: limitScenarios,
} as const;
type Group = keyof typeof GROUPS;
export const ALL_GROUPS: readonly Group[] = ['streams', 'uploads', 'leaving', 'isolation', 'limits'];

/**
 * What the short form runs of a sampled group: the scenarios in which adapters differ most. The subjects without a sample, bubblewrap's plain
 * sandboxes and the in-memory provider, run all scenarios in both forms.
 */
const SAMPLE: Readonly<Record<Group, readonly string[]>> = {
  streams: [
    'the exit code is the program’s',
    'the end of stdin is a half-close: output still flows',
    'bytes of every value pass unchanged both ways',
    'a program whose output is not read is stopped, and goes on when it is read',
  ],
  uploads: [
    'a host file is the same inside',
    'an upload that is aborted half-way does not appear',
    'an uploaded file cannot be changed from inside',
  ],
  leaving: [
    'a lifetime that passes leaves no descendant',
    'a creation that is aborted at any moment leaves nothing',
    'closing the provider destroys what runs and what is being made',
    'a sandbox that is taken away from outside is lost',
    'a sweep removes what a crashed owner left, and nothing of a live one',
  ],
  isolation: [
    'two sandboxes see nothing of each other',
    'the network is out of reach, the host’s loopback included',
    'nothing can be written but in /tmp and /dev/shm',
    'the program has no capability, no way to gain any, and is not root',
  ],
  limits: ['every limit is described, and a limit that cannot be enforced cannot be demanded', PROCESS_COUNT, MEMORY_BOMB, DISK_BOMB],
};

/**
 * Every adapter of the SandboxProvider port passes this.
 *
 * @param unfit scenarios that the adapter cannot fulfil.
 * @param unavailable why this machine can run none of them.
 */
export function sandboxProviderContract(
  name: string,
  subject: SandboxProviderSubject,
  unfit: ExpectedFailures = {},
  unavailable?: string,
): void {
  const unknown = [...Object.keys(unfit), ...Object.values(SAMPLE).flat()].filter(
    (title) => !ALL_GROUPS.some((group) => title in GROUPS[group]),
  );
  if (unknown.length > 0) throw new Error(`${name} excepts or samples scenarios that do not exist: ${unknown.join('; ')}`);

  const { sample } = subject;
  const isInShortForm =
    (group: Group) =>
    ([title]: readonly [string, Scenario]): boolean =>
      sample === undefined || (sample.includes(group) && SAMPLE[group].includes(title));
  const where = unavailable === undefined ? '' : ` (not here: ${unavailable})`;
  describe.runIf(unavailable === undefined)(`${name} is a sandbox provider${where}`, () => {
    failOnLeftoverProcesses();
    let fixture: SandboxFixture;
    beforeEach(async () => {
      fixture = new SandboxFixture(subject, await subject.open());
    });
    afterEach(() => fixture[Symbol.asyncDispose]());

    for (const group of ALL_GROUPS)
      for (const [title, scenario] of sampled(Object.entries(GROUPS[group]), isInShortForm(group)))
        contractCase(title, () => scenario(fixture), unfit[title]);
  });
}
