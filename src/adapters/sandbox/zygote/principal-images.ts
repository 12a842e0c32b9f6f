import { FRESH, type PastExposure } from '../../../pool/ports/exposure.ts';
import { NOTHING, SharedImages, type ImageChoice, type ImageMaker } from './shared-images.ts';

/** What a sandbox is forked from, and what that makes of it. */
export interface PrincipalImage extends ImageChoice {
  readonly past: PastExposure;
}

/**
 * The images of one template's sandboxes: for each principal what its own evaluations share. All of an image's memory is open to code in each sandbox
 * that is forked from it, so nothing of one principal is ever in the image of another.
 */
export class PrincipalImages {
  readonly #images = new Map<string, SharedImages>();
  readonly #onProblem: (message: string) => void;
  readonly #newName: () => string;

  /** @param onProblem gets the reason when content cannot be shared. @param newName of an image, which no other of the warden has. */
  constructor(onProblem: (message: string) => void, newName: () => string) {
    this.#onProblem = onProblem;
    this.#newName = newName;
  }

  /** Returns the images of a principal. Images that are not wanted any more make room. */
  get(principal: string): SharedImages {
    for (const [name, images] of this.#images) {
      if (name === principal || images.isWanted) continue;
      images.retire();
      this.#images.delete(name);
    }
    const images = this.#images.get(principal) ?? new SharedImages(this.#onProblem, this.#newName);
    this.#images.set(principal, images);
    return images;
  }

  /** @param audience principal that the sandbox is made for; undefined: any, most likely the one that shares content. */
  choose(warden: ImageMaker, audience: string | undefined): PrincipalImage {
    const principal = audience ?? this.#findOnlyOneWithWishes();
    const images = principal === undefined ? undefined : this.#images.get(principal);
    if (principal === undefined || images === undefined) return { ...NOTHING, past: FRESH };
    const choice = images.choose(warden);
    return { ...choice, past: getPast(choice, principal) };
  }

  #findOnlyOneWithWishes(): string | undefined {
    const [first, second] = [...this.#images].filter(([, images]) => images.isWanted);
    return second === undefined ? first?.[0] : undefined;
  }
}

function getPast({ shares, hasRunCode }: ImageChoice, principal: string): PastExposure {
  if (shares.size === 0) return FRESH;
  return { kind: hasRunCode ? 'imported' : 'data', principal };
}
