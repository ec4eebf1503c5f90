--- What is remembered: told when it changes, listed, opened, searched, and taken back.
local client = require('reverie.client')
local config = require('reverie.config')
local render = require('reverie.chat.render')
local scratch = require('reverie.scratch')
local tell = require('reverie.tell')
local when = require('reverie.when')

local M = {}

local TYPES = { 'user', 'feedback', 'project', 'reference' }
local TITLES =
  { user = 'About you', feedback = 'How to work', project = 'The project', reference = 'Where things are' }
local TOLD = { saved = 'Remembered', updated = 'Memory updated', deleted = 'Forgotten' }

--- The list that is open.
---@type {buffer: integer, lines: table<integer, reverie.Memory>}?
local list
--- Saved or changed since Neovim was started.
---@type table<string, boolean>
local news = {}

---@param files reverie.MemoryEventFile[]
---@return string
local function names(files)
  return table.concat(
    vim.tbl_map(function(file)
      return render.one_line(file.name)
    end, files),
    ', '
  )
end

---@param params reverie.MemoryEventParams
function M.happened(params)
  for _, file in ipairs(params.files) do
    if TOLD[params.kind] then
      news[file.path] = params.kind ~= 'deleted' or nil
    end
  end
  -- What the user does is known to the user, and a dream tells all it did at its end.
  local is_told = TOLD[params.kind]
    and params.by ~= 'user'
    and params.by ~= 'dream'
    and config.get().notify.memory
  if is_told and #params.files > 0 then
    tell.info(('%s: %s (:Reverie memory undo)'):format(TOLD[params.kind], names(params.files)))
  end
  if params.kind == 'undone' then
    require('reverie.inline').forget(params.files)
  end
  if params.kind ~= 'recalled' then
    M.refresh()
  end
end

---@param result reverie.ListMemoriesResult
---@return string[] lines
---@return [integer, string, integer?, integer?][] marks
---@return table<integer, reverie.Memory>
local function listing(result)
  local lines, marks, at_line = {}, {}, {}
  local function add(line, group, from, to)
    lines[#lines + 1] = line
    if group then
      marks[#marks + 1] = { #lines - 1, group, from, to }
    end
  end
  add(('Memory · %d · %s'):format(#result.memories, vim.fn.fnamemodify(result.dir, ':~')), 'Title')
  add('<CR> open  u undo  d delete  h history  s search  l lint  g? help  q close', 'ReverieDim')
  local by_type = {}
  for _, memory in ipairs(result.memories) do
    local kind = vim.list_contains(TYPES, memory.type) and memory.type or 'other'
    by_type[kind] = by_type[kind] or {}
    table.insert(by_type[kind], memory)
  end
  for _, kind in ipairs(vim.list_extend(vim.deepcopy(TYPES), { 'other' })) do
    if by_type[kind] then
      add('')
      add(('%s (%d)'):format(TITLES[kind] or 'Other', #by_type[kind]), 'ReverieTool')
      for _, memory in ipairs(by_type[kind]) do
        local badges = (news[memory.path] and ' ● new' or '') .. (memory.stale and ' ⚠ stale' or '')
        local name = render.one_line(memory.name)
        local recalled = (memory.recalled or 0) > 0 and (' · recalled %d×'):format(memory.recalled) or ''
        add(('  %s%s — %s'):format(name, badges, render.one_line(memory.description)))
        marks[#marks + 1] = { #lines - 1, 'ReverieMemory', 2, 2 + #name }
        marks[#marks + 1] = { #lines - 1, 'ReverieWarning', 2 + #name, 2 + #name + #badges }
        at_line[#lines] = memory
        add(
          ('    %s · %s%s'):format(vim.fs.basename(memory.path), when.age(memory.modifiedAt), recalled),
          'ReverieDim'
        )
        at_line[#lines] = memory
      end
    end
  end
  if #result.memories == 0 then
    add('')
    add(
      'Nothing is remembered yet. Say "remember that …" in the chat, or `:Reverie remember`.',
      'ReverieDim'
    )
  end
  return lines, marks, at_line
end

--- The list, if it is open.
local function open_list()
  return list and vim.api.nvim_buf_is_valid(list.buffer) and list or nil
end

--- Draws the list anew, if it is open.
function M.refresh()
  if not open_list() then
    return
  end
  client.request('reverie/memory/list', {}, function(_, result)
    local shown = open_list()
    if result and shown then
      local lines, marks, at_line = listing(result)
      local window = vim.fn.win_findbuf(shown.buffer)[1]
      local chosen = window and shown.lines[vim.api.nvim_win_get_cursor(window)[1]]
      scratch.fill(shown.buffer, lines, marks)
      shown.lines = at_line
      for line, memory in pairs(at_line) do
        -- Of its two lines the first.
        local is_first = at_line[line - 1] ~= memory
        if chosen and memory.path == chosen.path and is_first then
          vim.api.nvim_win_set_cursor(window, { line, 2 })
        end
      end
    end
  end)
end

---@return reverie.Memory?
local function here()
  local memory = list and list.lines[vim.api.nvim_win_get_cursor(0)[1]]
  if not memory then
    tell.warn('there is no memory at the cursor.')
  end
  return memory
end

---@param path string
function M.open(path)
  require('reverie.chat.window').open_file(path)
end

---@param result reverie.UndoMemoryResult
local function tell_undone(result)
  for _, kept in ipairs(result.kept or {}) do
    tell.warn(('%s was left alone: %s'):format(vim.fs.basename(kept.path), kept.reason))
  end
  if #result.undone > 0 then
    local files = vim.tbl_map(vim.fs.basename, result.undone)
    tell.info('as it was: ' .. table.concat(files, ', '))
    require('reverie.buffers').reread()
  end
  M.refresh()
end

---@param change string
---@param together? boolean With all that was changed with it.
function M.undo_change(change, together)
  client.ask('reverie/memory/undo', { changeId = change, together = together }, tell_undone)
end

--- Takes back the last change: of one memory, or of all.
---@param path? string
function M.undo(path)
  client.ask('reverie/memory/history', { path = path, limit = 1 }, function(result)
    local last = result.changes[1]
    if not last then
      tell.info('there is nothing to take back.')
      return
    end
    M.undo_change(last.id, path == nil)
  end)
end

--- Takes back what the line of the cursor tells of, or else the last change.
function M.undo_here()
  local change = require('reverie.inline').change_here()
  if change then
    M.undo_change(change)
  else
    M.undo()
  end
end

---@param memory reverie.Memory
local function delete(memory)
  vim.ui.select(
    { 'Delete', 'Keep' },
    { prompt = ('Delete "%s"?'):format(memory.name), kind = 'reverie.delete' },
    function(_, choice)
      if choice == 1 then
        client.ask('reverie/memory/delete', { path = memory.path }, M.refresh)
      end
    end
  )
end

--- The changes of one memory, or of all; the chosen one in diff windows.
---@param path? string
function M.history(path)
  client.ask('reverie/memory/history', { path = path, contents = true }, function(result)
    if #result.changes == 0 then
      tell.info('nothing was changed yet.')
      return
    end
    vim.ui.select(result.changes, {
      prompt = 'Show the change',
      kind = 'reverie.history',
      format_item = function(change)
        local at = when.moment(change.at)
        return ('%s  %s  by %s: %s'):format(
          at,
          vim.fs.basename(change.path),
          change.by,
          render.one_line(change.why)
        )
      end,
    }, function(change)
      if change then
        require('reverie.review').texts(vim.fs.basename(change.path), change.before or '', change.after or '')
      end
    end)
  end)
end

---@param query? string
function M.search(query)
  if not query or query == '' then
    vim.ui.input({ prompt = 'Search memories: ' }, function(text)
      if text and text ~= '' then
        M.search(text)
      end
    end)
    return
  end
  client.ask('reverie/memory/search', { query = query }, function(result)
    if #result.hits == 0 then
      tell.info(('no memory fits "%s".'):format(query))
      return
    end
    vim.ui.select(result.hits, {
      prompt = 'Memories for ' .. query,
      kind = 'reverie.memory',
      format_item = function(hit)
        return ('%s: %s'):format(vim.fs.basename(hit.path), render.one_line(hit.snippet))
      end,
    }, function(hit)
      if hit then
        M.open(hit.path)
      end
    end)
  end)
end

--- Lines of the quickfix list: all memories are in one folder, so its name says nothing.
---@param part {id: integer, start_idx: integer, end_idx: integer}
---@return string[]
local function by_name(part)
  local lines = {}
  local items = vim.fn.getqflist({ id = part.id, items = 0 }).items
  for at = part.start_idx, part.end_idx do
    local item = items[at]
    local name = vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr))
    lines[#lines + 1] = ('%s|%d| %s'):format(name, item.lnum, item.text)
  end
  return lines
end

--- What is wrong with the memories, in the quickfix list.
function M.lint()
  client.ask('reverie/memory/lint', {}, function(result)
    if #result.findings == 0 then
      tell.info('the memories are in order.')
      return
    end
    local items = vim.tbl_map(function(finding)
      local fix = finding.fix and (' (%s)'):format(finding.fix) or ''
      return { filename = finding.path, lnum = finding.line, text = finding.message .. fix, type = 'W' }
    end, result.findings)
    vim.fn.setqflist({}, ' ', {
      title = "What is wrong with Reverie's memories",
      items = items,
      quickfixtextfunc = by_name,
    })
    vim.cmd('botright copen')
  end)
end

--- Saves something at once, without a turn of the model.
---@param words? string
---@param place? string Where it belongs: `src/auth.rs:10-20`
function M.remember(words, place)
  if not words or words == '' then
    vim.ui.input({ prompt = 'Remember: ' }, function(text)
      if text and text ~= '' then
        M.remember(text, place)
      end
    end)
    return
  end
  local one_line = render.one_line(words)
  require('reverie.chat').prompt(('# %s%s'):format(one_line, place and (' (%s)'):format(place) or ''))
end

--- Shows the list.
function M.list()
  local shown = open_list()
  local window = shown and vim.fn.win_findbuf(shown.buffer)[1]
  if window then
    vim.api.nvim_set_current_win(window)
    return M.refresh()
  end
  client.ask('reverie/memory/list', {}, function(result)
    local lines, marks, at_line = listing(result)
    local buffer =
      scratch.open({ name = 'memory', lines = lines, marks = marks, filetype = 'reverie-memory' })
    list = { buffer = buffer, lines = at_line }
    local function set(key, action, desc)
      vim.keymap.set('n', key, action, { buffer = buffer, nowait = true, desc = 'Reverie: ' .. desc })
    end
    local function with(action)
      return function()
        local memory = here()
        if memory then
          action(memory)
        end
      end
    end
    set(
      '<CR>',
      with(function(memory)
        M.open(memory.path)
      end),
      'open'
    )
    set(
      'u',
      with(function(memory)
        M.undo(memory.path)
      end),
      'take its last change back'
    )
    set('d', with(delete), 'delete')
    set(
      'h',
      with(function(memory)
        M.history(memory.path)
      end),
      'its history'
    )
    set('s', M.search, 'search')
    set('l', M.lint, 'lint')
    set('r', M.refresh, 'again')
    set('g?', function()
      scratch.help('reverie-memory')
    end, 'help')
    vim.wo[0][0].cursorline = true
    local first = vim.tbl_keys(at_line)
    table.sort(first)
    if first[1] then
      vim.api.nvim_win_set_cursor(0, { first[1], 2 })
    end
  end)
end

return M
