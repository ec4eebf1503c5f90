--- What the agent needs of the editor itself: documents saved, problems and symbols told, and files that a command
--- changed read again.
local config = require('reverie.config')
local encoding = require('reverie.encoding')
local wait = require('reverie.wait')
local tell = require('reverie.tell')

local M = {}

local MOST = 1000
--- A language server that has not answered by then is left out.
local SYMBOLS_LIMIT_MS = 5000

---@type reverie.Range
local NOWHERE = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 0 } }

--- The loaded buffer of a file: of just this one, which `bufnr()` does not promise.
---@param path string
---@return integer?
function M.find(path)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer) == path then
      return buffer
    end
  end
end

---@param uri string
---@return integer? buffer
local function buffer_of(uri)
  return M.find(vim.uri_to_fname(uri))
end

--- Buffers that have, or had when the last edit came, no unsaved changes but the agent's own: `b:changedtick` after it.
---@type table<integer, integer>
local clean = {}

---@param buffer integer
local function is_clean(buffer)
  return not vim.bo[buffer].modified or clean[buffer] == vim.b[buffer].changedtick
end

--- Ends the step of undo that somebody in Insert mode is still making. An edit that joined it would go with it, and Neovim
--- would take lines that nobody touched along.
---@param buffers table<integer, boolean>
local function end_undo_step(buffers)
  for buffer in pairs(buffers) do
    vim.bo[buffer].undolevels = vim.bo[buffer].undolevels
  end
end

--- Applies an edit, if every text in it is still the one that the edit was made for. Neovim's own handler looks at the
--- first only, and says that it was applied when it was not.
---@param params {label?: string, edit: table}
---@param client_id integer
---@return {applied: boolean, failureReason?: string}
function M.apply(params, client_id)
  local client = assert(vim.lsp.get_client_by_id(client_id))
  local edited = {} ---@type table<integer, boolean>
  for _, change in ipairs(params.edit.documentChanges or {}) do
    local document = change.textDocument
    local buffer = document and buffer_of(document.uri)
    local wanted = document and document.version
    if buffer and type(wanted) == 'number' and wanted ~= vim.lsp.util.buf_versions[buffer] then
      return { applied = false, failureReason = 'the text has changed meanwhile' }
    end
    if buffer and not vim.bo[buffer].modifiable then
      return { applied = false, failureReason = 'the buffer is not modifiable' }
    end
    if buffer then
      edited[buffer] = is_clean(buffer)
    end
  end
  end_undo_step(edited)
  local done, problem =
    pcall(vim.lsp.util.apply_workspace_edit, params.edit, client.offset_encoding --[[@as any]])
  end_undo_step(edited)
  for buffer, was_clean in pairs(edited) do
    clean[buffer] = was_clean and vim.b[buffer].changedtick or nil
  end
  return { applied = done, failureReason = not done and tostring(problem) or nil }
end

---@param buffer integer
local function ask_about(buffer)
  local path = vim.api.nvim_buf_get_name(buffer)
  -- Either may be gone when the answer comes.
  ---@param action fun()
  local function if_there(action)
    return function()
      if M.find(path) == buffer and vim.fn.filereadable(path) == 1 then
        action()
      else
        tell.warn(('%s is gone.'):format(vim.fs.basename(path)))
      end
    end
  end
  local function load()
    vim.api.nvim_buf_call(buffer, function()
      vim.cmd('silent edit!')
    end)
  end
  local function show()
    require('reverie.review').beside(buffer, vim.fn.readfile(path), 'on disk')
  end
  require('reverie.asks').choose({
    title = config.shorten(path),
    lines = { ' It was changed on disk, and has changes that are not saved.' },
    choices = {
      { label = 'Keep my text', choose = function() end },
      { label = 'Load the file from disk', choose = if_there(load) },
      { label = 'Show both', choose = if_there(show) },
    },
  })
end

--- Reads again what changed on disk where the buffer has no changes of its own; about the others the user is asked.
---@param buffers integer[]
---@return boolean # whether there are others
local function check(buffers)
  local asked = {}
  local autocmd = vim.api.nvim_create_autocmd('FileChangedShell', {
    desc = 'Reverie asks about buffers with unsaved changes instead of stopping everything',
    callback = function(event)
      if vim.v.fcs_reason == 'conflict' then
        vim.v.fcs_choice = ''
        asked[#asked + 1] = event.buf
      elseif vim.v.fcs_reason == 'deleted' then
        vim.v.fcs_choice = ''
      else
        vim.v.fcs_choice = 'reload'
      end
    end,
  })
  for _, buffer in ipairs(buffers) do
    -- By its number: without one, only what a window shows is looked at.
    pcall(vim.api.nvim_command, ('silent! checktime %d'):format(buffer))
  end
  vim.api.nvim_del_autocmd(autocmd)
  vim.schedule(function()
    for _, buffer in ipairs(asked) do
      if vim.api.nvim_buf_is_loaded(buffer) then
        ask_about(buffer)
      end
    end
  end)
  return #asked > 0
end

--- Of all files that are loaded.
function M.reread()
  check(vim.tbl_filter(require('reverie.client').is_file, vim.api.nvim_list_bufs()))
end

--- Why a buffer could not be written, or nil.
---@param buffer integer
---@return string?
local function write(buffer)
  -- Neovim would write another letter, and call that a warning.
  local letter, line = encoding.unwritable(buffer)
  if letter then
    return ('%s has no %s (line %d)'):format(vim.bo[buffer].fileencoding, letter, line)
  end
  local written, problem = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd('silent update')
  end)
  return not written and tell.reason(problem) or nil
end

--- Writes a document that had no unsaved changes before the agent's edit, unless the user does not want that.
---@param params reverie.SaveDocumentParams
---@return reverie.SaveDocumentResult
function M.save(params)
  local buffer = config.get().save and buffer_of(params.uri)
  -- The server compares with the file, and may not be able to read it. And the user may have typed since the edit.
  if not buffer or not is_clean(buffer) then
    return { saved = false }
  end
  -- Neovim would ask whether to write over what somebody else has written, and take the user's next key for the answer.
  if check({ buffer }) then
    return { saved = false }
  end
  local problem = write(buffer)
  if problem then
    tell.warn(('%s was edited and not saved: %s'):format(vim.fn.bufname(buffer), problem))
  end
  return { saved = not problem and not vim.bo[buffer].modified }
end

---@param params reverie.EditorDiagnosticsParams
---@return reverie.EditorDiagnosticsResult
function M.diagnostics(params)
  local buffer
  if params.uri then
    buffer = buffer_of(params.uri)
    if not buffer then
      return { diagnostics = {} }
    end
  end
  local place = require('reverie.client').place
  local found = {}
  for _, one in ipairs(vim.diagnostic.get(buffer)) do
    local at = one.bufnr
    local name = at and vim.api.nvim_buf_get_name(at) or ''
    if at and name ~= '' and #found < MOST then
      found[#found + 1] = {
        uri = vim.uri_from_fname(name),
        range = {
          start = place(at, one.lnum, one.col),
          ['end'] = place(at, one.end_lnum or one.lnum, one.end_col or one.col),
        },
        severity = one.severity,
        message = one.message,
        source = one.source,
        code = one.code and tostring(one.code),
      }
    end
  end
  return { diagnostics = found }
end

---@param found reverie.EditorSymbol[]
---@param symbols table[] `DocumentSymbol` or `SymbolInformation`
---@param uri? string
---@param container? string
local function collect(found, symbols, uri, container)
  for _, symbol in ipairs(symbols) do
    if #found >= MOST then
      return
    end
    local location = symbol.location or {}
    found[#found + 1] = {
      name = symbol.name,
      kind = symbol.kind,
      uri = location.uri or uri,
      -- Some servers only say in which file it is.
      range = symbol.range or location.range or NOWHERE,
      selectionRange = symbol.selectionRange,
      container = container or symbol.containerName,
    }
    collect(found, symbol.children or {}, uri, symbol.name)
  end
end

--- Asks the other language servers, all at once; what has not been answered in time is left out.
---@param clients vim.lsp.Client[]
---@param method string
---@param params table
---@param buffer? integer
---@return table[][]
local function ask_all(clients, method, params, buffer)
  local answers, left = {}, #clients
  return wait.await(function(done)
    vim.defer_fn(function()
      done(answers)
    end, SYMBOLS_LIMIT_MS)
    local function answered(_, result)
      answers[#answers + 1] = type(result) == 'table' and result or nil
      left = left - 1
      if left == 0 then
        done(answers)
      end
    end
    for _, client in ipairs(clients) do
      if not require('reverie.client').send(client, method, params, answered, buffer) then
        answered()
      end
    end
  end)
end

---@param params reverie.EditorSymbolsParams
---@return reverie.EditorSymbolsResult
function M.symbols(params)
  local buffer = params.uri and buffer_of(params.uri)
  local method, arguments = 'workspace/symbol', { query = params.query or '' }
  if params.uri then
    method, arguments = 'textDocument/documentSymbol', { textDocument = { uri = params.uri } }
  end
  local clients = vim.tbl_filter(function(client)
    return client.name ~= 'reverie'
  end, vim.lsp.get_clients({ bufnr = buffer, method = method }))
  local found = {}
  -- A file that is not loaded is known to none of them.
  if #clients == 0 or params.uri and not buffer then
    return { symbols = found }
  end
  for _, symbols in ipairs(ask_all(clients, method, arguments, buffer)) do
    collect(found, symbols, params.uri)
  end
  return { symbols = found }
end

return M
