import { beforeEach, describe, expect, it } from 'vitest';
import { type ImageMaker, type PlacedContent, SharedImages } from '../../../../src/adapters/sandbox/zygote/shared-images.ts';
import { BASE_IMAGE, type ImageContent, type PreloadedPolicy } from '../../../../src/adapters/sandbox/zygote/warden-messages.ts';
import type { SharedContent } from '../../../../src/pool/ports/shared-content.ts';

const BASE = { image: BASE_IMAGE, shares: new Set(), hasRunCode: false };

/** Notes what is asked of it; images are there from the moment that they are asked for, until the test takes them away. */
class RecordingMaker implements ImageMaker {
  readonly log: string[] = [];
  hasEnded = false;
  readonly #images = new Map<string, PromiseWithResolvers<readonly PreloadedPolicy[]>>();

  hasImage(image: string): boolean {
    return this.#images.has(image);
  }

  async makeImage(image: string, parent: string, { policies, code }: ImageContent): Promise<readonly PreloadedPolicy[]> {
    const content = [...code.map(({ path }) => path), ...policies.map(({ path }) => path)];
    this.log.push(`${image} = ${[parent || 'base', ...content].join(' + ')}`);
    const made = Promise.withResolvers<readonly PreloadedPolicy[]>();
    this.#images.set(image, made);
    return await made.promise;
  }

  retireImage(image: string): void {
    this.log.push(`retire ${image}`);
  }

  /** All is loaded. @param policies what each of them took. */
  async finish(image: string, ...policies: readonly PreloadedPolicy[]): Promise<void> {
    this.#images.get(image)?.resolve(policies);
    for (let i = 0; i < 5; i += 1) await Promise.resolve();
  }

  /** The image has died, or could not be made. */
  async lose(image: string): Promise<void> {
    const lost = this.#images.get(image);
    this.#images.delete(image);
    lost?.reject(new Error(`${image} is lost`));
    await lost?.promise.catch(() => {});
    // The rejection travels on for a few turns.
    for (let i = 0; i < 5; i += 1) await Promise.resolve();
  }
}

const deliver: SharedContent['deliver'] = () => Promise.resolve('nowhere');
const policy = (digest: string, trusted = false): PlacedContent => ({
  content: { kind: 'policy', digest, trusted, deliver },
  path: digest,
});
const took = (digest: string, bytes: number, seconds: number): PreloadedPolicy => ({ digest, bytes, seconds });
const code = (digest: string): PlacedContent => ({ content: { kind: 'code', digest, modules: ['m'], deliver }, path: digest });

/** Whether it has come to an end. */
function observed(promise: Promise<unknown>): { readonly isSettled: boolean } {
  const state = { isSettled: false };
  void promise.then(() => (state.isSettled = true));
  return state;
}

let problems: string[];
let images: SharedImages;
let maker: RecordingMaker;
beforeEach(() => {
  problems = [];
  let made = 0;
  images = new SharedImages(
    (message) => problems.push(message),
    () => `image-${(made += 1)}`,
  );
  maker = new RecordingMaker();
});

describe('what sandboxes are forked from', () => {
  it('is the base image while nothing is shared', () => {
    expect(images.choose(maker)).toEqual(BASE);
    expect(maker.log).toEqual([]);
  });

  it('is one image with all that is wanted, made once', () => {
    images.want(policy('p1'));
    images.want(policy('p2'));
    const choice = images.choose(maker);
    expect(choice).toMatchObject({ image: 'image-1', shares: new Set(['p1', 'p2']) });
    expect(images.choose(maker)).toBe(choice);
    expect(maker.log).toEqual(['image-1 = base + p1 + p2']);
  });

  it('is, for a further content, an image forked from the present one, which stays in use until then', async () => {
    images.want(policy('p1'));
    images.choose(maker);
    images.want(policy('p2'));
    const included = observed(images.waitUntilIncluded(['p2']));
    expect(images.choose(maker)).toMatchObject({ image: 'image-1', shares: new Set(['p1']) });
    await Promise.resolve();
    expect([maker.log, included.isSettled]).toEqual([['image-1 = base + p1', 'image-2 = image-1 + p2'], false]);
    await maker.finish('image-2');
    expect(images.choose(maker)).toMatchObject({ image: 'image-2', shares: new Set(['p1', 'p2']) });
    expect([maker.log.at(-1), included.isSettled]).toEqual(['retire image-1', true]);
  });

  it('is the next image once the present one is not wanted any more: sandboxes wait for it behind their walls', async () => {
    const former = policy('p1');
    images.want(former);
    images.choose(maker);
    images.want(policy('p2'));
    images.choose(maker);
    images.markUnwanted(former);
    expect(images.choose(maker).image).toBe('image-2');
    await maker.finish('image-2');
    expect(images.choose(maker).image).toBe('image-2');
    expect(maker.log).toEqual(['image-1 = base + p1', 'image-2 = image-1 + p2', 'retire image-1']);
  });

  it('is followed by an image with the contents that were requested meanwhile', async () => {
    images.want(policy('p1'));
    images.choose(maker);
    images.want(policy('p2'));
    images.choose(maker);
    images.want(policy('p3'));
    const included = observed(images.waitUntilIncluded(['p3']));
    images.choose(maker);
    await maker.finish('image-2');
    expect([maker.log.at(-1), included.isSettled]).toEqual(['image-3 = image-2 + p3', false]);
    await maker.finish('image-3');
    expect([images.choose(maker).shares, included.isSettled]).toEqual([new Set(['p1', 'p2', 'p3']), true]);
  });

  it('is still the present one when a policy is not wanted any more, because it costs nothing', () => {
    const first = policy('p1');
    images.want(first);
    images.want(policy('p2'));
    images.choose(maker);
    images.markUnwanted(first);
    expect(images.choose(maker).image).toBe('image-1');
  });

  it('is made from the base again when the present one has unwanted content', () => {
    const former = policy('p1');
    images.want(former);
    images.choose(maker);
    images.markUnwanted(former);
    images.want(policy('p2'));
    expect(images.choose(maker)).toMatchObject({ image: 'image-2', shares: new Set(['p2']) });
    expect(maker.log.at(-2)).toBe('image-2 = base + p2');
  });

  it('drops code that is not wanted any more', () => {
    const suite = code('c1');
    images.want(suite);
    images.want(policy('p1'));
    expect(images.choose(maker).shares).toEqual(new Set(['c1', 'p1']));
    images.markUnwanted(suite);
    expect(images.choose(maker).shares).toEqual(new Set(['p1']));
    expect(maker.log).toEqual(['image-1 = base + c1 + p1', 'image-2 = base + p1', 'retire image-1']);
  });

  it('includes code that a later image inherits from an earlier one', async () => {
    const suite = code('c1');
    images.want(suite);
    images.choose(maker);
    images.want(policy('p1'));
    images.choose(maker);
    await maker.finish('image-2');
    images.markUnwanted(suite);
    expect(images.choose(maker).shares).toEqual(new Set(['p1']));
  });

  it('counts requests: a content that two callers want stays until both have released it', () => {
    const [mine, yours] = [code('c1'), code('c1')];
    images.want(mine);
    images.want(yours);
    images.choose(maker);
    images.markUnwanted(mine);
    expect(images.choose(maker).image).toBe('image-1');
    images.markUnwanted(yours);
    expect(images.choose(maker)).toEqual(BASE);
  });

  it('ignores a second withdrawal of a request', () => {
    const [mine, yours] = [policy('p1'), policy('p1')];
    images.want(mine);
    images.want(yours);
    images.markUnwanted(mine);
    images.markUnwanted(mine);
    expect(images.choose(maker).shares).toEqual(new Set(['p1']));
  });

  it('is made again by the next warden', () => {
    images.want(policy('p1'));
    images.choose(maker);
    const next = new RecordingMaker();
    expect(images.choose(next)).toMatchObject({ image: 'image-2', shares: new Set(['p1']) });
    expect(next.log).toEqual(['image-2 = base + p1']);
    expect(maker.log).toEqual(['image-1 = base + p1']);
  });
});

describe('a policy that is light', () => {
  const MEBIBYTE = 2 ** 20;

  it('took little memory and time to load; an earlier question waits until it is known', async () => {
    images.want(policy('p1'));
    images.choose(maker);
    const isLight = images.isLight('p1');
    const asked = observed(isLight);
    await Promise.resolve();
    expect(asked.isSettled).toBe(false);
    await maker.finish('image-1', took('p1', MEBIBYTE, 0.005));
    expect(await isLight).toBe(true);
    expect(await images.isLight('p1')).toBe(true);
  });

  it.each([
    ['memory', took('p1', 5 * MEBIBYTE, 0.005)],
    ['time', took('p1', MEBIBYTE, 0.05)],
  ])('is not one that took much %s', async (_what, cost) => {
    images.want(policy('p1'));
    images.choose(maker);
    await maker.finish('image-1', cost);
    expect(await images.isLight('p1')).toBe(false);
  });

  it('is never a trusted one: it may contain code', async () => {
    images.want(policy('p1', true));
    images.choose(maker);
    await maker.finish('image-1', took('p1', MEBIBYTE, 0.005));
    expect(await images.isLight('p1')).toBe(false);
  });

  it('is never one that cannot be loaded or is not loaded', async () => {
    expect(await images.isLight('p1')).toBe(false);
    images.want(policy('p1'));
    images.choose(maker);
    const isLight = images.isLight('p1');
    await maker.lose('image-1');
    expect(await isLight).toBe(false);
  });

  it('no longer counts as light when its warden ends before it is loaded', async () => {
    images.want(policy('p1'));
    images.choose(maker);
    const isLight = images.isLight('p1');
    maker.hasEnded = true;
    await maker.lose('image-1');
    expect(await isLight).toBe(false);
  });

  it('stays so as long as an image has it, or it is wanted', async () => {
    const [first, second] = [policy('p1'), policy('p2')];
    images.want(first);
    images.choose(maker);
    await maker.finish('image-1', took('p1', MEBIBYTE, 0.005));
    images.markUnwanted(first);
    expect(await images.isLight('p1')).toBe(true);
    images.want(second);
    images.choose(maker);
    expect(await images.isLight('p1')).toBe(false);
  });

  it('includes one that is loaded while others play', async () => {
    images.want(policy('p1'));
    images.choose(maker);
    images.want(policy('p2'));
    images.choose(maker);
    const isLight = images.isLight('p2');
    await maker.finish('image-2', took('p2', MEBIBYTE, 0.005));
    expect(await isLight).toBe(true);
  });
});

describe('something that cannot be shared', () => {
  it('is reported, left to the sandboxes, and not tried again', async () => {
    images.want(policy('bad'));
    images.choose(maker);
    await maker.lose('image-1');
    expect(problems).toEqual(['image-1 is lost']);
    expect(images.isUnfit('bad')).toBe(true);
    expect(images.choose(maker)).toEqual(BASE);
    expect(maker.log).toEqual(['image-1 = base + bad']);
  });

  it('leaves earlier contents shared, and no waiter', async () => {
    images.want(policy('good'));
    images.choose(maker);
    images.want(policy('bad'));
    const included = observed(images.waitUntilIncluded(['bad']));
    images.choose(maker);
    await maker.lose('image-2');
    expect([images.isUnfit('good'), images.isUnfit('bad')]).toEqual([false, true]);
    expect(images.choose(maker)).toMatchObject({ image: 'image-1', shares: new Set(['good']) });
    expect([maker.log, included.isSettled]).toEqual([['image-1 = base + good', 'image-2 = image-1 + bad'], true]);
  });

  it('because its warden has ended can be shared later', async () => {
    images.want(policy('p1'));
    images.choose(maker);
    maker.hasEnded = true;
    await maker.lose('image-1');
    expect(problems).toEqual([]);
    const next = new RecordingMaker();
    expect(images.choose(next).shares).toEqual(new Set(['p1']));
  });
});
