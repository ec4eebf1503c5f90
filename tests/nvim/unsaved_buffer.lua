-- A plain vim.lsp client drives one turn against a buffer with unsaved changes.
--
-- nvim --clean --headless -l unsaved_buffer.lua SERVER WORKSPACE
-- Prints one JSON object; the test that started us compares it.
local server, workspace = arg[1], arg[2]
local file = workspace .. '/greeting.txt'

vim.cmd.edit(file)
local buffer = vim.api.nvim_get_current_buf()
vim.api.nvim_buf_set_lines(buffer, 0, 1, false, { 'typed but not saved' })
-- Someone who types leaves insert mode, which ends an undo step; a script has to say it.
vim.cmd('let &undolevels = &undolevels')

local updates, asked = {}, {}
local turn_ended ---@type table
local id = vim.lsp.start({
  name = 'reverie',
  cmd = { server, 'lsp' },
  root_dir = workspace,
  capabilities = vim.tbl_deep_extend('force', vim.lsp.protocol.make_client_capabilities(), {
    experimental = { reverie = { version = 1, permissionAsk = true } },
  }),
  handlers = {
    ['reverie/session/update'] = function(_, params)
      table.insert(updates, params.update.kind)
      if params.update.kind == 'turnEnd' then
        turn_ended = params.update
      end
    end,
    ['reverie/permission/ask'] = function(_, params)
      table.insert(asked, { tool = params.tool, preview = params.preview and params.preview.kind })
      return { option = 'allowOnce' }
    end,
  },
}, { bufnr = buffer })
local client = assert(vim.lsp.get_client_by_id(assert(id)), 'the server did not start')

local function request(method, params)
  local answer = assert(client:request_sync(method, params, 10000, buffer), method .. ' timed out')
  assert(not answer.err, method .. ': ' .. vim.inspect(answer.err))
  return answer.result
end

assert(
  vim.wait(10000, function()
    return client.initialized
  end, 5),
  'the server was not initialized'
)
local session = request('reverie/session/new', { cwd = workspace }).sessionId
request('reverie/session/prompt', {
  sessionId = session,
  prompt = { { type = 'text', text = 'Greet the moon.' } },
})
assert(
  vim.wait(20000, function()
    return turn_ended ~= nil
  end, 5),
  'the turn did not end'
)

local function lines()
  return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end
local report = {
  stopReason = turn_ended.stopReason,
  encoding = client.offset_encoding,
  asked = asked,
  edited = lines(),
  modified = vim.bo[buffer].modified,
  disk = vim.fn.readfile(file),
}
vim.cmd.undo()
report.undone = lines()
client:stop()
assert(
  vim.wait(5000, function()
    return client:is_stopped()
  end, 5),
  'the server did not stop'
)
io.stdout:write(vim.json.encode(report), '\n')
vim.cmd('qall!')
