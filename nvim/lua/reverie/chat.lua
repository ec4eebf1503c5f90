--- The chat: which conversation is shown, and what can be done with it.
local client = require('reverie.client')
local conversations = require('reverie.chat.conversation')
local tell = require('reverie.tell')

local M = {}

--- Between two drawings while an answer streams.
local FRAME_MS = 16
--- Compactions behind which one looks.
local MOST_PARTS = 20
local UNKNOWN_SESSION = -32001

---@type reverie.Conversation
local shown = conversations.new()
---@type reverie.View?
local view
local is_flushing = false
--- Counts what was opened, so that only the last of them is shown.
local opened = 0
--- The session that is being opened, whether a turn of it has ended meanwhile, and what waits until it is open.
---@type {session: string, has_ended: boolean, waiting: fun()[]}?
local opening
--- The turn that ran when its session was opened: what it had said by then is not shown until it ends.
---@type string?
local half_shown
--- The server ended while it answered; before it had taken what was sent.
local was_interrupted, was_given_back = false, false
--- What was chosen before there is a session.
---@type {model?: string, mode?: string}
local chosen = {}
--- What the statusline was last told.
local in_statusline = ''
--- Prompts that wait for the session of their conversation to be made.
---@type table<reverie.Conversation, (fun(problem?: string))[]>
local beginning = {}

---@return reverie.Conversation
function M.current()
  return shown
end

---@return reverie.View?
function M.view()
  return view and view:is_valid() and view or nil
end

--- What the bars say may have changed. They are drawn only if it has: this comes with every frame.
function M.refresh_bars()
  local statusline = require('reverie.statusline')
  local window = require('reverie.chat.window')
  local transcript = window.is_open() and window.transcript
  if transcript then
    local bar = statusline.winbar(shown, vim.api.nvim_win_get_width(transcript))
    if bar ~= vim.wo[transcript].winbar then
      vim.wo[transcript].winbar = bar
    end
  end
  local words = statusline.component()
  if words ~= in_statusline then
    in_statusline = words
    vim.cmd.redrawstatus({ bang = true })
  end
end

--- Draws what has happened, with everything else of this frame.
function M.changed()
  if is_flushing then
    return
  end
  is_flushing = true
  vim.defer_fn(function()
    is_flushing = false
    local present = M.view()
    if present then
      -- Whatever it was that could not be drawn, the rest is.
      local drawn, problem = pcall(present.flush, present)
      if not drawn then
        vim.lsp.log.error('reverie: the chat could not be drawn', problem)
        present:draw(true)
      end
    else
      shown:take_changes()
    end
    M.refresh_bars()
  end, FRAME_MS)
end

---@param conversation reverie.Conversation
local function show(conversation)
  opened = opened + 1
  half_shown = nil
  local is_same = shown.session ~= nil and shown.session == conversation.session
  shown = conversation
  local present = M.view()
  if present then
    present.conversation = shown
    present:draw(is_same)
    M.refresh_bars()
  end
end

---@param level string
---@param text string
function M.notice(level, text)
  -- Once is enough, whatever else the user has tried meanwhile.
  local last = shown:last(function(block)
    return block.kind ~= 'user'
  end)
  if not (last and last.kind == 'notice' and conversations.text(last) == text) then
    shown:push({ kind = 'notice', level = level, parts = { text } })
  end
  M.changed()
  if not require('reverie.chat.window').is_open() then
    local say = level == 'error' and tell.error or tell.warn
    say(text)
  end
end

---@return reverie.View
local function transcript()
  if view and view:is_valid() then
    return view
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  require('reverie.scratch').name(buffer, 'reverie://chat')
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].filetype = 'reverie-chat'
  vim.bo[buffer].modifiable = false
  require('reverie.chat.render').define_highlights()
  vim.defer_fn(require('reverie.chat.highlight').prepare, 50)
  local made = require('reverie.chat.view').new(shown, buffer)
  view = made
  require('reverie.chat.keys').map(buffer)
  vim.api.nvim_create_autocmd('BufWinEnter', {
    buffer = buffer,
    callback = function()
      made:fold_all(vim.api.nvim_get_current_win())
    end,
  })
  vim.api.nvim_create_autocmd({ 'WinScrolled', 'CursorMoved' }, {
    buffer = buffer,
    callback = function()
      for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
        made:paint(window)
      end
    end,
  })
  return made
end

--- Opens the chat, or goes to it.
function M.open()
  local window = require('reverie.chat.window')
  local was_open = window.is_open()
  local present = transcript()
  local prompt = require('reverie.chat.prompt')
  window.open({ transcript = present.buffer, prompt = prompt.buffer() })
  prompt.changed()
  if not was_open and window.transcript then
    present:fold_all(window.transcript)
    present:follow(window.transcript)
    vim.api.nvim_create_autocmd('WinResized', {
      group = vim.api.nvim_create_augroup('reverie.chat.size', {}),
      -- Not at once: a window that is being closed counts still.
      callback = vim.schedule_wrap(function()
        if window.is_open() then
          prompt.changed()
        end
      end),
    })
    vim.api.nvim_create_autocmd('WinClosed', {
      group = vim.api.nvim_create_augroup('reverie.chat', {}),
      callback = function(event)
        window.closed(tonumber(event.match) --[[@as integer]])
      end,
    })
  end
  M.refresh_bars()
  client.start(function(problem)
    if not problem then
      require('reverie.trust').tell()
    end
  end)
end

---@param conversation reverie.Conversation
---@param callback fun(problem?: string)
local function begin(conversation, callback)
  beginning[conversation] = { callback }
  client.request('reverie/session/new', chosen, function(problem, result)
    local callbacks = beginning[conversation]
    beginning[conversation] = nil
    if result then
      conversation.session, conversation.model = result.sessionId, result.model
      conversation.mode = result.mode or conversation.mode
      chosen = conversation == shown and {} or chosen
    end
    for _, one in ipairs(callbacks) do
      one(problem)
    end
    M.changed()
  end)
end

--- Calls back when the server runs and has the session of the conversation open.
---@param conversation reverie.Conversation
---@param callback fun(problem?: string)
local function with_session(conversation, callback)
  client.start(function(problem)
    if problem then
      callback(problem)
    elseif opening and opening.session == conversation.session then
      table.insert(opening.waiting, callback)
    elseif conversation.session then
      callback()
    elseif beginning[conversation] then
      table.insert(beginning[conversation], callback)
    else
      begin(conversation, callback)
    end
  end)
end

---@return reverie.EditorState?
local function editor_state()
  local window = require('reverie.chat.window').of_file()
  if window then
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window))
    return { activeUri = vim.uri_from_fname(name) }
  end
end

--- Says something in the conversation that is shown.
---@param text string
---@param parts? reverie.PromptPart[] What goes with it.
---@param names? string[] Of these.
---@param selection? fun(): reverie.Range In the file that the user works in.
function M.prompt(text, parts, names, selection)
  local mentioned, mentioned_names = require('reverie.chat.prompt').mentions(text)
  local prompt = vim.list_extend({ { type = 'text', text = text } }, vim.list_extend(mentioned, parts or {}))
  local conversation = shown
  local block = conversation:say(text, vim.list_extend(mentioned_names, names or {}))
  local present = M.view()
  if present then
    for _, window in ipairs(vim.fn.win_findbuf(present.buffer)) do
      present:follow(window)
    end
  end
  local function refused(problem)
    -- Where the server has ended it was given back already.
    if not conversation:remove(block) then
      return
    end
    require('reverie.chat.prompt').give_back(text)
    if conversation == shown then
      M.notice('error', problem)
    else
      tell.error(problem)
    end
  end
  M.changed()
  local editor = editor_state()
  with_session(conversation, function(problem)
    if problem then
      return refused(problem)
    elseif not vim.list_contains(conversation.blocks, block) then
      return
    end
    if editor and selection then
      editor.selection = selection()
    end
    local params = { sessionId = conversation.session, prompt = prompt, editor = editor }
    client.request('reverie/session/prompt', params, function(failure, result)
      if failure then
        return refused(failure)
      end
      conversation:accepted(block, result.turnId, result.queued)
      M.changed()
    end)
  end)
end

function M.stop()
  if shown.session and shown.turn then
    shown.turn.phase = 'stopping'
    M.changed()
    client.ask('reverie/session/cancel', { sessionId = shown.session })
  else
    tell.info('nothing is running.')
  end
end

--- Begins a conversation; its session is made with its first prompt.
function M.new()
  if shown.session then
    chosen = { model = shown.model, mode = shown.mode ~= 'default' and shown.mode or nil }
  end
  local conversation = conversations.new()
  conversation.model, conversation.mode = chosen.model, chosen.mode or 'default'
  show(conversation)
end

--- What compactions left out of the conversation is shown all the same; it is read when the rest is shown.
---@param conversation reverie.Conversation
---@param known table<string, boolean>
---@param uuid? string
---@param left integer
local function load_earlier(conversation, known, uuid, left)
  if not uuid or left == 0 then
    return
  end
  local mine = opened
  client.request(
    'reverie/session/earlier',
    { sessionId = conversation.session, messageUuid = uuid },
    function(_, result)
      if not result or mine ~= opened then
        return
      end
      local fresh = vim.tbl_filter(function(message)
        return not known[message.uuid]
      end, result.messages)
      for _, message in ipairs(fresh) do
        known[message.uuid] = true
      end
      conversation:earlier(fresh)
      M.changed()
      load_earlier(conversation, known, result.earlierUuid, left - 1)
    end
  )
end

--- Opens a session and shows it.
---@param session string
---@param callback? fun(problem?: string, code?: integer)
function M.resume(session, callback)
  opened = opened + 1
  local mine = opened
  local present = { session = session, has_ended = false, waiting = {} }
  -- What waits for the one before, if that is the same, waits for this one.
  if opening and opening.session == session then
    present.waiting, opening.waiting = opening.waiting, {}
  end
  opening = present
  client.request('reverie/session/resume', { sessionId = session }, function(problem, result, code)
    if opening == present then
      opening = nil
    end
    vim.schedule(function()
      for _, one in ipairs(present.waiting) do
        one()
      end
    end)
    -- Somebody may have gone on to another meanwhile.
    if mine ~= opened then
      return
    end
    if problem then
      if callback then
        callback(problem, code)
      else
        M.notice('error', problem)
      end
      return
    end
    local conversation = shown.session == session and shown or conversations.new()
    conversation:resumed(result)
    show(conversation)
    half_shown = result.runningTurnId
    local known = {}
    for _, message in ipairs(result.messages) do
      known[message.uuid] = true
    end
    load_earlier(conversation, known, result.earlierUuid, MOST_PARTS)
    -- Its end was not heard.
    if present.has_ended and half_shown then
      M.resume(session)
    end
    if callback then
      callback()
    end
  end)
end

---@param params reverie.SessionUpdateParams
function M.updated(params)
  local session = params.sessionId
  local kind = params.update.kind
  local display = params.update.display and params.update.display.kind
  if display == 'terminal' then
    require('reverie.buffers').reread()
  end
  if kind == 'turnEnd' then
    require('reverie.asks').withdraw(session)
    require('reverie.buffers').reread()
  end
  if opening and opening.session == session then
    opening.has_ended = opening.has_ended or kind == 'turnEnd'
    return
  end
  if session ~= shown.session then
    return
  end
  if shown:is_out_of_step(params) then
    return M.resume(session)
  end
  shown:update(params)
  M.changed()
  if kind == 'turnEnd' then
    require('reverie.changes').refresh()
    if params.turnId == half_shown then
      M.resume(session)
    end
  elseif display == 'diff' then
    require('reverie.changes').refresh()
  end
end

---@param params reverie.MemoryEventParams
function M.remembered(params)
  shown:memory(params)
  M.changed()
end

--- What was not said is in the box again.
local function give_back()
  local unsaid = shown:interrupted()
  if #unsaid > 0 then
    was_given_back = true
    require('reverie.chat.prompt').give_back(table.concat(unsaid, '\n'))
  end
end

local function tell_given_back()
  if was_given_back then
    M.notice('warning', 'The server had not taken what you sent last. It is in the box again.')
  end
end

---@param state reverie.ServerState
---@param reason? string
local function server_ended(state, reason)
  was_interrupted = was_interrupted or shown.turn ~= nil
  give_back()
  require('reverie.asks').withdraw()
  require('reverie.dream').forget()
  if state == 'restarting' then
    M.notice('warning', ('The server has ended (%s) and is started again.'):format(reason))
  elseif state == 'failed' then
    M.notice('error', reason or '')
  end
  if state ~= 'failed' then
    tell_given_back()
  end
end

--- Shows the conversation as the server has it, and says what was lost.
---@param session string
local function reopen(session)
  M.resume(session, function(problem, code)
    if problem and client.state ~= 'running' then
      -- It has ended again: this is told when it runs.
      return
    elseif problem and code == UNKNOWN_SESSION then
      M.new()
    end
    if problem then
      M.notice('warning', ('The conversation could not be opened again: %s.'):format(problem))
    elseif was_interrupted then
      M.notice(
        'warning',
        'The server ended in the middle of a turn. What was said since is lost; send a message to go on.'
      )
    end
    tell_given_back()
    was_interrupted, was_given_back = false, false
  end)
end

--- The server has ended, or runs again.
---@param state reverie.ServerState
---@param reason? string
function M.server_changed(state, reason)
  if state == 'restarting' or state == 'failed' or state == 'stopped' then
    server_ended(state, reason)
  elseif state == 'running' then
    require('reverie.chat.prompt').load_commands()
    if shown.session then
      reopen(shown.session)
    else
      was_given_back = false
    end
  end
  M.changed()
end

---@param change {model?: string, mode?: string}
function M.configure(change)
  local conversation = shown
  local function done()
    conversation.model = change.model or conversation.model
    conversation.mode = change.mode or conversation.mode
    M.changed()
    M.refresh_bars()
  end
  if conversation.session then
    local params = vim.tbl_extend('force', { sessionId = conversation.session }, change)
    client.ask('reverie/session/configure', params, done)
  else
    chosen = vim.tbl_extend('force', chosen, change)
    done()
  end
end

--- Of the conversation that is shown; tells the user where there is none.
---@return string?
function M.require_session()
  if not shown.session then
    tell.warn('there is no conversation yet. Say something first.')
  end
  return shown.session
end

---@return string?
function M.last_prompt()
  local prompt = shown:last(function(block)
    return block.kind == 'user'
  end)
  return prompt and conversations.text(prompt)
end

return M
