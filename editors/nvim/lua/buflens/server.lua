-- Finding the server, starting it, and what to say when either fails.
local M = {}

--- So many crashes within so many seconds, and the server is left alone.
local CRASHES, SECONDS = 3, 180

--- When the server crashed.
local crashes = {}

local function say(text, level)
  vim.schedule(function()
    vim.notify('Buflens: ' .. text, level or vim.log.levels.ERROR)
  end)
end

--- The programs to try, in order. `vim.g.buflens_cmd` is the only one if it is set.
---@return string[][]
function M.candidates()
  local chosen = vim.g.buflens_cmd
  if chosen then
    return { type(chosen) == 'string' and { chosen, 'lsp' } or chosen }
  end
  local checkout = vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2) .. '/../../../../../target/release/buflens')
  return { { 'buflens', 'lsp' }, { vim.fs.normalize('~/.cargo/bin/buflens'), 'lsp' }, { checkout, 'lsp' } }
end

--- The command of the server: the first candidate that can be executed.
---@return string[]?
function M.command()
  return vim.iter(M.candidates()):find(function(command)
    return vim.fn.executable(command[1]) == 1
  end)
end

--- Whether there is a server to start; tells once what was tried if not.
function M.found()
  local own = vim.lsp.config.buflens.cmd
  if own ~= M.start then -- the user's, by vim.lsp.config()
    return type(own) ~= 'table' or vim.fn.executable(own[1]) == 1 or M.missing({ own })
  end
  return M.command() ~= nil or M.missing(M.candidates())
end

function M.missing(candidates)
  local tried = vim.iter(candidates):map(function(command)
    return command[1]:find('[/\\]') and command[1] or command[1] .. ' (on $PATH)'
  end)
  if not M.told then
    M.told = true
    say(
      ('the server was not found; tried %s. Install it with `cargo install --path server` in a clone of Buflens,'
        .. ' or set vim.g.buflens_cmd.'):format(tried:join(', '))
    )
  end
  return false
end

local function crashed(command, code, signal)
  local now = vim.uv.now()
  crashes = vim.iter(crashes)
    :filter(function(at)
      return now - at < SECONDS * 1000
    end)
    :totable()
  table.insert(crashes, now)
  if #crashes < CRASHES then
    vim.defer_fn(function()
      vim.lsp.enable('buflens') -- starts it for the buffers that are open
    end, 200)
  elseif #crashes == CRASHES then
    say(
      ('the server stopped %d times and is not started again (%s: exit code %d, signal %d). See :checkhealth buflens;'
        .. ' :edit starts it again.'):format(CRASHES, table.concat(command, ' '), code, signal)
    )
    crashes = {}
  end
end

--- Starts the server for a client; the `cmd` of its configuration.
function M.start(dispatchers)
  local command = assert(M.command())
  local ended = dispatchers.on_exit
  dispatchers.on_exit = function(code, signal)
    local stopped = vim.v.exiting ~= vim.NIL or (code == 0 and (signal == 0 or signal == 15))
    if not stopped then
      vim.schedule(function()
        crashed(command, code, signal)
      end)
    end
    -- Neovim would print a warning for each.
    ended(0, 0)
  end
  return vim.lsp.rpc.start(command, dispatchers)
end

return M
