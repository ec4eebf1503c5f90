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
  local done, problem =
    pcall(vim.lsp.util.apply_workspace_edit, params.edit, client.offset_encoding --[[@as any]])
  for buffer, was_clean in pairs(edited) do
    clean[buffer] = was_clean and vim.b[buffer].changedtick or nil
  end
  return { applied = done, failureReason = not done and tostring(problem) or nil }
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
  -- The server compares with the file, and may not be able to read it.
  if not buffer or not clean[buffer] then
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
  local found = {}
  for _, one in ipairs(vim.diagnostic.get(buffer)) do
    local name = one.bufnr and vim.api.nvim_buf_get_name(one.bufnr) or ''
    if name ~= '' and #found < MOST then
      found[#found + 1] = {
        uri = vim.uri_from_fname(name),
        range = {
          start = { line = one.lnum, character = one.col },
          ['end'] = { line = one.end_lnum or one.lnum, character = one.end_col or one.col },
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
    found[#found + 1] = {
      name = symbol.name,
      kind = symbol.kind,
      uri = symbol.location and symbol.location.uri or uri,
      range = symbol.location and symbol.location.range or symbol.range,
      selectionRange = symbol.selectionRange,
      container = container or symbol.containerName,
    }
    collect(found, symbol.children or {}, uri, symbol.name)
  end
end

---@param params reverie.EditorSymbolsParams
---@return reverie.EditorSymbolsResult
function M.symbols(params)
  local buffer = params.uri and buffer_of(params.uri) or vim.api.nvim_get_current_buf()
  local method, arguments = 'workspace/symbol', { query = params.query or '' }
  if params.uri then
    method, arguments = 'textDocument/documentSymbol', { textDocument = { uri = params.uri } }
  end
  local found = {}
  local answers = wait.await(function(done)
    vim.defer_fn(function()
      done({})
    end, SYMBOLS_LIMIT_MS)
    vim.lsp.buf_request_all(buffer, method, arguments, done)
  end)
  for id, answer in pairs(answers) do
    local client = vim.lsp.get_client_by_id(id)
    if client and client.name ~= 'reverie' and type(answer.result) == 'table' then
      collect(found, answer.result, params.uri)
    end
  end
  return { symbols = found }
end

---@param buffer integer
local function ask_about(buffer)
  local path = vim.api.nvim_buf_get_name(buffer)
  local function load()
    vim.api.nvim_buf_call(buffer, function()
      vim.cmd('silent edit!')
    end)
  end
  local function show()
    require('reverie.review').beside(buffer, vim.fn.readfile(path), 'on disk')
  end
  require('reverie.asks').choose({
    title = vim.fn.fnamemodify(path, ':~:.'),
    lines = { ' It was changed on disk, and has changes that are not saved.' },
    choices = {
      { label = 'Keep my text', choose = function() end },
      { label = 'Load the file from disk', choose = load },
      { label = 'Show both', choose = show },
    },
  })
end

--- Reads again what changed on disk: at once where the buffer has no changes of its own, else the user is asked.
function M.reread()
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
  pcall(vim.api.nvim_command, 'silent! checktime')
  vim.api.nvim_del_autocmd(autocmd)
  vim.schedule(function()
    for _, buffer in ipairs(asked) do
      ask_about(buffer)
    end
  end)
end

return M
