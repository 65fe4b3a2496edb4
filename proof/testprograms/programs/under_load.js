// The servers and clients of under_load: node under_load.js server|ask|count|total ...
//
//   server PORT            a cluster of four processes: each answer takes a file, a hash and a compression from the thread pool,
//                          and now and then a thread and a child process; SIGHUP replaces the processes one by one
//   ask PORT MS            asks it on 16 connections and compares the answers
//   count PORT KEY MS FILE adds to memcached's counter KEY on 16 connections, and compares what it stores and gets back; FILE has
//                          how often the counter has been raised, at least and at most
//   total PORT KEY [new]   prints that counter, or sets it to 0
//
// Status 3: an answer was wrong. Status 4: nobody answered.
'use strict';
const cluster = require('cluster');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const net = require('net');
const zlib = require('zlib');
const { execFile } = require('child_process');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const [, , role, port, ...rest] = process.argv;
const CONNECTIONS = 16;

const hash = (text) => crypto.createHash('sha256').update(text).digest('hex');
// What the server answers to `n`, without any pool.
const expected = (n, source) => hash(crypto.pbkdf2Sync(String(n), 'salt', 50, 32, 'sha256').toString('hex') + source);

function fail(status, text) {
  console.log(text);
  process.exit(status);
}

function answer(n, response) {
  const done = (text) => response.end(text);
  fs.readFile(__filename, (e1, data) => crypto.pbkdf2(String(n), 'salt', 50, 32, 'sha256', (e2, key) =>
    zlib.deflate(data, (e3, packed) => zlib.inflate(packed, (e4, source) => {
      if (e1 || e2 || e3 || e4) return done('failed');
      const text = key.toString('hex') + source;
      if (n % 50 === 0) return new Worker(__filename, { workerData: text }).once('message', done).once('error', () => done('failed'));
      if (n % 50 === 1) return execFile('true', (error) => done(error ? 'failed' : hash(text)));
      return done(hash(text));
    }))));
}

function server() {
  if (cluster.isWorker) {
    return http.createServer((request, response) => answer(Number(request.url.slice(1)), response)).listen(port, '127.0.0.1');
  }
  for (let i = 0; i < 4; i++) cluster.fork();
  cluster.on('exit', (worker) => worker.replaced || cluster.fork());
  return process.on('SIGHUP', () => {
    for (const worker of Object.values(cluster.workers)) {
      worker.replaced = true;
      cluster.fork().once('listening', () => worker.disconnect());
    }
  });
}

function ask() {
  const end = Date.now() + Number(rest[0]);
  const source = fs.readFileSync(__filename, 'utf8');
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let n_right = 0;
  const one = () => {
    if (Date.now() > end) return;
    const n = crypto.randomInt(1000);
    // A connection that breaks is of a process that was killed: somebody else answers.
    const again = () => setTimeout(one, 10);
    http.get({ host: '127.0.0.1', port, path: `/${n}`, agent, timeout: 30000 }, (response) => {
      let text = '';
      response.on('data', (data) => { text += data; });
      response.on('error', again);
      response.on('end', () => {
        if (!response.complete) return again();
        if (text !== expected(n, source)) fail(3, `WRONG: ${text} for ${n}`);
        n_right += 1;
        return one();
      });
    }).on('timeout', () => fail(4, 'no answer for 30 s')).on('error', again);
  };
  for (let i = 0; i < CONNECTIONS; i++) one();
  process.on('exit', (code) => code === 0 && n_right === 0 && fail(4, 'nobody answered'));
}

// One exchange with memcached after the other: `next(answer)` says what to send, or nothing to end.
function talk(next) {
  const socket = net.connect(Number(port), '127.0.0.1');
  let text = '';
  const say = (answer) => {
    const line = next(answer);
    if (line) socket.write(`${line}\r\n`);
    else socket.end();
  };
  socket.setNoDelay(true).setTimeout(30000, () => fail(4, 'no answer for 30 s')).on('error', (error) => fail(4, error.message));
  socket.on('connect', () => say()).on('data', (data) => {
    text += data;
    if (!text.endsWith('\r\n') || (text.startsWith('VALUE') && !text.endsWith('END\r\n'))) return;
    const answer = text.trim();
    text = '';
    say(answer);
  });
}

function count() {
  const [key, ms, path] = rest;
  const end = Date.now() + Number(ms);
  let [n_sent, n_answered, limit] = [0, 0, 0];
  // Written before it is sent, and with room, as this process may be killed.
  const file = fs.openSync(path, 'w');
  const write = () => fs.writeSync(file, `${`${n_answered} ${limit}`.padEnd(39)}\n`, 0);
  for (let i = 0; i < CONNECTIONS; i++) {
    const own = `${path.split('/').pop()}.${i}`;
    let [step, value] = [0, ''];
    talk((text) => {
      // After a restart the server has nothing: the counter's name is that of one start.
      if (text === 'NOT_FOUND' && step === 1) fail(4, text);
      const wanted = [/^(undefined|VALUE .*)/, /^\d+$/, /^STORED$/][step];
      const is_own = step !== 0 || text === undefined || text === `VALUE ${own} 0 ${value.length}\r\n${value}\r\nEND`;
      if (!wanted.test(String(text)) || !is_own) fail(3, `WRONG: ${text}`);
      if (step === 1) n_answered += 1;
      if (step === 0 && Date.now() > end) return null;
      step = (step + 1) % 3;
      if (step === 2) {
        value = hash(String(n_sent)).repeat(1 + n_sent % 20);
        return `set ${own} 0 60 ${value.length}\r\n${value}`;
      }
      if (step === 0) return `get ${own}`;
      n_sent += 1;
      if (n_sent > limit) {
        limit = n_sent + 99;
        write();
      }
      return `incr ${key} 1`;
    });
  }
  process.on('exit', () => {
    limit = n_sent;
    write();
  });
}

function total() {
  talk((text) => {
    if (text === undefined) return rest[1] === 'new' ? `set ${rest[0]} 0 0 1\r\n0` : `incr ${rest[0]} 0`;
    console.log(text);
    return null;
  });
}

if (isMainThread) ({ server, ask, count, total })[role]();
else parentPort.postMessage(hash(workerData));
