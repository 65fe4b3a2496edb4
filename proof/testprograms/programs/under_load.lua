-- Accounts whose sum never changes, for sysbench: `prepare`, `run`, `check`, and `kill`, which ends one connection of the server.
-- Ends with status 3 if the sum is wrong; other failures are of the connection.
local ACCOUNTS, EACH = 1000, 100

local function connected()
  return sysbench.sql.driver():connect()
end

local function check(con)
  local sum = tonumber(con:query_row("SELECT SUM(balance) FROM account"))
  if sum ~= ACCOUNTS * EACH then
    print("WRONG: the sum is " .. tostring(sum))
    os.exit(3)
  end
end

sysbench.cmdline.commands = {
  prepare = {function()
    local con = connected()
    con:query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL) ENGINE=InnoDB")
    con:query("INSERT INTO account SELECT seq, " .. EACH .. " FROM seq_1_to_" .. ACCOUNTS)
  end},
  check = {function() check(connected()) end},
  kill = {function()
    local con = connected()
    local id = con:query_row("SELECT id FROM information_schema.processlist "
      .. "WHERE command <> 'Daemon' AND id <> CONNECTION_ID() ORDER BY RAND() LIMIT 1")
    if id ~= nil then con:query("KILL " .. id) end
  end},
}

function thread_init()
  con = connected()
end

function event()
  local from, to = math.random(ACCOUNTS), math.random(ACCOUNTS)
  if from ~= to then
    -- One statement is one transaction, and takes its rows in the order of their numbers.
    con:query(string.format("UPDATE account SET balance = balance + IF(id = %d, -1, 1) WHERE id IN (%d, %d)", from, from, to))
  end
  for _ = 1, 4 do
    con:query("SELECT balance FROM account WHERE id = " .. math.random(10))
  end
  check(con)
end
