// SPDX-License-Identifier: MIT
// File system promises over many files at once, each result checked; prints
// what it did and whether a ring of anyuring carried it.
// Usage: node node.mjs DIR FILES
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const dir = process.argv[2];
const count = Number(process.argv[3]);
const names = Array.from({ length: count }, (_, i) => join(dir, 'd', `f${i}`));
const each = (f) => Promise.all(names.map(f));
const code = (c) => (e) => e.code === c;
let calls = 0;

// Sizes from nothing to beyond one read's buffer.
const content = (i) =>
  Buffer.alloc((i * 7919) % 200000, createHash('sha256').update(`${i}`).digest());

await fs.mkdir(join(dir, 'd'), { recursive: true });
await assert.rejects(fs.mkdir(join(dir, 'd')), code('EEXIST'));

await each((name, i) => fs.writeFile(name, content(i)));
await each(async (name, i) =>
  assert.ok((await fs.readFile(name)).equals(content(i)), name));
await each(async (name, i) => {
  assert.equal((await fs.stat(name)).size, content(i).length);
  assert.ok((await fs.lstat(name)).isFile());
});
calls += 4 * count;

// By handle, at offsets, vectored, synced.
await each(async (name, i) => {
  const h = await fs.open(name, 'r+');
  const patch = Buffer.from(`patch ${i}`);

  assert.equal((await h.write(patch, 0, patch.length, 300000)).bytesWritten,
    patch.length);
  await (i % 2 ? h.sync() : h.datasync());
  assert.equal((await h.stat()).size, 300000 + patch.length);
  const back = Buffer.alloc(patch.length);
  assert.equal((await h.read(back, 0, back.length, 300000)).bytesRead,
    patch.length);
  assert.ok(back.equals(patch));
  assert.equal((await h.read(back, 0, 1, 400000)).bytesRead, 0);
  const parts = [Buffer.from('one'), Buffer.from('two')];
  assert.equal((await h.writev(parts, 310000)).bytesWritten, 6);
  const into = [Buffer.alloc(2), Buffer.alloc(4)];
  assert.equal((await h.readv(into, 310000)).bytesRead, 6);
  assert.equal(Buffer.concat(into).toString(), 'onetwo');
  await h.truncate(1000);
  await h.close();
  assert.equal((await fs.stat(name)).size, 1000);
});
calls += 11 * count;

// Names.
await each((name) => fs.rename(name, `${name}.new`));
await each((name) => assert.rejects(fs.stat(name), code('ENOENT')));
await each((name) => fs.link(`${name}.new`, `${name}.hard`));
await each((name) => fs.symlink(`${name}.new`, `${name}.soft`));
await each(async (name) => {
  const [a, b, c] = await Promise.all([
    fs.stat(`${name}.new`), fs.stat(`${name}.hard`), fs.stat(`${name}.soft`)]);
  assert.equal(a.ino, b.ino);
  assert.equal(a.ino, c.ino);
  assert.equal(a.nlink, 2);
  assert.equal(await fs.readlink(`${name}.soft`), `${name}.new`);
  assert.ok((await fs.lstat(`${name}.soft`)).isSymbolicLink());
});
await each((name) => fs.unlink(`${name}.hard`));
await each((name) => fs.unlink(`${name}.soft`));
await each((name) => assert.rejects(fs.unlink(`${name}.hard`), code('ENOENT')));
await assert.rejects(fs.open(join(dir, 'none', 'x')), code('ENOENT'));
assert.equal((await fs.readdir(join(dir, 'd'))).length, count);
calls += 11 * count;

// A large file streamed in and out, and its hash.
const big = randomBytes(8 << 20);
const handle = await fs.open(join(dir, 'big'), 'w+');
for (let at = 0; at < big.length; at += 65536)
  await handle.write(big, at, Math.min(65536, big.length - at), at);
const hash = createHash('sha256');
for await (const chunk of handle.createReadStream({ start: 0 }))
  hash.update(chunk);
assert.equal(hash.digest('hex'), createHash('sha256').update(big).digest('hex'));

const threads = readdirSync('/proc/self/task').map((t) =>
  readFileSync(`/proc/self/task/${t}/comm`, 'utf8').trim());
const maps = readFileSync('/proc/self/maps', 'utf8');
const mapped = maps.includes('memfd:anyuring');
const polled = threads.some((t) => t.startsWith('iou-sqp-'));

await fs.rm(dir, { recursive: true });
await assert.rejects(fs.stat(dir), code('ENOENT'));
console.log(`${count} files, ${calls} calls, each result as it should be`);
console.log('ring:', polled ? mapped ? 'anyuring' : 'kernel' : 'none');
