--- What the agent asks the user: a window over the others. It takes the focus only from somebody who waits in the chat,
--- and takes no answer in its first moment, so that no key that was meant for something else allows anything.
local config = require('reverie.config')
local render = require('reverie.chat.render')
local scratch = require('reverie.scratch')
local wait = require('reverie.wait')
local tell = require('reverie.tell')

local M = {}

local GRACE_MS = 400
--- Of what a call would do; the rest can be scrolled to.
local MOST_PREVIEW_LINES = 2000

---@class reverie.Ask
---@field session? string Absent: it is the editor's own.
---@field title string
---@field lines string[]
---@field marks? [integer, string, integer?, integer?][]
---@field choices {label: string, choose: fun()}[]
---@field done? fun(answer: any)
---@field dismissed? any What it is answered with when nobody will answer any more.
---@field window? integer
---@field buffer? integer
---@field at? integer When it was shown.
---@field typed_in? integer The window in which the user was in Insert mode when it took the focus.
---@field is_wanted? boolean The user has just asked for it.
---@field may_be_left? boolean Nobody waits for an answer: who leaves it has given one.

--- The first is the one that is shown.
---@type reverie.Ask[]
local waiting = {}
local show ---@type fun()

--- The user is in Insert mode again where a question has interrupted them, once the last is answered.
---@param window? integer
local function type_on(window)
  local here = vim.api.nvim_get_current_win()
  local next_ask = waiting[1]
  if window and next_ask and next_ask.window == here then
    next_ask.typed_in = window
  elseif window == here then
    vim.cmd.startinsert()
  end
end

---@param ask reverie.Ask
---@param answer any
local function settle(ask, answer)
  for at, one in ipairs(waiting) do
    if one == ask then
      table.remove(waiting, at)
      local buffer = ask.buffer
      local typed_in = ask.window == vim.api.nvim_get_current_win() and ask.typed_in or nil
      ask.window, ask.buffer = nil, nil
      if buffer and vim.api.nvim_buf_is_valid(buffer) then
        vim.api.nvim_buf_delete(buffer, { force = true })
      end
      if ask.done then
        ask.done(answer)
      end
      require('reverie.chat').refresh_bars()
      show()
      type_on(typed_in)
      return
    end
  end
end

---@param ask reverie.Ask
---@param at integer
local function choose(ask, at)
  if ask.at and vim.uv.now() - ask.at >= GRACE_MS and ask.choices[at] then
    ask.choices[at].choose()
  end
end

---@param ask reverie.Ask
local function map(ask)
  local function set(key, action, desc)
    vim.keymap.set('n', key, action, { buffer = ask.buffer, nowait = true, desc = 'Reverie: ' .. desc })
  end
  for at, choice in ipairs(ask.choices) do
    set(tostring(at), function()
      choose(ask, at)
    end, choice.label)
  end
  set('<CR>', function()
    local at = vim.api.nvim_win_get_cursor(0)[1] - (vim.api.nvim_buf_line_count(0) - #ask.choices)
    choose(ask, at)
  end, 'this answer')
  local function leave()
    local window = ask.window
    vim.cmd('wincmd p')
    if ask.may_be_left then
      return settle(ask)
    end
    if window and vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
    tell.info('it waits for an answer: `:Reverie answer`')
  end
  set('q', leave, 'answer later')
  set('<Esc>', leave, 'answer later')
end

--- Whether somebody sits in the chat with nothing half typed.
local function may_take_focus()
  local window = require('reverie.chat.window')
  local here = vim.api.nvim_get_current_win()
  if here ~= window.prompt and here ~= window.transcript then
    return false
  end
  local mode = vim.api.nvim_get_mode().mode
  return mode == 'n' or (mode == 'i' and require('reverie.chat.prompt').text() == '')
end

---@param ask reverie.Ask
---@param has_focus boolean
local function footer(ask, has_focus)
  local words = not has_focus and ' :Reverie answer goes here '
    or ask.may_be_left and ' a number answers, q closes '
    or ' a number answers, q later '
  return { { words, 'ReverieDim' } }
end

--- As high as its text, as far as there is room; the answers are always in sight.
---@param ask reverie.Ask
local function fit(ask)
  local window = assert(ask.window)
  -- The border, and the lines of the editor below.
  local room = math.max(1, vim.o.lines - vim.o.cmdheight - 3)
  local height = math.min(vim.api.nvim_win_text_height(window, {}).all, math.max(room, 1))
  vim.api.nvim_win_set_config(window, {
    relative = 'editor',
    height = height,
    row = math.max(0, math.floor((room - height) / 2)),
    col = math.floor((vim.o.columns - vim.api.nvim_win_get_width(window)) / 2) - 1,
  })
  vim.api.nvim_win_call(window, function()
    vim.cmd('normal! Gzb')
    local view = vim.fn.winsaveview()
    local last = vim.api.nvim_buf_line_count(0)
    vim.fn.winrestview({
      topline = view.topline,
      lnum = math.max(view.topline, last - #ask.choices + 1),
      col = 1,
    })
  end)
end

---@param ask reverie.Ask
---@return integer buffer
local function draw(ask)
  local lines, marks = vim.deepcopy(ask.lines), vim.deepcopy(ask.marks or {})
  lines[#lines + 1] = ''
  for at, choice in ipairs(ask.choices) do
    lines[#lines + 1] = (' %d  %s'):format(at, choice.label)
    marks[#marks + 1] = { #lines - 1, 'ReverieKey', 1, 2 }
  end
  return scratch.buffer({ name = 'ask', lines = lines, marks = marks, filetype = 'reverie-ask' })
end

show = function()
  local ask = waiting[1]
  if not ask or ask.window then
    return
  end
  ask.buffer = draw(ask)
  map(ask)
  local takes_focus = ask.is_wanted or may_take_focus()
  ask.is_wanted = nil
  if takes_focus then
    ask.typed_in = vim.api.nvim_get_mode().mode == 'i' and vim.api.nvim_get_current_win() or nil
    vim.cmd.stopinsert()
  end
  ask.window = vim.api.nvim_open_win(ask.buffer, takes_focus, {
    relative = 'editor',
    width = math.max(1, math.min(math.max(60, math.floor(vim.o.columns * 0.6)), vim.o.columns - 2)),
    height = 1,
    row = 0,
    col = 0,
    border = 'rounded',
    title = { { ' ' .. ask.title .. ' ', 'Title' } },
    footer = footer(ask, takes_focus),
    style = 'minimal',
    zindex = 60,
  })
  for name, value in pairs({ wrap = true, linebreak = true, winfixbuf = true, cursorline = true }) do
    vim.wo[ask.window][name] = value
  end
  fit(ask)
  ask.at = vim.uv.now()
  -- One that was closed instead of answered is not forgotten: it is in the statusline, and can be opened again.
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(ask.window),
    once = true,
    callback = function()
      ask.window = nil
    end,
  })
  if not takes_focus then
    tell.info(('it asks: %s (:Reverie answer)'):format(ask.title))
  end
  require('reverie.events').emit('Ask', { sessionId = ask.session, title = ask.title })
  require('reverie.chat').refresh_bars()
end

--- A question of the editor itself, put in the same way.
---@param ask reverie.Ask
function M.choose(ask)
  for _, choice in ipairs(ask.choices) do
    local chosen = choice.choose
    choice.choose = function()
      settle(ask)
      chosen()
    end
  end
  waiting[#waiting + 1] = ask
  show()
end

--- How many questions wait.
function M.count()
  return #waiting
end

--- Goes to the question that waits.
function M.focus()
  local ask = waiting[1]
  if not ask then
    tell.info('nothing is asked.')
    return
  end
  ask.is_wanted = ask.window == nil
  show()
  local window = assert(ask.window)
  vim.api.nvim_set_current_win(window)
  vim.api.nvim_win_set_config(window, { footer = footer(ask, true) })
end

--- A turn has ended, or the server, and with it those who asked.
---@param session? string All if absent.
function M.withdraw(session)
  for at = #waiting, 1, -1 do
    local ask = waiting[at]
    if ask and ask.session and (session == nil or ask.session == session) then
      settle(ask, ask.dismissed)
    end
  end
end

---@param text string
---@return string[]
local function lines_of(text)
  return vim.tbl_map(function(line)
    return ' ' .. line
  end, vim.split(render.plain(text), '\n', { plain = true }))
end

--- A question of the server: each choice is what it is answered with, or a function of the words that it asks for.
---@class reverie.Question
---@field session string
---@field title string
---@field lines string[]
---@field marks? [integer, string, integer?, integer?][]
---@field dismissed table
---@field choices {label: string, answer?: table, prompt?: string, answered?: fun(text: string): table?}[]

--- Yields until it is answered.
---@param question reverie.Question
---@return any
local function put(question)
  return wait.await(function(done)
    ---@type reverie.Ask
    local ask = {
      session = question.session,
      title = question.title,
      lines = question.lines,
      marks = question.marks,
      dismissed = question.dismissed,
      done = done,
      choices = {},
    }
    for _, choice in ipairs(question.choices) do
      table.insert(ask.choices, {
        label = render.one_line(choice.label),
        choose = function()
          if choice.answer then
            return settle(ask, choice.answer)
          end
          vim.ui.input({ prompt = choice.prompt }, function(text)
            local answer = text and assert(choice.answered)(text)
            if answer then
              settle(ask, answer)
            end
          end)
        end,
      })
    end
    waiting[#waiting + 1] = ask
    local shown, problem = pcall(show)
    if not shown then
      -- It waits all the same, and can be opened.
      vim.lsp.log.error('reverie: a question could not be shown', problem)
    end
  end)
end

--- What a call would do, and what of it is marked.
---@param params reverie.AskPermissionParams
---@return string[] lines
---@return [integer, string, integer?, integer?][] marks
local function call(params)
  -- The user knows where they work.
  local lines = lines_of((params.reason:gsub(vim.pesc(config.root() .. '/'), '')))
  local marks = {}
  for line = 0, #lines - 1 do
    marks[#marks + 1] = { line, 'ReverieDim' }
  end
  local preview = params.preview
  if not preview then
    return lines, marks
  end
  lines[#lines + 1] = ''
  local text = render.plain((preview.text:gsub('\n+$', '')))
  local shown = preview.kind == 'diff' and render.diff_lines(text) or vim.split(text, '\n', { plain = true })
  for at = 1, math.min(#shown, MOST_PREVIEW_LINES) do
    lines[#lines + 1] = ' ' .. shown[at]
    if preview.kind == 'diff' then
      marks[#marks + 1] = { #lines - 1, render.diff_group(shown[at]) }
    end
  end
  if #shown > MOST_PREVIEW_LINES then
    lines[#lines + 1] = (' … %d more lines'):format(#shown - MOST_PREVIEW_LINES)
  end
  return lines, marks
end

---@param params reverie.AskPermissionParams
---@return reverie.AskPermissionResult
function M.permission(params)
  local lines, marks = call(params)
  local choices = {}
  for _, option in ipairs(params.options) do
    choices[#choices + 1] = { label = option.label, answer = { option = option.id } }
  end
  choices[#choices + 1] = {
    label = 'Deny, and say why',
    prompt = 'What should it do instead? ',
    answered = function(text)
      return { option = 'deny', message = text ~= '' and text or nil }
    end,
  }
  return put({
    session = params.sessionId,
    title = render.call(params.tool, params.input),
    lines = lines,
    marks = marks,
    dismissed = { option = 'deny' },
    choices = choices,
  })
end

---@param params reverie.AskUserParams
---@return reverie.AskUserResult
function M.question(params)
  local choices = {}
  for _, option in ipairs(params.options) do
    choices[#choices + 1] = { label = option, answer = { answer = option } }
  end
  choices[#choices + 1] = {
    label = 'Another answer',
    prompt = render.one_line(params.question) .. ' ',
    answered = function(text)
      return text ~= '' and { answer = text } or nil
    end,
  }
  choices[#choices + 1] = { label = 'No answer', answer = vim.empty_dict() }
  return put({
    session = params.sessionId,
    title = 'A question',
    lines = lines_of(params.question),
    dismissed = vim.empty_dict(),
    choices = choices,
  })
end

---@param params reverie.AskPlanParams
---@return reverie.AskPlanResult
function M.plan(params)
  return put({
    session = params.sessionId,
    title = 'A plan',
    lines = lines_of(params.plan),
    dismissed = { approved = false },
    choices = {
      { label = 'Approve', answer = { approved = true } },
      { label = 'Approve, and edits need no further word', answer = { approved = true, acceptEdits = true } },
      {
        label = 'Reject, and say what to change',
        prompt = 'What should be changed? ',
        answered = function(text)
          return { approved = false, message = text ~= '' and text or nil }
        end,
      },
    },
  })
end

return M
