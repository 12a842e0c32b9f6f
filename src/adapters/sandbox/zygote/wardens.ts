import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { raceWithAbort } from '../../../kernel/abort.ts';
import { getMessage } from '../../../kernel/errors.ts';
import type { SharedContent, Sharing } from '../../../pool/ports/shared-content.ts';
import { buildEnvironmentArguments, buildSystemArguments, buildWardenArguments } from '../bubblewrap/command/command-line.ts';
import { launchHolder } from '../bubblewrap/command/launcher.ts';
import { Inbox } from '../local/inbox.ts';
import type { ApartTemplate, SandboxSite, StartedPair, StartedProgram } from '../local/local-runtime.ts';
import { readRootView } from '../local/template/system-view.ts';
import { PrincipalImages } from './principal-images.ts';
import type { PlacedContent } from './shared-images.ts';
import { holdAll, SharedFiles } from './shared-files.ts';
import { StreamGate } from './stream-gate.ts';
import { Warden } from './warden.ts';
import { BASE_IMAGE } from './warden-messages.ts';
import {
  buildWardenSettings,
  FIRST_GROUP_DESCRIPTOR,
  computeGroupLimits,
  pickInterpreterEnvironment,
  type ForkableTemplate,
  type WardenContext,
} from './warden-settings.ts';

/** A sandbox that is being made, and its principal. */
type ForkSite = Pick<SandboxSite, 'id' | 'audience'>;

/** The flags with which the runner restarts itself: the same hashes in every sandbox, and nothing of the user or the environment. */
const INTERPRETER_FLAGS = ['-s', '-P'];
/** Wardens of workspaces that are kept while they hold none. Each takes about 12 MB. */
const IDLE_MAX = 8;

interface Entry {
  readonly starting: Promise<Warden>;
  warden: Warden | undefined;
  readonly isOfWorkspaces: boolean;
}

/** Directory of the images, beside those of the sandboxes, whose names have no underscore. */
const IMAGES = '_images';

/** The wardens of one provider: one for each template, started when it is first needed, and again after it has died. */
export class Wardens implements AsyncDisposable {
  readonly #context: WardenContext;
  readonly #log: (message: string) => void;
  readonly #opened: Promise<{ readonly gate: StreamGate; readonly inbox: Inbox; readonly places: SharedFiles }>;
  /** Wardens in the order of their last use. */
  readonly #wardens = new Map<string, Entry>();
  readonly #images = new Map<string, PrincipalImages>();
  readonly #ending = new Set<Promise<void>>();
  #imagesMade = 0;

  /** @param log gets problems that fail nothing. */
  constructor(context: WardenContext, log: (message: string) => void) {
    this.#context = context;
    this.#log = log;
    this.#opened = openSharedFiles(context.directory, log);
    this.#opened.catch(() => {});
  }

  /** Resolves when the program is about to begin. @throws InfrastructureError */
  async fork({ id, audience }: ForkSite, template: ForkableTemplate, signal: AbortSignal): Promise<StartedProgram> {
    const warden = await raceWithAbort(this.#getWarden(template), signal);
    if (template.workspace) return { program: await warden.fork({ sandbox: id, command: template.command, image: BASE_IMAGE }, signal) };
    const { image, shares, past } = this.#getImages(template).choose(warden, audience);
    return { program: await warden.fork({ sandbox: id, command: template.command, image }, signal), shares, past };
  }

  /**
   * Forks the two programs of one sandbox. Content that sandboxes of the template share is for the policy alone: the environment's program is forked
   * from an image without a policy.
   */
  async forkPair(
    sites: { readonly environment: ForkSite; readonly policy: ForkSite },
    template: ForkableTemplate & ApartTemplate,
    signal: AbortSignal,
  ): Promise<StartedPair> {
    const warden = await raceWithAbort(this.#getWarden(template), signal);
    const { image, shares, past } = this.#getImages(template).choose(warden, sites.policy.audience);
    const [environment, policy] = await warden.forkPair(
      { sandbox: sites.environment.id, command: template.command, image: BASE_IMAGE },
      { sandbox: sites.policy.id, command: template.policy.command, image },
      signal,
    );
    return { environment: { program: environment }, policy: { program: policy, shares, past } };
  }

  /** See `SandboxProvider.share`. */
  async share(template: ForkableTemplate, content: readonly SharedContent[], principal: string, signal: AbortSignal): Promise<Sharing> {
    const { places } = await raceWithAbort(this.#opened, signal);
    const holds = await holdAll(places, content, signal);
    const placed = content.map((each, i): PlacedContent => ({ content: each, path: holds[i]?.path ?? '' }));
    const images = this.#getImages(template).get(principal);
    for (const each of placed) images.want(each);
    // Loading begins before the first sandbox requests it, if there is a warden.
    const begun = this.#getWarden(template).then(
      (warden) => void images.choose(warden),
      () => undefined,
    );
    const digests = content.map(({ digest }) => digest);
    const held = [...placed];
    const release = (): void => {
      for (const each of held.splice(0)) images.markUnwanted(each);
      for (const hold of holds) hold[Symbol.dispose]();
    };
    return {
      digests,
      get isOn() {
        return !digests.some((digest) => images.isUnfit(digest));
      },
      isLight: async (digest, until) => {
        await raceWithAbort(begun, until);
        return await raceWithAbort(images.isLight(digest), until);
      },
      waitUntilIncluded: (until) => raceWithAbort(images.waitUntilIncluded(digests), until),
      [Symbol.dispose]: release,
    };
  }

  #getImages(template: ForkableTemplate): PrincipalImages {
    const key = selectKey(template);
    const images = this.#images.get(key) ?? new PrincipalImages(this.#log, () => `image-${(this.#imagesMade += 1)}`);
    this.#images.set(key, images);
    return images;
  }

  /** @throws InfrastructureError `sandbox.spawn` */
  #getWarden(template: ForkableTemplate): Promise<Warden> {
    const key = selectKey(template);
    const known = this.#wardens.get(key);
    this.#wardens.delete(key);
    if (known && known.warden?.hasEnded !== true) {
      this.#wardens.set(key, known);
      return known.starting;
    }
    if (template.workspace) this.#endIdle();
    const entry: Entry = { starting: this.#start(template), warden: undefined, isOfWorkspaces: template.workspace !== undefined };
    this.#wardens.set(key, entry);
    entry.starting.then(
      (warden) => (entry.warden = warden),
      () => this.#wardens.delete(key),
    );
    return entry.starting;
  }

  /** Tasks have many workspaces, each with a warden: the ones that have been idle for longest are ended for the next one. */
  #endIdle(): void {
    const idle = [...this.#wardens].filter(([, { warden, isOfWorkspaces }]) => isOfWorkspaces && warden?.isIdle === true);
    for (const [key, { warden }] of idle.slice(0, Math.max(0, idle.length - IDLE_MAX + 1))) {
      this.#wardens.delete(key);
      const ending = warden?.[Symbol.asyncDispose]();
      if (ending) this.#ending.add(ending);
      void ending?.then(() => this.#ending.delete(ending));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const started = await Promise.allSettled([...this.#wardens.values()].map(({ starting }) => starting));
    const wardens = started.flatMap((warden) => (warden.status === 'fulfilled' ? [warden.value] : []));
    await Promise.all([...this.#ending, ...wardens.map(async (warden) => warden[Symbol.asyncDispose]())]);
    const opened = await this.#opened.catch(() => undefined);
    await opened?.inbox.close();
    await opened?.gate[Symbol.asyncDispose]();
  }

  async #start(template: ForkableTemplate): Promise<Warden> {
    const { bwrap, system, etc, directory, covered, ownUser } = this.#context;
    const { gate, inbox } = await this.#opened;
    const hierarchies = this.#context.cgroups?.listLimitFiles(computeGroupLimits(template)) ?? [];
    const groups = await Promise.all(hierarchies.map(({ directory: group }) => open(group, 'r')));
    try {
      const { python, start = [python, ...INTERPRETER_FLAGS], program } = template.zygote;
      const root = template.workspace?.root;
      const view = root === undefined ? system : buildSystemArguments(await readRootView(root));
      const descriptors = [...groups, ...(ownUser ? [ownUser.wardens] : [])].map(({ fd }) => fd);
      const namespace = ownUser && FIRST_GROUP_DESCRIPTOR + groups.length;
      const process = await launchHolder(
        {
          bubblewrap: [bwrap, ...buildWardenArguments(template, { system: view, etc, inbox: inbox.directory }, directory, namespace)],
          unlisted: buildEnvironmentArguments(pickInterpreterEnvironment(template.environment)),
          program: [...start, program],
          limits: template.limits,
          covered,
        },
        descriptors,
      );
      process.stdin.write(`${JSON.stringify({ type: 'open', ...buildWardenSettings(template, this.#context, hierarchies) })}\n`);
      return new Warden(process, gate, this.#context.clock);
    } finally {
      for (const group of groups) await group.close();
    }
  }
}

/** Templates that differ in nothing else share a warden: each sandbox's order names its program. */
function selectKey(template: ForkableTemplate): string {
  return JSON.stringify({ ...template, name: undefined, command: undefined });
}

async function openSharedFiles(
  directory: string,
  log: (message: string) => void,
): Promise<{ gate: StreamGate; inbox: Inbox; places: SharedFiles }> {
  const images = path.join(directory, IMAGES);
  await mkdir(images);
  const inbox = new Inbox(images);
  await inbox.open();
  const places = new SharedFiles(inbox, (problem) => log(`what sandboxes shared could not be removed: ${getMessage(problem)}`));
  return { gate: await StreamGate.open(directory), inbox, places };
}
