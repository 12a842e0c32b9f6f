import type { Readable } from 'node:stream';

/**
 * A source as the body of a request: it is read only as far as the request has come. Node's own conversion copies every piece, and reads ahead.
 */
export class UploadBody {
  readonly stream: ReadableStream<Uint8Array>;
  #failure: Error | undefined;

  constructor(source: Readable) {
    const pieces: AsyncIterator<unknown> = source[Symbol.asyncIterator]();
    let isWanted = true;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const { done, value } = await pieces.next();
        if (!isWanted) return;
        if (done === true) controller.close();
        else controller.enqueue(value instanceof Uint8Array ? value : Buffer.from(String(value)));
      } catch (error) {
        if (!isWanted) return;
        this.#failure = error instanceof Error ? error : new Error(String(error));
        controller.error(error);
      }
    };
    const cancel = (): void => {
      isWanted = false;
      source.destroy();
    };
    this.stream = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
  }

  /** The source's error, if it came while the body was read. */
  get failure(): Error | undefined {
    return this.#failure;
  }
}
