import { crc32, deflateRawSync } from 'node:zlib';

/** Files that are made to cost their reader more than they cost their sender. */

const [STORED, DEFLATED] = [0, 8];

export function safetensorsOf(header: string | Buffer): Buffer {
  const bytes = Buffer.from(header);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes]);
}

/** An archive as APPNOTE.TXT has it. @param claimed that the directory says that an entry has, in bytes. */
export function zipOf(entries: readonly (readonly [name: string, content: Uint8Array, claimed?: number])[], isPacked = true): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content, claimed = content.length] of entries) {
    const bytes = isPacked ? deflateRawSync(content) : Buffer.from(content);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(isPacked ? DEFLATED : STORED, 4);
    fields.writeUInt32LE(crc32(content), 10);
    fields.writeUInt32LE(bytes.length, 14);
    fields.writeUInt32LE(claimed, 18);
    fields.writeUInt16LE(Buffer.byteLength(name), 22);
    parts.push(Buffer.from('PK\x03\x04'), fields, Buffer.from(name), bytes);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, place, Buffer.from(name));
    offset += 30 + Buffer.byteLength(name) + bytes.length;
  }
  const places = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt32LE(places.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, places, end]);
}

/** What `torch.save` writes, around a pickle of the attacker's own. */
export function torchOf(...pickle: readonly (string | Uint8Array)[]): Buffer {
  const parts = pickle.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part));
  return zipOf([['model/data.pkl', Buffer.concat(parts)]]);
}

/** A list that holds a list twice, which holds a list twice: a few bytes for each doubling. Left on the stack. */
export function doubled(times: number): Buffer {
  const level = (at: number): string => `]q${String.fromCharCode(at)}(${`h${String.fromCharCode(at - 1)}`.repeat(2)}e`;
  return Buffer.from(`]q\x00(K\x01e${Array.from({ length: times }, (_, at) => level(at + 1)).join('')}`, 'latin1');
}

/** A mapping of so many numbers, as it is pickled. */
export function mappingOf(count: number): Buffer {
  const entries = Buffer.alloc(10 * count);
  for (let at = 0; at < count; at += 1) {
    entries.set([0x4a, 0, 0, 0, 0, 0x4a, 0, 0, 0, 0], 10 * at);
    entries.writeInt32LE(at, 10 * at + 1);
  }
  return Buffer.concat([Buffer.from('}('), entries, Buffer.from('u')]);
}

/** A field of a protobuf message. */
export function field(number: number, content: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.from([...bytes, left]);
}
