-- Answers to the commands beyond the protocol as docs/lsp-extensions.md shows them, in place of the server's: what is
-- tested with them is how they look, with every key that may be null once there and once not.
local M = {}

--- What was asked, in order.
M.asked = {}

local function place(line)
  return {
    uri = vim.uri_from_bufnr(M.buffer),
    range = { start = { line = line, character = 1 }, ['end'] = { line = line, character = 6 } },
  }
end

local function values()
  return {
    {
      id = 41, name = 'copy.3', index = '{}', kind = 'temp', allocation = 6, offset = 32768, bytes = 340787200,
      logical_bytes = 336199680, live = { 13, 14 }, shape = 'f32[32,513,5120]{2,1,0:T(8,128)}', opcode = 'copy',
      op_name = 'jit(conv_general_dilated)/conv_general_dilated', source = 'model.py:12', location = place(2),
      what_if = { step = 16, instruction = 'copy.4', occupied_bytes = 1007566848 },
    },
    {
      id = 7, name = 'copy-start.1', index = '{0}', kind = 'parameter', allocation = 2, offset = 0, bytes = 512,
      logical_bytes = 512, shape = 'f32[128]', op_name = 'two\nlines\27[31m', location = place(4),
    },
  }
end

local function peak(arguments)
  if arguments.space == 9 then
    return { schema = 1, module = 'jit_f', space = 9, reason = 'no allocation is in memory space 9', values = {} }
  end
  local space = arguments.space or 0
  return {
    schema = 1, module = 'jit_f', platform = 'tpu', space = space, name = space == 0 and 'HBM' or 'VMEM', step = 13,
    instruction = 'copy.3', occupied_bytes = 1012613120, reserved_bytes = 1348651528,
    kinds = { parameter = 335630336, output = 0, constant = 0, temp = 676986880 },
    near = { { 13, 14 }, { 16, 16 } },
    next = { { step = 16, instruction = 'copy.4', occupied_bytes = 1007566848 } },
    xla_peak = { step = 14, listed_bytes = 1007616000, occupied_bytes = 1012613120 },
    spaces = { { color = 0, name = 'HBM' }, { color = 1, name = 'VMEM' } },
    values = values(), values_left_out = 3,
  }
end

M.answers = {
  ['buflens.peak'] = peak,
  ['buflens.whatIf'] = function(arguments)
    if arguments.without[1] == 99 then
      local peak = { step = 13, instruction = 'copy.3', occupied_bytes = 1012613120 }
      return { schema = 1, space = 0, without = { 99 }, unknown = { 99 }, before = peak, after = peak, saved_bytes = 0 }
    end
    return {
      schema = 1, module = 'jit_f', space = 0, without = arguments.without, unknown = {},
      before = { step = 13, instruction = 'copy.3', occupied_bytes = 1012613120 },
      after = { step = 16, instruction = 'copy.4', occupied_bytes = 1007566848 }, saved_bytes = 5046272,
      note = 'with the schedule and the placement as they are',
    }
  end,
  ['buflens.valueAtOffset'] = function(arguments)
    return { schema = 1, allocation = arguments.allocation, offset = arguments.offset, values = values() }
  end,
  ['buflens.padding'] = function()
    local all = values()
    all[1].padding_bytes, all[1].ratio = 4587520, 1.0136
    all[1].dimension = { number = 1, from = 513, to = 520, tile = 8 }
    all[1].order = { minor_to_major = { 1, 0 }, bytes = 20480 }
    all[2].padding_bytes, all[2].ratio = 448, 8
    -- A scalar has no dimension that is to blame.
    all[2].dimension = { number = vim.NIL, from = 1, to = 256, tile = 256 }
    return {
      schema = 1, module = 'jit_f', values = all, values_left_out = 0, allocations = {},
      spaces = { { color = 0, name = 'HBM', padding_bytes = 4587520, occupied_bytes = 1012613120, step = 13 }, { color = 5, padding_bytes = 0 } },
    }
  end,
  ['buflens.donation'] = function()
    return {
      schema = 1, module = 'jit_f', donated_bytes = 0, not_usable_bytes = 64, could_match_bytes = 512, dead_bytes = 335544320,
      parameters = {
        {
          parameter = 0, index = '{}', name = 'Arg_0.1', allocation = 2, space = 0, bytes = 335544320, verdict = 'dead',
          last_read = { step = 5, instruction = 'pad' }, alive_at_peak = true, outputs = {}, location = place(2),
        },
        {
          parameter = 1, index = '{1}', name = 'Arg_1.2', allocation = 3, space = 0, bytes = 512, verdict = 'could-match',
          alive_at_peak = false, outputs = { 4 }, location = place(3),
        },
        {
          parameter = 2, index = '{}', name = 'Arg_2.3', allocation = 5, space = 0, bytes = 64, verdict = 'not-usable',
          alive_at_peak = false, outputs = {}, location = place(4),
        },
      },
    }
  end,
  ['buflens.copies'] = function()
    return {
      schema = 1, module = 'jit_f', copies_left_out = 0,
      spaces = { { color = 0, name = 'HBM', copied_bytes = 340787200, at_peak_bytes = 0 } },
      copies = {
        {
          name = 'copy.3', kind = 'layout', operand = 'fusion.5', bytes = 340787200,
          from = { space = 0, layout = '{2,0,1:T(8,128)}' }, to = { space = 0, layout = '{2,1,0:T(8,128)}' },
          window = { 13, 13 }, alive_at_peak = true, round_trip = 'copy.1', location = place(2),
        },
        {
          name = 'copy-start', kind = 'prefetch', bytes = 512, from = { space = 0, layout = '{0}' },
          to = { space = 1, layout = '{0}' }, window = { 1, 4 }, alive_at_peak = false, source = 'model.py:3', location = place(3),
        },
      },
    }
  end,
}

--- Lets the client of the current buffer have these answers.
function M.put(client)
  M.buffer = vim.api.nvim_get_current_buf()
  client.server_capabilities.executeCommandProvider = { commands = vim.tbl_keys(M.answers) }
  local request = client.request
  client.request = function(self, method, params, handler, bufnr)
    if method ~= 'workspace/executeCommand' then
      return request(self, method, params, handler, bufnr)
    end
    table.insert(M.asked, params)
    vim.schedule(function()
      handler(nil, M.answers[params.command](params.arguments[1]))
    end)
    return true, 1
  end
end

return M
