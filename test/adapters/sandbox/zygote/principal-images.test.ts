import { beforeEach, describe, expect, it } from 'vitest';
import { PrincipalImages } from '../../../../src/adapters/sandbox/zygote/principal-images.ts';
import type { ImageMaker, PlacedContent } from '../../../../src/adapters/sandbox/zygote/shared-images.ts';
import { BASE_IMAGE } from '../../../../src/adapters/sandbox/zygote/warden-messages.ts';
import { FRESH } from '../../../../src/pool/ports/exposure.ts';

const deliver: PlacedContent['content']['deliver'] = () => Promise.resolve('nowhere');
const policy = (digest: string, trusted = false): PlacedContent => ({
  content: { kind: 'policy', digest, trusted, deliver },
  path: digest,
});
const code = (digest: string): PlacedContent => ({ content: { kind: 'code', digest, modules: [], deliver }, path: digest });

/** Its images are never ready, which is as good as ready to who forks from them. */
class Maker implements ImageMaker {
  readonly hasEnded = false;
  readonly names: string[] = [];
  readonly retired: string[] = [];
  hasImage(image: string): boolean {
    return this.names.includes(image) && !this.retired.includes(image);
  }
  makeImage(image: string): Promise<never> {
    this.names.push(image);
    return new Promise(() => undefined);
  }
  retireImage(image: string): void {
    this.retired.push(image);
  }
}

let images: PrincipalImages;
let maker: Maker;
beforeEach(() => {
  let made = 0;
  images = new PrincipalImages(
    () => undefined,
    () => `image-${(made += 1)}`,
  );
  maker = new Maker();
});

const NONE = { image: BASE_IMAGE, past: FRESH };

describe('a sandbox that is made for a principal', () => {
  it('has in memory what that principal shares, and nothing of others', () => {
    images.get('ann').want(policy('of ann'));
    images.get('bob').want(policy('of bob'));
    const forAnn = images.choose(maker, 'ann');
    const forBob = images.choose(maker, 'bob');
    expect(forAnn).toMatchObject({ shares: new Set(['of ann']), past: { kind: 'data', principal: 'ann' } });
    expect(forBob).toMatchObject({ shares: new Set(['of bob']), past: { kind: 'data', principal: 'bob' } });
    expect(forAnn.image).not.toBe(forBob.image);
    expect(images.choose(maker, 'carol')).toMatchObject(NONE);
  });

  it.each([
    ['a suite', code('modules')],
    ['a policy that the operator trusts', policy('trusted', true)],
  ])('is that one’s alone once code of %s has run in it', (_whose, placed) => {
    images.get('ann').want(policy('data'));
    images.get('ann').want(placed);
    expect(images.choose(maker, 'ann').past).toEqual({ kind: 'imported', principal: 'ann' });
  });
});

describe('a sandbox that is made for any principal', () => {
  it('has what the only principal with a wish shares, and nothing when there are several', () => {
    expect(images.choose(maker, undefined)).toMatchObject(NONE);
    images.get('ann').want(policy('of ann'));
    expect(images.choose(maker, undefined)).toMatchObject({ shares: new Set(['of ann']) });
    const ofBob = policy('of bob');
    images.get('bob').want(ofBob);
    expect(images.choose(maker, undefined)).toMatchObject(NONE);
    images.get('bob').markUnwanted(ofBob);
    expect(images.choose(maker, undefined)).toMatchObject({ shares: new Set(['of ann']) });
  });
});

it('an image that is not wanted any more makes room when another principal shares something', () => {
  const ofAnn = policy('of ann');
  images.get('ann').want(ofAnn);
  const { image } = images.choose(maker, 'ann');
  images.get('ann').markUnwanted(ofAnn);
  images.get('ann');
  expect(maker.retired).toEqual([]);
  images.get('bob');
  expect(maker.retired).toEqual([image]);
  expect(images.choose(maker, 'ann')).toMatchObject(NONE);
});
