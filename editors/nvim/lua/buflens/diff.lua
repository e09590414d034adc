-- The buffer that tells what changed between two dumps.
local page = require('buflens.page')
local text = require('buflens.text')

local M = {}

local SPACE = vim.api.nvim_create_namespace('buflens.diff')

--- Puts the places of all values in `result` into `places`, by the name that the text has; the first counts.
local function collect(result, places)
  if result.location and result.name then
    local name = text.name(result)
    places[name] = places[name] or result.location
    return
  end
  for _, inner in pairs(result) do
    if type(inner) == 'table' then
      collect(inner, places)
    end
  end
end

--- The places of values by name: of those that are gone, and of all others in the dump after.
local function places_of(result)
  local gone, there = {}, {}
  for _, key in ipairs({ 'removed', 'peak_left', 'copies_removed' }) do
    collect(result[key] or {}, gone)
  end
  for _, key in ipairs({ 'added', 'peak_entered', 'copies_added' }) do
    collect(result[key] or {}, there)
  end
  for _, key in ipairs({ 'changed', 'peak_changed', 'donation', 'copies_changed' }) do
    for _, both in ipairs(result[key] or {}) do
      collect(both.after or {}, there)
    end
  end
  return gone, there
end

--- Goes to the value that the line under the cursor is about. A name may be that of a value that is gone and of another
--- that is there; the sign tells which.
local function go(gone, there, encoding)
  local line = vim.api.nvim_get_current_line()
  local first, second = there, gone
  if line:find('^ *%-') then
    first, second = gone, there
  end
  for name in line:gmatch('%S+') do
    local location = first[name] or second[name]
    if location then
      return page.show(location, encoding)
    end
  end
end

--- Opens a buffer with a result of `buflens.diff` that has a `text`.
---@param source { client: vim.lsp.Client, bufnr: integer } where it came from
function M.open(result, source)
  local bufnr, lines = page.open(result.text, 'buflens-diff')
  for number, line in ipairs(lines) do
    local group = number == 1 and 'Title' or line:find('^ *%+%d') and 'Added' or line:find('^ *%-%d') and 'Removed'
    if group then
      page.colour(bufnr, SPACE, number, group)
    end
  end
  local gone, there = places_of(result)
  vim.keymap.set('n', '<CR>', function()
    go(gone, there, source.client.offset_encoding)
  end, { buffer = bufnr, nowait = true, desc = 'Go to the value of this line' })
end

return M
