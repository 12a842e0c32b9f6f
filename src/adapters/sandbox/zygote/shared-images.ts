import { getMessage } from '../../../kernel/errors.ts';
import type { SharedContent } from '../../../pool/ports/shared-content.ts';
import type { Warden } from './warden.ts';
import { BASE_IMAGE, type ImageContent, type PreloadedPolicy } from './warden-messages.ts';

/** Shared content, with its path as the warden sees it. */
export interface PlacedContent {
  readonly content: SharedContent;
  readonly path: string;
}

/** What a sandbox is forked from. */
export interface ImageChoice {
  readonly image: string;
  /** Digests of what it has in memory. */
  readonly shares: ReadonlySet<string>;
  /** Whether code of this content has run in it. */
  readonly hasRunCode: boolean;
}

/** The part of a warden that images need. */
export type ImageMaker = Pick<Warden, 'hasEnded' | 'hasImage' | 'makeImage' | 'retireImage'>;

interface Image extends ImageChoice {
  /** Digests of the code among it. */
  readonly code: ReadonlySet<string>;
  readonly warden: ImageMaker;
}

interface Making {
  readonly image: Image;
  /** Rejects when it cannot be made. */
  readonly made: Promise<unknown>;
}

/**
 * An existing sandbox loads a policy up to this size by itself. A new sandbox in its place would take about 30 ms of a processor and some megabytes.
 * A larger policy is loaded once for all sandboxes, in an image.
 */
const LIGHT = { bytes: 4 * 2 ** 20, seconds: 0.03 };

export const NOTHING: ImageChoice = { image: BASE_IMAGE, shares: new Set(), hasRunCode: false };

/**
 * Decides which image the sandboxes of one template are forked from: one with everything that is wanted at the time.
 *
 * Further content comes in an image that is forked from the present one, so that the present content is not loaded again. Until that is ready,
 * sandboxes are forked from the present one as long as it has wanted content: evaluations that play with it do not wait for what others load. An
 * image with unwanted policies stays in use, as they cost nothing. Unwanted code could disturb other code by what it did when it was imported.
 */
export class SharedImages {
  /** Contents by digest, once for each caller that wants them. */
  readonly #wanted = new Map<string, PlacedContent[]>();
  /** Digests of what could not be loaded. */
  readonly #unfit = new Set<string>();
  readonly #onProblem: (message: string) => void;
  /** Sandboxes are forked from it, whether it is ready or not. */
  #present: Image | undefined;
  /** Replaces the present one when it is ready. */
  #coming: Image | undefined;
  #changed = Promise.withResolvers<void>();
  /** Whether loaded content is light, by digest, as long as an image has it or an evaluation wants it. */
  readonly #light = new Map<string, boolean>();
  readonly #newName: () => string;

  /** @param onProblem gets the reason when content cannot be shared. @param newName a name for an image that is unique in its warden. */
  constructor(onProblem: (message: string) => void, newName: () => string) {
    this.#onProblem = onProblem;
    this.#newName = newName;
  }

  get isWanted(): boolean {
    return this.#wanted.size > 0;
  }

  /** Retires the present image, because nothing is wanted any more. */
  retire(): void {
    const present = this.#present;
    this.#present = undefined;
    this.#coming = undefined;
    if (present && !present.warden.hasEnded && present.warden.hasImage(present.image)) present.warden.retireImage(present.image);
    this.#tellChange();
  }

  want(placed: PlacedContent): void {
    const { digest } = placed.content;
    this.#wanted.set(digest, [...(this.#wanted.get(digest) ?? []), placed]);
  }

  /** @param placed as it was wanted. */
  markUnwanted(placed: PlacedContent): void {
    const { digest } = placed.content;
    const others = (this.#wanted.get(digest) ?? []).filter((each) => each !== placed);
    if (others.length > 0) this.#wanted.set(digest, others);
    else this.#wanted.delete(digest);
    this.#tellChange();
  }

  /**
   * Resolves when sandboxes that are forked from then on have all of the content, or wait until it is loaded before they run anything; when it cannot
   * be loaded; or when no image serves others meanwhile.
   */
  async waitUntilIncluded(digests: readonly string[]): Promise<void> {
    while (this.#servesOthersThan(digests)) await this.#changed.promise;
  }

  isUnfit(digest: string): boolean {
    return this.#unfit.has(digest);
  }

  /**
   * Whether a policy is data alone that takes little to load. It has been verified then, and need not be again. Resolves when it is loaded,
   * or when no image is being made that has it.
   */
  async isLight(digest: string): Promise<boolean> {
    while (!this.#light.has(digest) && this.#isBeingLoaded(digest)) await this.#changed.promise;
    return this.#light.get(digest) === true;
  }

  #isBeingLoaded(digest: string): boolean {
    return [this.#present, this.#coming].some(
      (image) => image?.shares.has(digest) === true && !image.warden.hasEnded && image.warden.hasImage(image.image),
    );
  }

  /** Orders a new image if no existing one suits. */
  choose(warden: ImageMaker): ImageChoice {
    const wanted = [...this.#wanted.values()]
      .flatMap((placed) => placed.slice(0, 1))
      .filter(({ content }) => !this.#unfit.has(content.digest));
    const present = this.#findUsable(warden);
    const missing = wanted.filter(({ content }) => !present?.shares.has(content.digest));
    if (missing.length === 0) return present ?? NOTHING;
    const coming = this.#coming?.warden === warden ? this.#coming : undefined;
    if (present !== undefined && this.#isWanted(present)) {
      if (!coming) this.#prepare(warden, this.#make(warden, present, missing, wanted));
      return present;
    }
    const has = (image: Image): boolean => wanted.every(({ content }) => image.shares.has(content.digest));
    return this.#replace(warden, coming && has(coming) ? coming : this.#make(warden, present, missing, wanted).image);
  }

  #isWanted({ shares }: ImageChoice): boolean {
    return [...shares].some((digest) => this.#wanted.has(digest));
  }

  #servesOthersThan(digests: readonly string[]): boolean {
    const present = this.#present;
    if (present === undefined || present.warden.hasEnded || !present.warden.hasImage(present.image) || !this.#isWanted(present))
      return false;
    return digests.some((digest) => !present.shares.has(digest)) && !digests.some((digest) => this.#unfit.has(digest));
  }

  #tellChange(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #findUsable(warden: ImageMaker): Image | undefined {
    const present = this.#present;
    if (present?.warden !== warden || !warden.hasImage(present.image)) return undefined;
    return [...present.code].every((digest) => this.#wanted.has(digest)) ? present : undefined;
  }

  #make(warden: ImageMaker, present: Image | undefined, missing: readonly PlacedContent[], wanted: readonly PlacedContent[]): Making {
    const isUseful = present !== undefined && [...present.shares].every((digest) => this.#wanted.has(digest));
    const parent = isUseful ? present : NOTHING;
    const content = isUseful ? missing : wanted;
    const code = wanted.flatMap(({ content: { kind, digest } }) => (kind === 'code' ? [digest] : []));
    const image: Image = {
      image: this.#newName(),
      shares: new Set([...parent.shares, ...content.map(({ content: { digest } }) => digest)]),
      code: new Set(code),
      hasRunCode: parent.hasRunCode || content.some(({ content: each }) => each.kind === 'code' || each.trusted),
      warden,
    };
    const made = warden.makeImage(image.image, parent.image, getContent(content));
    made.then(
      (policies) => this.#onLoaded(content, policies),
      (error: unknown) => this.#onFailed(image, content, error),
    );
    return { image, made };
  }

  /** Content that may bring code is never light: a sandbox that has run it is not reused for another. */
  #onLoaded(content: readonly PlacedContent[], policies: readonly PreloadedPolicy[]): void {
    for (const { content: each } of content) {
      const taken = policies.find(({ digest }) => digest === each.digest);
      const isLight = taken !== undefined && taken.bytes <= LIGHT.bytes && taken.seconds <= LIGHT.seconds;
      this.#light.set(each.digest, isLight && each.kind === 'policy' && !each.trusted);
    }
    this.#tellChange();
  }

  #replace(warden: ImageMaker, image: Image): ImageChoice {
    const former = this.#present;
    this.#present = image;
    this.#coming = undefined;
    for (const digest of this.#light.keys()) if (!image.shares.has(digest) && !this.#wanted.has(digest)) this.#light.delete(digest);
    if (former?.warden === warden) warden.retireImage(former.image);
    this.#tellChange();
    return image;
  }

  /** Content that is requested meanwhile goes into the next image. */
  #prepare(warden: ImageMaker, { image, made }: Making): void {
    this.#coming = image;
    made.then(
      () => this.#onArrived(warden, image),
      () => undefined,
    );
  }

  #onArrived(warden: ImageMaker, image: Image): void {
    // It was needed before it was ready, or is no longer wanted.
    if (this.#present === image) return;
    if (this.#coming !== image) return warden.retireImage(image.image);
    this.#replace(warden, image);
    this.choose(warden);
  }

  /**
   * The evaluations load the content in their sandboxes, and get the error there. Content that was withdrawn while it was being loaded is not marked as
   * unfit.
   */
  #onFailed(image: Image, content: readonly PlacedContent[], error: unknown): void {
    const wasComing = this.#coming === image;
    if (wasComing) this.#coming = undefined;
    if (!image.warden.hasEnded) this.#giveUp(image, content, error);
    this.#tellChange();
    if (wasComing && !image.warden.hasEnded) this.choose(image.warden);
  }

  #giveUp(image: Image, content: readonly PlacedContent[], error: unknown): void {
    if (this.#present === image) this.#present = undefined;
    const there = content.filter((placed) => this.#wanted.get(placed.content.digest)?.includes(placed) === true);
    for (const placed of there) this.#unfit.add(placed.content.digest);
    if (there.length > 0) this.#onProblem(getMessage(error));
  }
}

function getContent(placed: readonly PlacedContent[]): ImageContent {
  return {
    policies: placed.flatMap(({ content, path }) =>
      content.kind === 'policy' ? [{ path, digest: content.digest, trusted: content.trusted }] : [],
    ),
    code: placed.flatMap(({ content, path }) => (content.kind === 'code' ? [{ path, modules: content.modules }] : [])),
  };
}
