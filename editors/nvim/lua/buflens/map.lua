-- The buffer with the memory map as text.
local commands = require('buflens.commands')
local page = require('buflens.page')

local M = {}

local SPACE = vim.api.nvim_create_namespace('buflens.map')

--- The groups of rows, after what is said of an allocation in front of them.
local GROUPS = { arg = 'Function', output = 'String', constant = 'Constant', temp = 'Type' }

--- Colours the rows of allocations, the peak and the legend.
local function colour(buffer, lines)
  local group
  for number, line in ipairs(lines) do
    local kind = line:match('^#?%d+ (%l-)s? ')
    if kind then
      group = GROUPS[kind]
    elseif not line:find('^ +%S*$') then
      group = nil
    end
    local shown = number == 1 and 'Title' or line:find(' peak.*%^') and 'WarningMsg' or group
    if shown then
      page.colour(buffer, SPACE, number, shown)
    end
  end
end

--- Goes from a line of the legend, `C  copy.3  325.0 MiB  13-14  6+32768`, to the value's line.
local function go(source)
  local start, allocation, offset = vim.api.nvim_get_current_line():match('(%d+)%-?%d*%s+(%d+)%+(%d+)$')
  if not start then
    return
  end
  local asked = { allocation = tonumber(allocation), offset = tonumber(offset), step = tonumber(start) }
  commands.ask('buflens.valueAtOffset', asked, source, function(result)
    local values = vim.iter(result.values)
    local value = values:find(function(it)
      return it.offset == asked.offset and it.live and it.live[1] == asked.step
    end) or result.values[1]
    if value and value.location then
      page.show(value.location, source.client.offset_encoding)
    end
  end)
end

--- Opens a buffer with a result of `buflens.textMap`.
---@param source { client: vim.lsp.Client, bufnr: integer } where it came from
function M.open(result, source)
  local buffer, lines = page.open(result.text, 'buflens-map')
  colour(buffer, lines)
  vim.keymap.set('n', '<CR>', function()
    go(source)
  end, { buffer = buffer, nowait = true, desc = 'Go to the value of this line of the legend' })
end

return M
