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
--- The last one, in words.
local how_ended = ''
--- What to do when one that was told to end has ended.
---@type table<integer, fun()>
local ending = {}
--- One that was told to end and has not by then is killed.
local END_LIMIT_MS = 2000

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
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = vim.api.nvim_create_augroup('reverie.client', {}),
    desc = 'Reverie sees what is in the buffers',
    callback = function(event)
      attach(event.buf)
    end,
  })
end

---@param client vim.lsp.Client
local function initialized(client)
  client_id = client.id
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
  local how = how_ended
  vim.schedule(function()
    ended_unasked(how)
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
  local root = config.pin_root()
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
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fs.basename(root) } },
    settings = { reverie = options.settings },
    capabilities = capabilities,
    handlers = require('reverie.handlers'),
    -- What is typed is told at once, so that no edit is made for a text that is gone.
    flags = { debounce_text_changes = 0 } --[[@as any]],
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
  local id
  if IS_NEW_API then
    -- With what the user has put over it by `vim.lsp.config('reverie', …)`.
    ---@diagnostic disable-next-line: undefined-field
    id = vim.lsp.start(vim.lsp.config.reverie or M.config(), { attach = false })
  else
    ---@diagnostic disable-next-line: deprecated
    id = vim.lsp.start_client(M.config())
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
---@param force boolean
local function stop(client, force)
  if IS_NEW_API then
    client:stop(force)
  else
    ---@diagnostic disable-next-line: param-type-mismatch
    client.stop(force)
  end
end

--- Ends the server, and calls back when it is gone.
---@param callback? fun()
function M.stop(callback)
  run = run + 1
  local client = M.get()
  client_id = nil
  enter('stopped')
  settle('the server was stopped')
  if not client then
    return callback and callback()
  end
  local id = client.id
  ending[id] = callback or function() end
  stop(client, false)
  vim.defer_fn(function()
    local late = ending[id] and vim.lsp.get_client_by_id(id)
    if late then
      stop(late, true)
    end
  end, END_LIMIT_MS)
end

function M.restart()
  ends = {}
  M.stop(function()
    M.start(function(problem)
      if not problem then
        tell.info('the server was started anew.')
      end
    end)
  end)
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
    local function answered(err, result)
      if err then
        return callback(err.message or vim.inspect(err), nil, err.code)
      end
      callback(nil, result)
    end
    local sent
    if IS_NEW_API then
      sent = client:request(method, params, answered)
    else
      ---@diagnostic disable-next-line: param-type-mismatch
      sent = client.request(method, params, answered)
    end
    if not sent then
      callback('the server does not run. Try again in a moment.')
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
      -- Of a server that cannot be started it was told already.
      if problem ~= M.reason then
        tell.error(problem)
      end
    elseif callback then
      callback(result)
    end
  end)
end

return M
