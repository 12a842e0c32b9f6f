import { InfrastructureError } from '../../kernel/errors.ts';

/** Far more than an event or an episode has: what is longer comes from something else, and must not fill the memory. */
const MOST_CHARACTERS = 16 * 2 ** 20;

/** Text as it comes, in lines without their ends. What follows the last end is left out: a broken connection has cut it off. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MOST_CHARACTERS)
      throw new InfrastructureError(
        'server.answer',
        `the server sent a line of more than ${MOST_CHARACTERS} characters; expected an event or an episode`,
      );
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}
