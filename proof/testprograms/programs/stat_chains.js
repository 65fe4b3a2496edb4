// 256 endless chains of fs.stat: node stat_chains.js FILE BYTES SECONDS [times]
//
// Each stat is a job for libuv's pool of UV_THREADPOOL_SIZE threads, which wait at one condition variable under one mutex;
// the main thread signals it for each job. Each answer is compared with the size that the file is known to have.
'use strict';
const { createHistogram } = require('perf_hooks');
const fs = require('fs');
const [, , file, bytes, seconds, times] = process.argv;
// How long each answer took, in nanoseconds, if that is asked for.
const answers = times === 'times' ? createHistogram() : undefined;
const CHAINS = 256;
const start = process.hrtime.bigint();
const end = start + BigInt(Math.round(Number(seconds) * 1e9));
let ops = 0;
let wrong = 0;
let running = CHAINS;

function ask() {
  if (answers === undefined) {
    fs.stat(file, next);
    return;
  }
  const asked = process.hrtime.bigint();
  fs.stat(file, (error, stats) => {
    answers.record(process.hrtime.bigint() - asked);
    next(error, stats);
  });
}

function next(error, stats) {
  ops += 1;
  if (error || stats.size !== Number(bytes)) wrong += 1;
  if (process.hrtime.bigint() < end) {
    ask();
  } else if (--running === 0) {
    const taken = Number(process.hrtime.bigint() - start) / 1e9;
    console.log(`ops ${ops}\nseconds ${taken}\nwrong ${wrong}`);
    const us = (percent) => (answers.percentile(percent) / 1e3).toFixed(3);
    if (answers !== undefined) console.log(`p50_us ${us(50)}\np99_us ${us(99)}\np999_us ${us(99.9)}`);
    process.exitCode = wrong ? 1 : 0;
  }
}
for (let chain = 0; chain < CHAINS; chain++) ask();
