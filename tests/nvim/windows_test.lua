-- Windows and tab pages: the chat comes and goes as windows do, and nothing of the user's own layout or options is touched.

local harness = require('harness')
local user = require('user')

for _, command in ipairs({ 'bd', 'bd!', 'bw!', 'q', 'close', 'hide' }) do
  for _, which in ipairs({ 'chat', 'prompt' }) do
    harness.test(
      (':%s in the %s window ends the chat, and what was said is there when it is opened again'):format(
        command,
        which
      ),
      { files = user.TWO, init = user.INIT },
      function(editor)
        user.quiet(editor)
        editor:open('a.txt')
        user.answered(editor)
        editor:keys('<C-\\><C-n>')
        if which == 'chat' then
          editor:keys('<C-w>k')
        end
        editor:keys(':' .. command .. '<CR>')
        user.wait_windows(editor, { 'a.txt' })
        harness.equal(editor:lua('return vim.fn.expand("%:t")'), 'a.txt')
        editor:keys(':Reverie chat<CR>')
        user.box(editor)
        user.wait_windows(editor, { 'a.txt', 'chat', 'prompt' })
        editor:wait_screen('It is answered.')
        editor.model:reply('And again.')
        user.prompt(editor, 'Once more')
        editor:wait_screen('And again.')
      end
    )
  end
end

for _, which in ipairs({ 'chat', 'prompt' }) do
  harness.test(
    (':only in the %s window: the chat can be opened whole again, and the window takes a file'):format(which),
    { files = user.TWO, init = user.INIT },
    function(editor)
      user.quiet(editor)
      editor:open('a.txt')
      user.answered(editor)
      editor:keys('<C-\\><C-n>')
      if which == 'chat' then
        editor:keys('<C-w>k')
      end
      editor:keys(':only<CR>')
      editor:wait('one window', function()
        return #user.windows(editor) == 1
      end)
      editor:keys(':Reverie chat<CR>')
      user.box(editor)
      local seen = user.windows(editor)
      harness.equal(#vim.tbl_filter(function(name)
        return name == 'chat'
      end, seen), 1, vim.inspect(seen))
      harness.equal(#vim.tbl_filter(function(name)
        return name == 'prompt'
      end, seen), 1, vim.inspect(seen))
    end
  )
end

harness.test(
  'after :only in a window of the chat the user can open a file in it',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n><C-w>k:only<CR>')
    editor:wait('one window', function()
      return #user.windows(editor) == 1
    end)
    editor:open('b.txt')
    harness.equal(user.windows(editor), { 'b.txt' })
  end
)

harness.test(
  'the chat survives :tabclose while an answer streams',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:command('tabnew')
    editor.model:reply_text('first half, second half', { pauses = { { 3, 'half' } } })
    user.prompt(editor, 'Tell me')
    editor.model:reached('half')
    editor:keys('<C-\\><C-n>:tabclose<CR>')
    editor:wait('one tab page', function()
      return editor:lua('return #vim.api.nvim_list_tabpages()') == 1
    end)
    user.wait_windows(editor, { 'a.txt' })
    editor.model:open('half')
    editor:wait('the end of the turn', function()
      return editor:lua('return require("reverie.chat").current().turn == nil')
    end)
    editor:keys(':Reverie chat<CR>')
    editor:wait_screen('second half')
  end
)

harness.test(
  'the chat survives :bd while an answer streams',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_text('first half, second half', { pauses = { { 3, 'half' } } })
    user.prompt(editor, 'Tell me')
    editor.model:reached('half')
    editor:keys('<C-\\><C-n><C-w>k:bd<CR>')
    user.wait_windows(editor, { 'a.txt' })
    editor.model:open('half')
    editor:wait('the end of the turn', function()
      return editor:lua('return require("reverie.chat").current().turn == nil')
    end)
    editor:keys(':Reverie chat<CR>')
    editor:wait_screen('second half')
    editor:wait_screen('❯ Tell me')
  end
)

harness.test(
  ':Reverie chat in another tab page brings the chat to where the user is',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>')
    editor:command('tabnew ' .. editor.workspace .. '/b.txt')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:wait_screen('It is answered.')
    harness.equal(editor:lua('return vim.api.nvim_get_current_tabpage()'), 2)
  end
)

harness.test(
  'closing the last file window and both of the chat ends Neovim with :q',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    editor:keys(':q<CR>')
    user.wait_windows(editor, { 'chat', 'prompt' })
    editor.rpc:send('nvim_input', ':q<CR>')
    editor.rpc:send('nvim_input', ':q<CR>')
    editor:wait('the end of Neovim', function()
      return editor.process.code ~= nil
    end)
  end
)

for _, position in ipairs({ 'right', 'left', 'bottom', 'top', 'tab' }) do
  harness.test(('the chat opens at %s, in a terminal of 60 columns and 15 lines too'):format(position), {
    files = user.TWO,
    init = user.INIT .. ("vim.g.reverie = { window = { position = '%s' } }"):format(position),
    width = 60,
    height = 15,
  }, function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    harness.equal(editor:lua('return vim.v.errmsg'), '')
    editor:keys('<C-\\><C-n>q')
    editor:wait('the end of the chat', function()
      return editor:lua('return vim.fn.expand("%:t")') == 'a.txt'
    end)
  end)
end

harness.test(
  'both windows keep their shape when the terminal is resized to almost nothing and back',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    for _, size in ipairs({ { 20, 9 }, { 14, 9 }, { 200, 60 }, { 100, 30 } }) do
      editor.rpc:request('nvim_ui_try_resize', size[1], size[2])
      editor:wait('the size', function()
        return editor.screen.width == size[1] and editor.screen.height == size[2]
      end)
    end
    editor.model:reply('Still here.')
    user.prompt(editor, 'Are you?')
    editor:wait_screen('Still here.')
    user.wait_windows(editor, { 'a.txt', 'chat', 'prompt' })
    harness.equal(
      editor:lua('return vim.api.nvim_win_get_height(require("reverie.chat.window").prompt) <= 10'),
      true
    )
  end
)

harness.test('what the box says fits into it', {}, function(editor)
  editor:keys(':Reverie chat<CR>')
  user.box(editor)
  for _, size in ipairs({
    { 49, 'Ask anything · <C-s> sends · @ files · / commands' },
    { 48, '<C-s> sends · @ files · / commands' },
    { 32, '<C-s> sends · @ files' },
    { 16, '<C-s> sends' },
    { 60, 'Ask anything · <C-s> sends · @ files · / commands' },
  }) do
    editor:command('vertical resize ' .. size[1])
    editor:wait('the words in ' .. size[1] .. ' columns', function()
      for _, line in ipairs(editor.screen:lines()) do
        if vim.endswith(line, '│' .. size[2]) then
          return true
        end
      end
    end)
  end
end)

harness.test(
  'with nohidden and an unsaved file the chat opens and closes',
  { files = user.TWO, init = user.INIT .. 'vim.o.hidden = false' },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:keys('Gomine<Esc>')
    user.answered(editor)
    editor:type('half typed')
    editor:keys('<C-\\><C-n>q')
    user.wait_windows(editor, { 'a.txt' })
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:wait_screen('half typed')
    harness.equal(editor:lines('a.txt')[10], 'mine')
  end
)

harness.test(
  'the draft survives :q of the chat window',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:type('half typed')
    editor:keys('<C-\\><C-n><C-w>k:q<CR>')
    user.wait_windows(editor, { 'a.txt' })
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:wait_screen('half typed')
  end
)

local OPTIONS = [[
  local found = {}
  -- Some are options of other systems, or of Neovims that were.
  local function take(key, name, options)
    local known, value = pcall(vim.api.nvim_get_option_value, name, options)
    found[key .. name] = known and value or nil
  end
  for name, info in pairs(vim.api.nvim_get_all_options_info()) do
    if info.scope == 'global' or info.global_local then
      take('', name, { scope = 'global' })
    elseif info.scope == 'win' then
      take('setglobal ', name, { scope = 'global' })
      take('here ', name, { win = _G.mine })
    else
      take('here ', name, { buf = vim.api.nvim_win_get_buf(_G.mine) })
    end
  end
  return found
]]

--- What the user's options are after something, compared with before.
---@param editor harness.Editor
---@param action fun()
local function changes_no_option(editor, action)
  editor:lua('_G.mine = vim.api.nvim_get_current_win()')
  local before = editor:lua(OPTIONS)
  action()
  local after = editor:lua(OPTIONS)
  local differences = {}
  for name, value in pairs(before) do
    if not vim.deep_equal(value, after[name]) then
      table.insert(differences, ('%s: %s → %s'):format(name, vim.inspect(value), vim.inspect(after[name])))
    end
  end
  table.sort(differences)
  harness.equal(differences, {})
end

harness.test(
  "the chat changes no option of the user's",
  { files = user.TWO, init = user.INIT .. 'vim.o.wrap = false vim.o.number = true' },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    changes_no_option(editor, function()
      user.answered(editor)
      editor:keys('<C-\\><C-n>')
    end)
  end
)

harness.test(
  "memory, context, doctor and dream windows change no option of the user's",
  { files = user.TWO, init = user.INIT .. 'vim.o.wrap = false vim.o.foldenable = true vim.o.number = true' },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    changes_no_option(editor, function()
      for _, command in ipairs({ 'memory', 'context', 'doctor', 'dream status' }) do
        local before = #user.windows(editor)
        editor:keys(':Reverie ' .. command .. '<CR>')
        editor:wait('the window of ' .. command, function()
          return #user.windows(editor) == before + 1
        end)
        editor:keys('q')
        editor:wait('its end', function()
          return #user.windows(editor) == before
        end)
      end
    end)
  end
)

harness.test(
  "a permission question changes no option of the user's, and its buffer is gone when it is answered",
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' })
    editor.model:reply('Done.')
    changes_no_option(editor, function()
      editor:keys(':Reverie ask make x<CR>')
      editor:wait_screen('1  Allow once')
      editor:keys(':Reverie answer<CR>')
      editor:wait('an answer that is taken', function()
        if user.asks(editor) == 1 then
          editor:keys('1')
        end
        return user.asks(editor) == 0
      end)
      editor:wait_screen('Done.')
    end)
    harness.equal(
      editor:lua([[
        return vim.tbl_filter(function(name) return name:find('reverie://ask', 1, true) end,
          vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs()))
      ]]),
      {}
    )
  end
)

harness.test(
  'a conversation that has not begun says how, and its windows say their keys',
  { files = user.TWO, width = 80, height = 24 },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie chat<CR>')
    editor:wait_screen('◆ Reverie')
    editor:wait_screen('#  remembers a line')
    editor:wait_screen(' <CR> opens · u undoes · g? keys')
    editor:wait_screen(' <C-c> stops · q closes')
    user.quiet(editor)
    user.answered(editor)
    editor:wait_gone('#  remembers a line')
    editor:keys('<C-\\><C-n>:Reverie new<CR>')
    editor:wait_screen('#  remembers a line')
  end
)

harness.test(
  'a long command that failed says so in the one line that a narrow chat has for it',
  { files = user.TWO, settings = user.ACCEPT, width = 80, height = 24 },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_tool(
      'Bash',
      { command = 'for i in 1 2 3 4 5; do echo "this is line $i"; done; exit 7' }
    )
    editor.model:reply('It failed.')
    user.prompt(editor, 'Run it')
    editor:wait_screen('It failed.')
    editor:wait_screen('● Bash (exit code 7) for i in')
  end
)

harness.test("the user's own winbar and statusline stay in the user's windows", {
  files = user.TWO,
  init = user.INIT .. "vim.o.winbar = 'MINE %f' vim.o.statusline = 'OWN %f'",
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  user.answered(editor)
  editor:keys('<C-\\><C-n>')
  editor:command('wincmd t')
  editor:command('split ' .. editor.workspace .. '/b.txt')
  editor:wait('both winbars', function()
    local text = editor.screen:text()
    return text:find('MINE [^\n]*b%.txt') and text:find('MINE [^\n]*a%.txt')
  end)
  editor:wait_screen('OWN ')
  editor:wait_screen('OWN reverie://prompt')
end)

harness.test(
  'no key of the user is mapped, and no global mapping but <Plug> exists',
  { files = user.TWO },
  function(editor)
    editor:open('a.txt')
    harness.equal(
      editor:lua([[
      local found = {}
      for _, mode in ipairs({ 'n', 'x', 'i', 'o', 'c', 't' }) do
        for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
          if (map.rhs or ''):find('Reverie') and not map.lhs:find('<Plug>', 1, true) then
            table.insert(found, map.lhs)
          end
        end
      end
      return found
    ]]),
      {}
    )
  end
)
