--- The server as the rest of the plug-in knows it: starts `reverie lsp` through vim.lsp, starts it again when it ends
--- unasked, and says which state it is in.
local config = require('reverie.config')
local events = require('reverie.events')
local sendable = require('reverie.encoding').sendable
local server = require('reverie.server')
local tell = require('reverie.tell')

local M = {}

--- More unasked ends than this within the span, and it stays down.
local MOST_ENDS = 5
local SPAN_MS = 3 * 60 * 1000
local FIRST_DELAY_MS, LONGEST_DELAY_MS = 200, 10000

local IS_NEW_API = vim.fn.has('nvim-0.11') == 1
--- Before, its `exit_timeout` is spent whether or not the server has gone.
local WAITS_AT_ITS_END = vim.fn.has('nvim-0.12') == 1
local PROTOCOL = 1

--- What the server can be asked about a text.
local FEATURES = {
  'hover',
  'completion',
  'definition',
  'references',
  'documentLink',
  'rename',
  'documentSymbol',
  'foldingRange',
  'formatting',
  'codeLens',
  'codeAction',
  'inlayHint',
}

---@alias reverie.ServerState 'stopped'|'starting'|'running'|'restarting'|'failed'

---@type reverie.ServerState
M.state = 'stopped'
--- Of `restarting` and `failed`, in words.
---@type string?
M.reason = nil

---@type integer?
local client_id
---@type (fun(problem?: string))[]
local waiting = {}
---@type integer[]
local ends = {}
--- Counts the stops, so that what was under way before one knows that it is over.
local run = 0
local is_watching_buffers = false
--- The last one, in words, and whether it ended as one does that was told to.
local how_ended, has_ended_well = '', false
--- What to do when one that was told to end has ended.
---@type table<integer, fun()>
local ending = {}
--- One that was told to end first finishes what it has begun to remember, within a minute. One that has not ended by then
--- is killed, and who waits for it is told soon.
local END_LIMIT_MS, END_TOLD_MS = 65000, 1500
--- Those who wait for an answer of the server that runs.
---@type table<fun(err?: table, result?: any), true>
local unanswered = {}
local ENDED = 'the server has ended'

---@param state reverie.ServerState
---@param reason? string
local function enter(state, reason)
  M.state, M.reason = state, reason
  require('reverie.chat').server_changed(state, reason)
  events.emit('Server', { state = state, reason = reason })
end

---@param problem? string
local function settle(problem)
  local callbacks = waiting
  waiting = {}
  for _, callback in ipairs(callbacks) do
    callback(problem)
  end
end

--- No answer will come any more.
local function abandon()
  for _, answered in ipairs(vim.tbl_keys(unanswered)) do
    answered({ message = ENDED })
  end
end

--- It does not run, and is not to run.
local function rest()
  client_id = nil
  config.unpin_root()
  enter('stopped')
  settle('the server was stopped')
  abandon()
end

---@param reason string
local function fail(reason)
  enter('failed', reason)
  settle(reason)
end

---@return vim.lsp.Client?
function M.get()
  return client_id and vim.lsp.get_client_by_id(client_id)
end

--- Whether the server should know what is in this buffer: a file, whether it is on disk yet or not.
---@param buffer integer
---@return boolean
function M.is_file(buffer)
  return vim.api.nvim_buf_is_loaded(buffer)
    and vim.bo[buffer].buftype == ''
    and vim.api.nvim_buf_get_name(buffer) ~= ''
    and not vim.api.nvim_buf_get_name(buffer):match('^%a[%w+.-]+://')
end

local function attach(buffer)
  if client_id and M.state == 'running' and M.is_file(buffer) then
    vim.lsp.buf_attach_client(buffer, client_id)
    require('reverie.inline').refresh(buffer)
    require('reverie.changes').mark(buffer)
  end
end

--- The truth is what is in the buffers, so the server is told of all of them.
local function attach_all()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    attach(buffer)
  end
  if is_watching_buffers then
    return
  end
  is_watching_buffers = true
  local group = vim.api.nvim_create_augroup('reverie.client', {})
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = group,
    desc = 'Reverie sees what is in the buffers',
    callback = function(event)
      attach(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = group,
    desc = 'Reverie sees a buffer that has got its name by being written',
    callback = function(event)
      if client_id and not vim.lsp.buf_is_attached(event.buf, client_id) then
        attach(event.buf)
      end
    end,
  })
end

--- Who quits gives the server a moment to remember what was said last.
---@param client vim.lsp.Client
local function wait_at_the_end(client)
  if WAITS_AT_ITS_END then
    return
  end
  -- Made after Neovim's own, and so called after it has told the server to end.
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('reverie.end', {}),
    callback = function()
      vim.wait(config.get().exit_timeout, client.rpc.is_closing, 10)
    end,
  })
end

---@param client vim.lsp.Client
local function initialized(client)
  client_id = client.id
  wait_at_the_end(client)
  local theirs = vim.tbl_get(client, 'server_capabilities', 'experimental', 'reverie', 'version')
  if theirs ~= PROTOCOL then
    M.stop()
    fail(
      ('the server speaks version %s of the protocol, the plug-in %d. %s'):format(
        theirs,
        PROTOCOL,
        server.advice
      )
    )
    return
  end
  enter('running')
  attach_all()
  require('reverie.inline').begin()
  settle()
end

local launch ---@type fun()

---@param how string
local function ended_unasked(how)
  local now = vim.uv.now()
  ends = vim.tbl_filter(function(time)
    return now - time < SPAN_MS
  end, ends)
  ends[#ends + 1] = now
  if #ends > MOST_ENDS then
    fail(
      ('the server has ended %d times in a few minutes: %s. `:Reverie restart` tries again.'):format(
        #ends,
        how
      )
    )
    return
  end
  enter('restarting', how)
  local mine = run
  vim.defer_fn(function()
    if mine == run then
      launch()
    end
  end, math.floor(math.min(FIRST_DELAY_MS * 2 ^ (#ends - 1), LONGEST_DELAY_MS)))
end

---@param id integer
local function exited(_, _, id)
  -- `stop` has let go of it when the end was asked for.
  if id ~= client_id then
    if ending[id] then
      vim.schedule(ending[id])
      ending[id] = nil
    end
    return
  end
  client_id = nil
  local how, mine = how_ended, run
  -- Somebody else may have told it to: `vim.lsp.enable('reverie', false)` does.
  local was_told = has_ended_well and M.state == 'running'
  vim.schedule(function()
    if mine ~= run then
      return
    end
    if was_told then
      return rest()
    end
    ended_unasked(how)
    abandon()
  end)
end

--- Starts the program. How it ends is ours to tell: Neovim's own words about it would stop whoever is typing.
---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
local function run_server(dispatchers)
  local options = config.get().server
  local command = { server.find() or 'reverie' }
  vim.list_extend(command, options.args)
  command[#command + 1] = 'lsp'
  local on_exit = dispatchers.on_exit
  ---@type any
  local quiet = vim.tbl_extend('force', dispatchers, {
    on_exit = function(code, signal)
      how_ended = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
      -- 15 is how Neovim ends one that takes too long.
      has_ended_well = signal == 15 or signal == 0 and code == 0
      on_exit(0, 0)
    end,
  })
  local env = next(options.env) and options.env or nil
  local rpc = vim.lsp.rpc.start(command, quiet, { cwd = config.root(), env = env })
  ---@type any
  local readable = vim.tbl_extend('force', rpc, {
    request = function(method, params, ...)
      return rpc.request(method, sendable(params), ...)
    end,
    notify = function(method, params)
      return rpc.notify(method, sendable(params))
    end,
  })
  return readable
end

--- For `vim.lsp.config`, `vim.lsp.start` and `lsp/reverie.lua`.
---@return vim.lsp.ClientConfig
function M.config()
  local options = config.get()
  local patience = WAITS_AT_ITS_END and options.exit_timeout > 0 and options.exit_timeout or false
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  -- Edits then come with the version they were made for, and `buffers.apply` looks at it.
  local ours = {
    workspace = {
      workspaceEdit = { documentChanges = true },
      -- `inline` draws them.
      codeLens = { refreshSupport = true },
      inlayHint = { refreshSupport = true },
    },
    textDocument = {},
  }
  -- What is said about memories is said for their files alone, so that nothing of the user's other files changes hands.
  for _, feature in ipairs(FEATURES) do
    ours.textDocument[feature] = { dynamicRegistration = true }
  end
  capabilities = vim.tbl_deep_extend('force', capabilities, ours)
  -- Neovim asks for diagnostics that are announced later only if they come at the right moment; so they are sent unasked.
  capabilities.textDocument.diagnostic = vim.NIL --[[@as any]]
  capabilities.experimental = {
    reverie = {
      version = PROTOCOL,
      permissionAsk = true,
      userAsk = true,
      planAsk = true,
      documentSave = true,
      editorDiagnostics = true,
      editorSymbols = true,
      trustView = true,
      memoryView = true,
      inlineMemory = true,
    },
  }
  return {
    name = 'reverie',
    cmd = run_server,
    -- Not the folder itself: Neovim keeps this table, and the next server may be for another folder.
    root_dir = function(_, use)
      use(config.pin_root())
    end --[[@as any]],
    settings = { reverie = options.settings },
    capabilities = capabilities,
    handlers = require('reverie.handlers'),
    -- What is typed is told at once, so that no edit is made for a text that is gone.
    flags = { debounce_text_changes = 0, exit_timeout = patience } --[[@as any]],
    exit_timeout = patience --[[@as any]],
    on_init = initialized,
    on_exit = exited,
  }
end

launch = function()
  local path, problem = server.find()
  if not path then
    fail(('%s. %s'):format(problem, server.advice))
    return
  end
  enter('starting')
  -- With what the user has put over it by `vim.lsp.config('reverie', …)`.
  ---@diagnostic disable-next-line: undefined-field
  local settings = IS_NEW_API and vim.lsp.config.reverie or M.config()
  if type(settings.root_dir) == 'function' then
    settings = vim.tbl_extend('force', settings, { root_dir = config.pin_root() })
  end
  local id
  if IS_NEW_API then
    id = vim.lsp.start(settings, { attach = false })
  else
    ---@diagnostic disable-next-line: deprecated
    id = vim.lsp.start_client(settings)
  end
  if not id then
    fail(('%s could not be started. %s'):format(path, server.advice))
    return
  end
  client_id = id
end

--- Calls back when the server runs, or with what keeps it from running.
---@param callback fun(problem?: string)
function M.start(callback)
  if M.state == 'running' and M.get() then
    return callback()
  end
  waiting[#waiting + 1] = callback
  if M.state == 'stopped' or M.state == 'failed' then
    launch()
  end
end

---@param client vim.lsp.Client
local function stop(client)
  if IS_NEW_API then
    client:stop(false)
  else
    ---@diagnostic disable-next-line: param-type-mismatch
    client.stop(false)
  end
end

--- Ends the server, and calls back when it is gone.
---@param callback? fun()
function M.stop(callback)
  run = run + 1
  local client = M.get()
  rest()
  if not client then
    return callback and callback()
  end
  local id = client.id
  ending[id] = callback or function() end
  stop(client)
  vim.defer_fn(function()
    if ending[id] and callback then
      tell.info('the server finishes what it is at. `:Reverie restart` again does not wait for it.')
    end
  end, END_TOLD_MS)
  vim.defer_fn(function()
    local late = ending[id] and vim.lsp.get_client_by_id(id)
    if late then
      late.rpc.terminate()
    end
  end, END_LIMIT_MS)
end

local function start_anew()
  M.start(function(problem)
    if not problem then
      tell.info('the server was started anew.')
    end
  end)
end

--- Who asks twice does not wait.
function M.restart()
  ends = {}
  local id = next(ending)
  local late = id and vim.lsp.get_client_by_id(id)
  if id and late then
    ending[id] = start_anew
    -- Not by `stop`: Neovim 0.11 does nothing where that was called before.
    late.rpc.terminate()
  else
    M.stop(start_anew)
  end
end

--- A request to any server.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param callback fun(err?: table, result?: any)
---@param buffer? integer
---@return boolean # whether it was sent
function M.send(client, method, params, callback, buffer)
  if IS_NEW_API then
    return (client:request(method, params, callback, buffer))
  end
  ---@diagnostic disable-next-line: param-type-mismatch
  return (client.request(method, params, callback, buffer))
end

--- A place in a buffer as the server counts.
---@param buffer integer
---@param line integer From 0.
---@param byte integer From 0.
---@param is_behind? boolean Whether the place behind the letter that begins there is meant.
---@return reverie.Position
function M.place(buffer, line, byte, is_behind)
  local text = vim.api.nvim_buf_is_loaded(buffer)
    and vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1]
  if not text then
    return { line = line, character = byte }
  end
  byte = is_behind and byte + #vim.fn.strcharpart(text:sub(byte + 1), 0, 1) or byte
  local client = M.get()
  local units = client and client.offset_encoding or 'utf-16'
  return { line = line, character = require('reverie.encoding').column(text, byte, units) }
end

--- Starts the server where that is needed.
---@param method string
---@param params table
---@param callback fun(problem?: string, result?: any, code?: integer) Words for people, or the result.
function M.request(method, params, callback)
  M.start(function(problem)
    if problem then
      return callback(problem)
    end
    local client = assert(M.get())
    -- An empty table would be sent as a list.
    params = next(params) and params or vim.empty_dict()
    local answered ---@type fun(err?: table, result?: any)
    answered = function(err, result)
      if not unanswered[answered] then
        return
      end
      unanswered[answered] = nil
      if err then
        return callback(err.message or vim.inspect(err), nil, err.code)
      end
      callback(nil, result)
    end
    unanswered[answered] = true
    if not M.send(client, method, params, answered) then
      answered({ message = 'the server does not run. Try again in a moment.' })
    end
  end)
end

--- As `request`, for where a failure is only to be told.
---@param method string
---@param params table
---@param callback? fun(result: any)
function M.ask(method, params, callback)
  M.request(method, params, function(problem, result)
    if problem then
      -- Of a server that has ended, or cannot be started, it was told already.
      if problem ~= M.reason and problem ~= ENDED then
        tell.error(problem)
      end
    elseif callback then
      callback(result)
    end
  end)
end

return M
