import { type SourceFiles, readText } from './source/source-files.ts';

/** Licences whose terms allow a task to be distributed with its source, by their SPDX identifiers. */
export const ALLOWED_LICENCES: readonly string[] = [
  'MIT',
  'Apache-2.0',
  'BSD-3-Clause',
  'BSD-2-Clause',
  'ISC',
  'MPL-2.0',
  'Unlicense',
  'Zlib',
  '0BSD',
  'BSL-1.0',
  'PSF-2.0',
];

const FILE = /^(licen[cs]e|copying|unlicen[cs]e)([.-][^/]*)?$/i;
/** A sentence that only this licence has; the first that is found counts. */
const SENTENCES: readonly (readonly [string, RegExp])[] = [
  ['AGPL-3.0', /GNU AFFERO GENERAL PUBLIC LICENSE/i],
  ['LGPL', /GNU (LESSER|LIBRARY) GENERAL PUBLIC LICENSE/i],
  ['GPL', /GNU GENERAL PUBLIC LICENSE/i],
  ['MPL-2.0', /Mozilla Public License,? (Version|v\.) ?2\.0/i],
  ['Apache-2.0', /Apache License,? *Version 2\.0/i],
  ['BSD-3-Clause', /Redistribution and use in source and binary forms[\s\S]{0,4000}(endorse or promote)/i],
  ['BSD-2-Clause', /Redistribution and use in source and binary forms/i],
  ['ISC', /Permission to use, copy, modify, and\/?(or)? distribute this software for any purpose with or without fee/i],
  ['BSL-1.0', /Permission is hereby granted, free of charge, to any person or organization obtaining a copy/i],
  ['MIT', /Permission is hereby granted, free of charge, to any person obtaining a copy/i],
  ['Unlicense', /This is free and unencumbered software released into the public domain/i],
  ['Zlib', /The origin of this software must not be misrepresented/i],
  ['PSF-2.0', /PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2/i],
];
/** The licences that packages declare. */
const DECLARED: readonly (readonly [RegExp, RegExp])[] = [
  [/^pyproject\.toml$/, /^license\s*=\s*(?:\{\s*text\s*=\s*)?"(?<id>[^"\n]{1,64})"/m],
  [/^setup\.cfg$/, /^license\s*=\s*(?<id>[^\n]{1,64})$/m],
  [/^PKG-INFO$/, /^License(?:-Expression)?: (?<id>[^\n]{1,64})$/m],
  [/^package\.json$/, /"license"\s*:\s*"(?<id>[^"\n]{1,64})"/],
  [/^Cargo\.toml$/, /^license\s*=\s*"(?<id>[^"\n]{1,64})"/m],
];

/** @returns the licence that the repository's files name; undefined when it cannot be determined. */
export function findLicence(files: SourceFiles): string | undefined {
  const top = [...files.keys()].filter((path) => !path.includes('/')).sort();
  for (const path of top.filter((name) => FILE.test(name))) {
    const text = readText(files, path)?.replaceAll(/\s+/g, ' ') ?? '';
    const found = SENTENCES.find(([, sentence]) => sentence.test(text.slice(0, 20_000)));
    if (found !== undefined) return found[0];
  }
  for (const path of top) {
    const form = DECLARED.find(([name]) => name.test(path))?.[1];
    const id = form?.exec(readText(files, path) ?? '')?.groups?.['id']?.trim();
    if (id !== undefined && id !== '') return nameLicence(id);
  }
  return undefined;
}

/** `MIT OR Apache-2.0` allows what its first member allows. */
function nameLicence(declared: string): string {
  const [first = declared] = declared.split(/ OR |\//);
  return (
    ALLOWED_LICENCES.find((id) => [id, `${id} License`].some((name) => name.toLowerCase() === first.trim().toLowerCase())) ?? first.trim()
  );
}
