-- An answer that streams: nobody's view moves but of those who look at the end, nobody's typing waits, and nothing is lost
-- when windows, the terminal or the server go away meanwhile.

local harness = require('harness')

---@param editor harness.Editor
---@param text string
local function prompt(editor, text)
  editor:keys('<C-\\><C-n>:Reverie chat<CR>')
  editor:wait('the box', function()
    return editor:lua('return vim.bo.filetype') == 'reverie-prompt'
      and editor:lua('return vim.fn.mode()') == 'i'
  end)
  editor:type(text)
  editor:keys('<C-s>')
end

---@param editor harness.Editor
local function ended(editor)
  editor:wait('the end of the turn', function()
    return editor:lua('return require("reverie.chat").current().turn == nil')
  end)
end

---@param from integer
---@param to integer
local function numbered(from, to)
  local lines = {}
  for number = from, to do
    table.insert(lines, ('line %d of it'):format(number))
  end
  return table.concat(lines, '\n')
end

local FILES = { files = { ['a.txt'] = 'one\n' } }
--- Wide enough for the words with which Neovim itself tells of a server's end.
local WIDE = { files = FILES.files, width = 200 }

--- A conversation that is longer than the window, and an answer that is half told: a gate of this name holds the rest.
---@param editor harness.Editor
local function half_told(editor)
  editor.model:always('extraction', 'Nothing.')
  editor:open('a.txt')
  editor.model:reply_text(numbered(1, 100))
  prompt(editor, 'First')
  editor:wait_screen('line 100 of it')
  ended(editor)
  editor.model:reply_text(numbered(101, 200), { pauses = { { 6, 'half' } } })
  prompt(editor, 'Second')
  editor.model:reached('half')
  editor:wait_lines('reverie://chat', 'line 101 of it')
end

--- What the reader's window shows, and where the cursor is in it.
---@param editor harness.Editor
local function view(editor)
  return editor:lua([[
    local window = require('reverie.chat.window').transcript
    local saved = vim.api.nvim_win_call(window, vim.fn.winsaveview)
    return { saved.topline, saved.lnum, saved.col, saved.skipcol }
  ]])
end

harness.test('who reads above stays there while an answer streams, and at its end', FILES, function(editor)
  half_told(editor)
  editor:keys('<C-\\><C-n><C-w>k')
  editor:keys('20Gzt5jw')
  local before
  editor:wait('the place', function()
    before = view(editor)
    return before[1] == 20 and before[2] == 25 and before[3] > 0
  end)
  editor.model:open('half')
  editor:wait_lines('reverie://chat', 'line 200 of it')
  ended(editor)
  harness.equal(view(editor), before)
end)

harness.test('who reads above in a window without the focus stays there too', FILES, function(editor)
  half_told(editor)
  editor:keys('<C-\\><C-n><C-w>k20Gzt')
  editor:wait('the place', function()
    return view(editor)[1] == 20
  end)
  editor:command('wincmd t')
  local before = view(editor)
  editor.model:open('half')
  editor:wait_lines('reverie://chat', 'line 200 of it')
  ended(editor)
  harness.equal(view(editor), before)
end)

harness.test('who reads in the very block that streams stays there when it ends', FILES, function(editor)
  editor.model:always('extraction', 'Nothing.')
  editor:open('a.txt')
  local text = numbered(1, 10) .. '\n' .. ('a word and another '):rep(400) .. '\n' .. numbered(11, 300)
  editor.model:reply_text(text, { pauses = { { 12, 'half' } } })
  prompt(editor, 'Tell')
  editor.model:reached('half')
  editor:wait_lines('reverie://chat', 'line 3 of it')
  editor:keys('<C-\\><C-n><C-w>kgg5j')
  local before
  editor:wait('the place', function()
    before = view(editor)
    return before[2] == 6
  end)
  editor.model:open('half')
  editor:wait_lines('reverie://chat', 'line 300 of it')
  ended(editor)
  harness.equal(view(editor), before)
end)

harness.test('a selection of who reads above stays what it is', FILES, function(editor)
  half_told(editor)
  editor:keys('<C-\\><C-n><C-w>k20Gzt')
  editor:keys('Vjj')
  editor:wait('the selection', function()
    return editor:lua('return vim.fn.mode()') == 'V'
  end)
  editor.model:open('half')
  editor:wait_lines('reverie://chat', 'line 200 of it')
  ended(editor)
  harness.equal(editor:lua('return vim.fn.mode()'), 'V')
  harness.equal(editor:lua("return { vim.fn.line('v'), vim.fn.line('.') }"), { 20, 22 })
end)

harness.test('who looks at the end follows it', FILES, function(editor)
  half_told(editor)
  editor.model:open('half')
  editor:wait_screen('line 200 of it')
  editor:wait_screen('line 195 of it')
end)

harness.test(
  'who scrolled up with the mouse or <C-y> and goes back to the end follows it again',
  FILES,
  function(editor)
    half_told(editor)
    editor:keys('<C-\\><C-n><C-w>kgg')
    editor:wait('the top', function()
      return view(editor)[1] == 1
    end)
    editor:keys('G')
    editor.model:open('half')
    editor:wait_screen('line 200 of it')
  end
)

harness.test('two windows that show the chat: one follows, the other stays', FILES, function(editor)
  half_told(editor)
  editor:keys('<C-\\><C-n>')
  editor:lua([[
    vim.cmd('wincmd t')
    vim.cmd('sbuffer ' .. vim.fn.bufnr('reverie://chat'))
    _G.second = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_cursor(0, { 10, 0 })
    vim.cmd('normal! zt')
  ]])
  editor:command('redraw')
  local before = editor:lua('return vim.fn.getwininfo(_G.second)[1].topline')
  editor.model:open('half')
  editor:wait_screen('line 200 of it')
  harness.equal(editor:lua('return vim.fn.getwininfo(_G.second)[1].topline'), before)
end)

harness.test('keys that are typed while an answer streams arrive, in order, at once', FILES, function(editor)
  editor.model:always('extraction', 'Nothing.')
  editor:open('a.txt')
  editor.model:reply_text(numbered(1, 3000))
  editor:keys(':Reverie ask Tell<CR>')
  editor:keys('Go')
  local typed = {}
  for number = 1, 100 do
    table.insert(typed, tostring(number))
    editor:type(number .. ' ')
  end
  editor:wait_lines('a.txt', table.concat(typed, ' '))
  editor:wait_lines('reverie://chat', 'line 3000 of it')
  harness.equal(editor:lines('a.txt')[2], table.concat(typed, ' ') .. ' ')
  harness.equal(editor:lua('return vim.fn.mode()'), 'i')
end)

harness.test(
  'a half typed command, a pending operator and a search are not disturbed',
  FILES,
  function(editor)
    half_told(editor)
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    editor:keys(':echo 1')
    editor:wait_screen(':echo 1')
    editor.model:open('half')
    editor:wait_lines('reverie://chat', 'line 200 of it')
    ended(editor)
    harness.equal(editor:lua('return { vim.fn.mode(), vim.fn.getcmdline() }'), { 'c', 'echo 1' })
    editor:keys('<Esc>')
  end
)

for _, how in ipairs({ 'resize', 'close', 'bwipeout', 'tabclose', 'new conversation' }) do
  harness.test(('an answer that streams survives: %s'):format(how), FILES, function(editor)
    editor:command('tabnew')
    half_told(editor)
    editor:keys('<C-\\><C-n>')
    if how == 'resize' then
      for _, size in ipairs({ { 30, 10 }, { 160, 50 }, { 100, 30 } }) do
        editor.rpc:request('nvim_ui_try_resize', size[1], size[2])
        editor:wait('the size', function()
          return editor.screen.width == size[1]
        end)
      end
    elseif how == 'close' then
      editor:keys('q')
    elseif how == 'bwipeout' then
      editor:command('bwipeout! ' .. editor:buffer('reverie://chat'))
    elseif how == 'tabclose' then
      editor:command('tabclose')
    else
      editor:command('Reverie new')
    end
    editor.model:open('half')
    if how == 'new conversation' then
      editor:wait('the end of the turn', function()
        return #editor.model:requests('extraction') >= 2
      end)
      harness.lacks(table.concat(editor:lines('reverie://chat'), '\n'), 'line 200')
      editor:keys('<C-\\><C-n>:Reverie resume<CR>')
    else
      ended(editor)
      editor:keys('<C-\\><C-n>:Reverie chat<CR>')
    end
    editor:wait_lines('reverie://chat', 'line 200 of it')
    editor:wait_lines('reverie://chat', 'line 1 of it')
    local count = 0
    for _, line in ipairs(editor:lines('reverie://chat')) do
      count = count + (line:match('^line %d+ of it$') and 1 or 0)
    end
    harness.equal(count, 200, 'every line is there once')
    harness.lacks(editor:messages(), 'stack traceback')
  end)
end

harness.test(
  'a server that ends while it answers is started again, and the conversation goes on',
  WIDE,
  function(editor)
    half_told(editor)
    editor:keys('<C-\\><C-n><C-w>k20Gzt')
    editor:wait('the place', function()
      return view(editor)[1] == 20
    end)
    local first = editor:kill_server()
    editor:server(first)
    editor:wait('the server', function()
      return editor:lua('return require("reverie.client").state') == 'running'
    end)
    editor:wait_lines('reverie://chat', 'The server ended in the middle of a turn')
    editor:wait_lines('reverie://chat', 'line 100 of it')
    harness.equal(view(editor)[1], 20, 'who reads above stays there')
    editor.model:open('half')
    editor.model:take_problems()
    editor.model:reply('We go on.')
    prompt(editor, 'Go on')
    editor:wait_screen('We go on.')
  end
)

harness.test('a server that ends takes no key from somebody who types in a file', FILES, function(editor)
  half_told(editor)
  editor:keys('<C-\\><C-n>')
  editor:command('wincmd t')
  editor:keys('Gomine ')
  editor:wait_lines('a.txt', 'mine')
  local first = editor:kill_server()
  editor.model:open('half')
  editor.model:take_problems()
  editor:server(first)
  editor:wait('the server', function()
    return editor:lua('return require("reverie.client").state') == 'running'
  end)
  editor:type('and mine')
  editor:wait_lines('a.txt', 'mine and mine')
  harness.lacks(editor.screen:text(), 'Press ENTER')
end)

harness.test('a draft survives a server that ends', WIDE, function(editor)
  half_told(editor)
  editor:type('half typed')
  editor:wait_lines('reverie://prompt', 'half typed')
  local first = editor:kill_server()
  editor:server(first)
  editor:wait('the server', function()
    return editor:lua('return require("reverie.client").state') == 'running'
  end)
  editor:wait_lines('reverie://chat', 'The server ended in the middle of a turn')
  harness.equal(editor:lines('reverie://prompt'), { 'half typed' })
  harness.equal(editor:lua('return vim.fn.mode()'), 'i')
  editor.model:open('half')
  editor.model:take_problems()
end)

harness.test(
  'a prompt that was queued when the server ended is not lost without a word',
  WIDE,
  function(editor)
    half_told(editor)
    editor:type('and then this')
    editor:keys('<C-s>')
    editor:wait_lines('reverie://chat', '❯ and then this')
    local first = editor:kill_server()
    editor:server(first)
    editor:wait_lines('reverie://chat', 'The server ended in the middle of a turn')
    local text = table.concat(editor:lines('reverie://chat'), '\n')
      .. table.concat(editor:lines('reverie://prompt'), '\n')
    harness.contains(text, 'and then this')
    editor.model:open('half')
    editor.model:take_problems()
  end
)

--- As the server tells them: 10,000 pieces, some in each turn of the loop.
local FLOOD = [[
  local piece, count, batch = ...
  local chat = require('reverie.chat')
  chat.current().session = chat.current().session or 'none'
  chat.current().next_seq = -1
  local handler = require('reverie.handlers')['reverie/session/update']
  local sent = 0
  local timer = vim.uv.new_timer()
  _G.flooded = false
  timer:start(0, 2, vim.schedule_wrap(function()
    if _G.flooded then return end
    for _ = 1, batch do
      sent = sent + 1
      handler(nil, {
        sessionId = chat.current().session, turnId = 'flood', seq = 1,
        update = { kind = 'textDelta', text = (piece:gsub('#', tostring(sent))) },
      })
      chat.current().next_seq = -1
    end
    if sent >= count then
      _G.flooded = true
      timer:stop()
      timer:close()
    end
  end))
]]

harness.test(
  'a paragraph without an end is broken in the same places, streamed and at its end',
  FILES,
  function(editor)
    editor.model:always('extraction', 'Nothing.')
    editor:open('a.txt')
    local words = {}
    for number = 1, 3000 do
      words[number] = 'word' .. number
    end
    editor.model:reply_text(table.concat(words, ' '))
    editor:keys(':Reverie ask Tell<CR>')
    editor:wait_lines('reverie://chat', 'word3000', 60000)
    local text = {}
    for _, line in ipairs(editor:lines('reverie://chat')) do
      if vim.startswith(line, 'word') then
        harness.equal(#line < 4100, true, 'no line is long')
        table.insert(text, line)
      end
    end
    harness.equal(table.concat(text, ' '), table.concat(words, ' '))
  end
)

--- Streams each text in few and in many pieces, drawn after each, and says where its end looks otherwise than the whole.
local DIFFERENCES = [[
  local texts, kind = ...
  local chat = require('reverie.chat')
  local found = {}
  for _, text in ipairs(texts) do
    for _, count in ipairs({ 3, 40, 200 }) do
      local size = math.ceil(#text / count)
      chat.new()
      local conversation, view = chat.current(), chat.view()
      for at = 1, #text, size do
        conversation:stream(kind, text:sub(at, at + size - 1))
        view:flush()
      end
      conversation:settle()
      view:flush()
      local function look()
        local lines = vim.api.nvim_buf_get_lines(view.buffer, 0, -1, false)
        local rows = vim.tbl_map(function(row) return { row.count, row.fold or -1, row.gap } end, view.rows)
        return { lines = lines, rows = rows }
      end
      local streamed = look()
      view:draw()
      if not vim.deep_equal(streamed, look()) then
        table.insert(found, { text = text, size = size, streamed = streamed, whole = look() })
      end
    end
  end
  return found
]]

harness.test('an answer that has streamed looks like one that is drawn at once', FILES, function(editor)
  local texts = {
    'one',
    '\n',
    '\n\n\n\n',
    'one\n\n\n\n',
    'one\n\ntwo\n',
    '```lua\none()',
    '```lua\none()\n\n\n',
    'one\n\n~~~~\ntwo\n```\n\nthree\n',
    '```\none\n```\n\n\n',
    ' ```lua\n' .. ("say('a long line of code')\n"):rep(120) .. '\nlast()\n\n',
    '```lua\n' .. ("say('a long line of code')\n\n"):rep(60) .. '```\n\n- one\n- two\n\n',
    ('- a long list\n'):rep(200),
    'carriage\r\nreturns\r\n\r\n',
    ('word '):rep(2000),
  }
  editor:keys(':Reverie chat<CR>')
  editor:wait_lines('reverie://chat', '# A conversation')
  harness.equal(editor:lua(DIFFERENCES, texts, 'text'), {})
  harness.equal(editor:lua(DIFFERENCES, texts, 'thinking'), {})
end)

harness.test(
  'a long code block has its colours while it streams, part by part',
  { height = 60 },
  function(editor)
    editor.model:always('extraction', 'Nothing.')
    local code = {}
    for line = 1, 200 do
      code[line] = ('local value_%d = other(%d)'):format(line, line)
    end
    local text = '```lua\n' .. table.concat(code, '\n')
    editor.model:reply_text(text .. '\n```\n\nAnd out.', { pauses = { { math.floor(#text / 16), 'code' } } })
    editor:keys(':Reverie ask Tell<CR>')
    editor.model:reached('code')
    local function coloured(word)
      editor:wait('the colour of ' .. word, function()
        local style = editor.screen:style_of(word)
        return style and style.foreground ~= (editor.screen:style_of('other(') or {}).foreground
      end)
    end
    -- None of the last lines belongs to the part in which the block was opened.
    editor:wait_screen('value_160')
    coloured('local value_160')
    editor.model:open('code')
    editor:wait_screen('And out.')
    coloured('local value_200')
  end
)

harness.test('10,000 pieces leave no more memory in use than their text needs', FILES, function(editor)
  editor:open('a.txt')
  editor:keys(':Reverie chat<CR>')
  editor:wait('the server', function()
    return editor:lua('return require("reverie.client").state') == 'running'
  end)
  local function used()
    return editor:lua("collectgarbage() collectgarbage() return collectgarbage('count')")
  end
  local function flood()
    editor:lua(FLOOD, 'line # of a *long* answer\n', 10000, 20)
    editor:wait('all pieces', function()
      return editor:lua('return _G.flooded and #require("reverie.chat").current().changes == 0')
    end, 60000)
    editor:lua("require('reverie.chat').new()")
  end
  flood()
  local before = used()
  flood()
  flood()
  local after = used()
  harness.equal(after - before < 1024, true, ('%d KiB before, %d KiB after'):format(before, after))
end)

harness.test('ten thousand real pieces come through the server and all are shown', FILES, function(editor)
  editor.model:always('extraction', 'Nothing.')
  editor:open('a.txt')
  editor.model:reply_text(numbered(1, 10000))
  editor:keys(':Reverie ask Tell<CR>')
  editor:wait_lines('reverie://chat', 'line 10000 of it', 60000)
  local count = 0
  for _, line in ipairs(editor:lines('reverie://chat')) do
    count = count + (line:match('^line %d+ of it$') and 1 or 0)
  end
  harness.equal(count, 10000)
end)
