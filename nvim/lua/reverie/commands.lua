--- `:Reverie` and what can follow it: one table, which is run, completed and documented.
local tell = require('reverie.tell')

local M = {}

---@class reverie.Command
---@field run fun(rest: string, call: table)
---@field complete? fun(): string[]

---@param words string[]
local function fixed(words)
  return function()
    return words
  end
end

--- Who completes has no time for more.
local COMPLETION_LIMIT_MS = 1000

--- What the server says to it, as words to complete; none while it does not run.
---@param method string
---@param words_of fun(result: any): string[]
local function told(method, words_of)
  return function()
    local client = require('reverie.client')
    if client.state ~= 'running' then
      return {}
    end
    local words ---@type string[]?
    client.request(method, {}, function(_, result)
      words = result and words_of(result) or {}
    end)
    vim.wait(COMPLETION_LIMIT_MS, function()
      return words ~= nil
    end, 5)
    return words or {}
  end
end

local MODES = { 'default', 'acceptEdits', 'plan' }

--- A range of the current buffer as something to mention.
---@param call {range: integer, line1: integer, line2: integer}
---@return reverie.PromptPart[] parts
---@return string[] names
local function range_of(call)
  local name = vim.api.nvim_buf_get_name(0)
  if call.range == 0 or name == '' or vim.bo.buftype ~= '' then
    return {}, {}
  end
  ---@type reverie.PromptPart.mention
  local mention = {
    type = 'mention',
    uri = vim.uri_from_fname(name),
    range = {
      start = { line = call.line1 - 1, character = 0 },
      ['end'] = { line = call.line2, character = 0 },
    },
  }
  local shown = require('reverie.config').shorten(name)
  return { mention }, { ('%s:%d-%d'):format(shown, call.line1, call.line2) }
end

--- What of the lines of a range was selected, where that is not all of them.
---@param call {range: integer, line1: integer, line2: integer}
---@return (fun(): reverie.Range)? # for when the server runs, and says how it counts
local function selection_of(call)
  local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local is_selected = call.range == 2 and call.line1 == first[2] and call.line2 == last[2]
  if not is_selected or vim.fn.visualmode() ~= 'v' or vim.bo.buftype ~= '' then
    return
  end
  local place = require('reverie.client').place
  local buffer = vim.api.nvim_get_current_buf()
  return function()
    return {
      start = place(buffer, first[2] - 1, first[3] - 1),
      -- Behind the letter that the cursor was on.
      ['end'] = place(buffer, last[2] - 1, last[3] - 1, true),
    }
  end
end

---@param question string
---@param call table
local function ask(question, call)
  local parts, names = range_of(call)
  local selection = selection_of(call)
  local function put(text)
    if text and vim.trim(text) ~= '' then
      local chat = require('reverie.chat')
      local here = vim.api.nvim_get_current_win()
      chat.open()
      chat.prompt(text, parts, names, selection)
      if vim.api.nvim_win_is_valid(here) then
        vim.api.nvim_set_current_win(here)
      end
    end
  end
  if question ~= '' then
    return put(question)
  end
  vim.ui.input({ prompt = #names > 0 and ('Ask about %s: '):format(names[1]) or 'Ask: ' }, put)
end

---@param name string
local function choose_model(name)
  local chat = require('reverie.chat')
  if name ~= '' then
    return chat.configure({ model = name })
  end
  require('reverie.client').ask('reverie/models/list', {}, function(result)
    vim.ui.select(result.models, {
      prompt = 'Model',
      kind = 'reverie.model',
      format_item = function(model)
        local notes = (model.available and '' or '  (no key)')
          .. (model.id == chat.current().model and '  ●' or '')
        return model.id .. notes
      end,
    }, function(model)
      if model then
        chat.configure({ model = model.id })
      end
    end)
  end)
end

---@param name string
local function choose_mode(name)
  local chat = require('reverie.chat')
  if vim.list_contains(MODES, name) then
    return chat.configure({ mode = name })
  elseif name ~= '' then
    return tell.error(('there is no mode %s. There are: %s'):format(name, table.concat(MODES, ', ')))
  end
  vim.ui.select(MODES, { prompt = 'Mode', kind = 'reverie.mode' }, function(mode)
    if mode then
      chat.configure({ mode = mode })
    end
  end)
end

--- The first word of the arguments decides, where it is one of these.
---@param actions table<string, fun(rest: string)>
---@param otherwise fun(rest: string)
local function by_word(actions, otherwise)
  return function(rest)
    local word, more = rest:match('^(%S+)%s*(.*)$')
    if word and actions[word] then
      return actions[word](more)
    end
    otherwise(rest)
  end
end

local HEALTH = { ok = 'ReverieDone', warning = 'ReverieWarning', failed = 'ReverieFailed' }

local function doctor()
  require('reverie.client').ask('reverie/doctor', {}, function(result)
    local lines, marks = {}, {}
    for _, check in ipairs(result.checks) do
      lines[#lines + 1] = ('%-8s %s: %s'):format(check.status, check.name, (check.detail:gsub('\n', ' ')))
      marks[#marks + 1] = { #lines - 1, HEALTH[check.status], 0, #check.status }
      if check.fix then
        lines[#lines + 1] = ('%9s→ %s'):format('', check.fix)
      end
    end
    require('reverie.scratch').open({ name = 'doctor', lines = lines, marks = marks, indent = 9 })
  end)
end

---@param rest string
---@param call table
local function remember(rest, call)
  local _, names = range_of(call)
  require('reverie.memory').remember(rest, names[1])
end

---@param keep boolean
local function resolve(keep)
  return function(rest)
    local changes = require('reverie.changes')
    if rest == 'all' then
      changes.resolve({ keep = keep })
    elseif rest == 'file' then
      local path = require('reverie.review').path_here() or vim.api.nvim_buf_get_name(0)
      changes.resolve({ path = path, keep = keep })
    else
      changes.resolve_here(keep)
    end
  end
end

---@type table<string, reverie.Command>
M.table = {
  chat = {
    run = function()
      require('reverie.chat').open()
      vim.cmd.startinsert()
    end,
  },
  new = {
    run = function()
      local chat = require('reverie.chat')
      chat.new()
      chat.open()
      vim.cmd.startinsert()
    end,
  },
  ask = { run = ask },
  stop = {
    run = function()
      require('reverie.chat').stop()
    end,
  },
  answer = {
    run = function()
      require('reverie.asks').focus()
    end,
  },
  resume = {
    run = function(rest)
      require('reverie.sessions').resume(rest)
    end,
    complete = told('reverie/session/list', function(result)
      return vim.tbl_map(function(session)
        return session.sessionId
      end, result.sessions)
    end),
  },
  sessions = {
    run = by_word({
      search = function(rest)
        require('reverie.sessions').search(rest)
      end,
      fork = function()
        require('reverie.sessions').fork()
      end,
    }, function(rest)
      require('reverie.sessions').list(rest)
    end),
    complete = fixed({ 'search', 'fork' }),
  },
  review = {
    run = function(rest)
      require('reverie.review').start(rest ~= '' and require('reverie.config').whole(rest) or nil)
    end,
    complete = function()
      return vim.tbl_map(function(file)
        return require('reverie.config').shorten(file.path)
      end, require('reverie.changes').files)
    end,
  },
  changes = {
    run = function()
      require('reverie.changes').list()
    end,
  },
  keep = { run = resolve(true), complete = fixed({ 'file', 'all' }) },
  reject = { run = resolve(false), complete = fixed({ 'file', 'all' }) },
  hover = {
    run = function()
      vim.lsp.buf.hover()
    end,
  },
  memory = {
    run = by_word({
      search = function(rest)
        require('reverie.memory').search(rest)
      end,
      lint = function()
        require('reverie.memory').lint()
      end,
      undo = function()
        require('reverie.memory').undo_here()
      end,
      history = function()
        require('reverie.memory').history()
      end,
    }, function()
      require('reverie.memory').list()
    end),
    complete = fixed({ 'search', 'lint', 'undo', 'history' }),
  },
  remember = { run = remember },
  dream = {
    run = by_word({
      stop = function()
        require('reverie.dream').stop()
      end,
      status = function()
        require('reverie.dream').status()
      end,
      report = function()
        require('reverie.dream').report()
      end,
      undo = function()
        require('reverie.dream').undo()
      end,
      preview = function()
        require('reverie.dream').start(true)
      end,
    }, function()
      require('reverie.dream').start()
    end),
    complete = fixed({ 'stop', 'status', 'report', 'undo', 'preview' }),
  },
  compact = {
    run = function(rest)
      require('reverie.context').compact(rest)
    end,
  },
  uncompact = {
    run = function()
      require('reverie.context').uncompact()
    end,
  },
  context = {
    run = function()
      require('reverie.context').report()
    end,
  },
  agents = {
    run = function()
      require('reverie.context').tasks()
    end,
  },
  model = {
    run = choose_model,
    complete = told('reverie/models/list', function(result)
      return vim.tbl_map(function(model)
        return model.id
      end, result.models)
    end),
  },
  mode = { run = choose_mode, complete = fixed(MODES) },
  trust = {
    run = function()
      require('reverie.trust').ask()
    end,
  },
  doctor = { run = doctor },
  help = {
    run = function()
      require('reverie.scratch').help('reverie')
    end,
  },
  restart = {
    run = function()
      require('reverie.client').restart()
    end,
  },
  log = {
    run = function()
      vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.log.get_filename()))
    end,
  },
}

---@return string[]
function M.names()
  local names = vim.tbl_keys(M.table)
  table.sort(names)
  return names
end

---@param call table As `nvim_create_user_command` has it.
function M.run(call)
  local name, rest = vim.trim(call.args):match('^(%S*)%s*(.*)$')
  if name == '' then
    name = call.range > 0 and 'ask' or 'chat'
  end
  local command = M.table[name]
  if not command then
    local all = table.concat(M.names(), ', ')
    tell.error(('there is no `:Reverie %s`. <Tab> offers all: %s'):format(name, all))
    return
  end
  command.run(rest, call)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name, rest = line:match('Reverie%s+(%S+)%s+(.*)$')
  local words = M.names()
  if name then
    if rest ~= lead then
      return {}
    end
    local command = M.table[name]
    words = command and command.complete and command.complete() or {}
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

return M
