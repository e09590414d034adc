-- What the tests have in common. A test is a script: it ends with `done()`, or with the first thing that is not so.
local M = {}

vim.g.buflens_cmd = { vim.env.BUFLENS_BINARY, 'lsp' }

--- What was told to the user.
M.messages = {}
vim.notify = function(text, level)
  table.insert(M.messages, { text = text, level = level })
end
vim.notify_once = vim.notify

local function fail(what)
  io.stdout:write('FAIL ' .. what .. '\n')
  for _, message in ipairs(M.messages) do
    io.stdout:write('     told: ' .. message.text .. '\n')
  end
  vim.cmd('cquit 1')
end

--- Something goes wrong anywhere: the test fails, and does not wait for a key.
local function guard(what, test, ...)
  local ok, result = pcall(test, ...)
  if not ok then
    fail(what .. ': ' .. tostring(result))
  end
  return result
end

function M.check(what, condition, shown)
  if not condition then
    fail(what .. (shown ~= nil and ': ' .. vim.inspect(shown) or ''))
  end
  io.stdout:write('ok   ' .. what .. '\n')
end

function M.equal(what, found, expected)
  M.check(what, vim.deep_equal(found, expected), { found = found, expected = expected })
end

--- Waits until `test` gives something, and gives that.
function M.wait(what, test, shown)
  local result
  local ok = vim.wait(15000, function()
    result = guard(what, test)
    return result
  end, 10)
  M.check(what, ok, not ok and shown and shown() or nil)
  return result
end

--- Opens a file and waits for the server.
function M.open(path)
  vim.cmd.edit(path)
  return M.wait('attached to ' .. vim.fs.basename(path), function()
    local client = vim.lsp.get_clients({ bufnr = 0, name = 'buflens' })[1]
    return client and client.initialized and client
  end)
end

--- Puts the cursor on `text` in the first line that `line` matches.
function M.go(line, text)
  vim.fn.cursor(1, 1)
  local found = vim.fn.search(line, 'cW')
  M.check('there is a line ' .. line, found > 0)
  local column = vim.fn.getline(found):find(text, 1, true)
  vim.fn.cursor(found, column)
end

--- The lines of the float that is open.
function M.float()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n'), window
    end
  end
end

--- Whether the user was told something with `text` in it.
function M.told(text)
  return vim.iter(M.messages):any(function(message)
    return message.text:find(text, 1, true) ~= nil
  end)
end

function M.keys(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), 'mx', false)
end

--- Runs a test whole, and ends Neovim.
function M.test(body)
  vim.schedule(function()
    guard('no error', body)
    M.check('Neovim printed no error', vim.v.errmsg == '', vim.v.errmsg)
    vim.cmd('qall!')
  end)
end

return M
