--- Memory in the text: where a memory speaks of a place in a file, the line says so; in a memory, its first line says how it
--- is used; and what has just happened to one stands there for a while.
---
--- What is shown comes from the server, by LSP's own requests. Hints and lenses are drawn here, since Neovim's own would
--- be switched on for every other server too; where the user has switched those on, they show it.
local config = require('reverie.config')

local M = {}

local hints = vim.api.nvim_create_namespace('reverie.inline')
local flashes = vim.api.nvim_create_namespace('reverie.flash')

local SHOWN_MS = 10000
--- After the last key.
local REST_MS = 300

---@type table<integer, boolean>
local waiting = {}
--- What has just happened, by buffer and mark.
---@type table<integer, table<integer, reverie.MemoryPlace>>
local shown = {}
local has_begun = false

---@param buffer integer
---@param line integer
---@param words string
---@param namespace integer
---@return integer
local function write(buffer, line, words, namespace)
  require('reverie.chat.render').define_highlights()
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  return vim.api.nvim_buf_set_extmark(buffer, namespace, math.min(line, last), 0, {
    virt_text = { { ' ' .. require('reverie.chat.render').one_line(words), 'ReverieMemory' } },
    virt_text_pos = 'eol',
    hl_mode = 'combine',
  })
end

---@param buffer integer
---@param mark integer
local function remove(buffer, mark)
  (shown[buffer] or {})[mark] = nil
  if vim.api.nvim_buf_is_loaded(buffer) then
    vim.api.nvim_buf_del_extmark(buffer, flashes, mark)
  end
end

---@param params reverie.MemoryInlineParams
function M.happened(params)
  if not config.get().inline.memory then
    return
  end
  for _, place in ipairs(params.places) do
    local buffer = require('reverie.buffers').find(vim.uri_to_fname(place.uri))
    if buffer then
      local undo = place.changeId and ' · here :Reverie memory undo' or ''
      local mark = write(buffer, place.range.start.line, place.text .. undo, flashes)
      shown[buffer] = shown[buffer] or {}
      shown[buffer][mark] = place
      vim.defer_fn(function()
        remove(buffer, mark)
      end, SHOWN_MS)
    end
  end
end

--- The change that the line of the cursor tells of, the newest first.
---@return string?
function M.change_here()
  local buffer = vim.api.nvim_get_current_buf()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local newest
  for _, found in ipairs(vim.api.nvim_buf_get_extmarks(buffer, flashes, { line, 0 }, { line, -1 }, {})) do
    local place = (shown[buffer] or {})[found[1]]
    if place and place.changeId and (not newest or found[1] > newest) then
      newest = found[1]
    end
  end
  return newest and shown[buffer][newest].changeId
end

--- What was taken back is not offered any more.
---@param files reverie.MemoryEventFile[]
function M.forget(files)
  local gone = {}
  for _, file in ipairs(files) do
    gone[file.path] = true
  end
  for buffer, marks in pairs(shown) do
    for mark, place in pairs(vim.deepcopy(marks)) do
      if gone[place.path] then
        remove(buffer, mark)
      end
    end
  end
end

---@param label string|{value: string}[]
local function words_of(label)
  if type(label) == 'string' then
    return label
  end
  local words = {}
  for _, part in ipairs(label) do
    words[#words + 1] = part.value
  end
  return table.concat(words)
end

--- By line: what hints and lenses say.
---@param answers {hints?: table[], lenses?: table[]}
---@return table<integer, string[]>
local function by_line(answers)
  local found = {}
  local function add(line, words)
    found[line] = found[line] or {}
    table.insert(found[line], words)
  end
  for _, hint in ipairs(answers.hints or {}) do
    add(hint.position.line, words_of(hint.label))
  end
  for _, lens in ipairs(answers.lenses or {}) do
    if lens.command and lens.command.title ~= '' then
      add(lens.range.start.line, lens.command.title)
    end
  end
  return found
end

---@param client vim.lsp.Client
---@param method string
---@param buffer integer
---@return boolean
local function answers_for(client, method, buffer)
  local ok, supported
  if vim.fn.has('nvim-0.11') == 1 then
    ok, supported = pcall(client.supports_method, client, method, buffer)
  else
    ---@diagnostic disable-next-line: param-type-mismatch
    ok, supported = pcall(client.supports_method, method, { bufnr = buffer })
  end
  return ok and supported == true
end

--- Asks anew what is to be shown in a buffer that somebody looks at.
---@param buffer integer
local function draw(buffer)
  local connection = require('reverie.client')
  local client = connection.get()
  if not client or not vim.api.nvim_buf_is_loaded(buffer) or #vim.fn.win_findbuf(buffer) == 0 then
    return
  end
  local document = { uri = vim.uri_from_bufnr(buffer) }
  local last = vim.api.nvim_buf_line_count(buffer)
  local whole = { start = { line = 0, character = 0 }, ['end'] = { line = last, character = 0 } }
  local answers, left = {}, 2
  local function done()
    left = left - 1
    if left > 0 or not vim.api.nvim_buf_is_loaded(buffer) then
      return
    end
    vim.api.nvim_buf_clear_namespace(buffer, hints, 0, -1)
    for line, words in pairs(by_line(answers)) do
      write(buffer, line, table.concat(words, ' · '), hints)
    end
  end
  local function ask(key, method, params)
    if not answers_for(client, method, buffer) then
      return done()
    end
    connection.request(method, params, function(_, result)
      answers[key] = result
      done()
    end)
  end
  local shows_hints = vim.lsp.inlay_hint.is_enabled({ bufnr = buffer })
  if shows_hints then
    done()
  else
    ask('hints', 'textDocument/inlayHint', { textDocument = document, range = whole })
  end
  ask('lenses', 'textDocument/codeLens', { textDocument = document })
end

--- Neovim maps `K` to hover where a server has it. In a source file that only we have words for, it is the user's.
---@param buffer integer
local function give_back_key(buffer)
  local client = require('reverie.client').get()
  if not client or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local is_ours = answers_for(client, 'textDocument/definition', buffer)
  for _, other in ipairs(vim.lsp.get_clients({ bufnr = buffer, method = 'textDocument/hover' })) do
    is_ours = is_ours or other.id ~= client.id
  end
  for _, map in ipairs(is_ours and {} or vim.api.nvim_buf_get_keymap(buffer, 'n')) do
    if map.lhs == 'K' and map.desc == 'vim.lsp.buf.hover()' then
      vim.keymap.del('n', 'K', { buffer = buffer })
    end
  end
end

---@param buffer integer
function M.refresh(buffer)
  if waiting[buffer] then
    return
  end
  waiting[buffer] = true
  vim.defer_fn(function()
    waiting[buffer] = nil
    give_back_key(buffer)
    if config.get().inline.memory then
      draw(buffer)
    end
  end, REST_MS)
end

function M.refresh_all()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.bo[buffer].buftype == '' then
      M.refresh(buffer)
    end
  end
end

--- Asks what to remember, and where: what the code action of the server leaves to us.
---@param command {arguments?: table[]}
local function remember(command)
  local place = (command.arguments or {})[1] or {}
  vim.ui.input({ prompt = 'Remember about this: ' }, function(text)
    if text and vim.trim(text) ~= '' then
      local params = vim.tbl_extend('force', place, { text = text })
      require('reverie.client').ask('reverie/memory/remember', params, function(result)
        require('reverie.tell').info(('remembered in %s'):format(vim.fs.basename(result.path)))
      end)
    end
  end)
end

---@param command {arguments?: table[]}
local function history(command)
  require('reverie.memory').history(((command.arguments or {})[1] or {}).path)
end

---@param command {arguments?: table[]}
local function open(command)
  local paths = ((command.arguments or {})[1] or {}).paths or {}
  local window = require('reverie.chat.window')
  if #paths == 1 then
    return window.open_file(paths[1])
  end
  vim.ui.select(
    paths,
    { prompt = 'Memories', kind = 'reverie.memory', format_item = vim.fs.basename },
    function(path)
      if path then
        window.open_file(path)
      end
    end
  )
end

--- With the first server.
function M.begin()
  M.refresh_all()
  if has_begun then
    return
  end
  has_begun = true
  vim.lsp.commands['reverie.memory.remember'] = remember
  vim.lsp.commands['reverie.memory.history'] = history
  vim.lsp.commands['reverie.memory.open'] = open
  vim.api.nvim_create_autocmd({ 'BufWinEnter', 'TextChanged', 'InsertLeave', 'BufWritePost' }, {
    group = vim.api.nvim_create_augroup('reverie.inline', {}),
    desc = 'Reverie shows what it remembers about this text',
    callback = function(event)
      if vim.bo[event.buf].buftype == '' then
        M.refresh(event.buf)
      end
    end,
  })
end

return M
