/** Far more than an event, an episode or a call has: what is longer comes from something else, and must not fill the memory. */
const MOST_CHARACTERS = 16 * 2 ** 20;

/**
 * Text as it comes, in lines without their ends. What follows the last end is left out: a broken connection has cut it off.
 *
 * @throws what `createTooLongError` makes, for a line of more characters than it is given.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, createTooLongError: (most: number) => Error): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MOST_CHARACTERS) throw createTooLongError(MOST_CHARACTERS);
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}
