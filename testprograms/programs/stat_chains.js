// 256 endless chains of fs.stat: node stat_chains.js FILE BYTES SECONDS
//
// Each stat is a job for libuv's pool of UV_THREADPOOL_SIZE threads, which wait at one condition variable under one mutex;
// the main thread signals it for each job. Each answer is compared with the size that the file is known to have.
'use strict';
const fs = require('fs');
const [, , file, bytes, seconds] = process.argv;
const CHAINS = 256;
const start = process.hrtime.bigint();
const end = start + BigInt(Math.round(Number(seconds) * 1e9));
let ops = 0;
let wrong = 0;
let running = CHAINS;

function next(error, stats) {
  ops += 1;
  if (error || stats.size !== Number(bytes)) wrong += 1;
  if (process.hrtime.bigint() < end) {
    fs.stat(file, next);
  } else if (--running === 0) {
    const taken = Number(process.hrtime.bigint() - start) / 1e9;
    console.log(`ops ${ops}\nseconds ${taken}\nwrong ${wrong}`);
    process.exitCode = wrong ? 1 : 0;
  }
}
for (let chain = 0; chain < CHAINS; chain++) fs.stat(file, next);
