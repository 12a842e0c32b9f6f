import { afterEach, beforeEach, describe } from 'vitest';
import type { SandboxId } from '../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Mount, SandboxTemplate, Zygote } from '../../src/pool/ports/template.ts';
import { sampled } from '../support/full-form.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import type { SkippableClock } from '../support/skippable-clock.ts';
import { contractCase, type ExpectedFailures } from './expected-failure.ts';
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
  /** What the short form of the tests runs, where another subject shows the rest, or the rest shows little. */
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
const NAMES: readonly Group[] = ['streams', 'uploads', 'leaving', 'isolation', 'limits'];

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
  const unknown = Object.keys(unfit).filter((title) => !NAMES.some((group) => title in GROUPS[group]));
  if (unknown.length > 0) throw new Error(`${name} excepts scenarios that do not exist: ${unknown.join('; ')}`);

  const where = unavailable === undefined ? '' : ` (not here: ${unavailable})`;
  describe.runIf(unavailable === undefined)(`${name} is a sandbox provider${where}`, () => {
    failOnLeftoverProcesses();
    let fixture: SandboxFixture;
    beforeEach(async () => {
      fixture = new SandboxFixture(subject, await subject.open());
    });
    afterEach(() => fixture[Symbol.asyncDispose]());

    for (const group of sampled(NAMES, (each) => subject.sample?.includes(each) ?? true))
      for (const [title, scenario] of Object.entries(GROUPS[group])) contractCase(title, () => scenario(fixture), unfit[title]);
  });
}
