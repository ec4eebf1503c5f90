-- The server's life: whatever ends it, what the user has said is not lost, and it works where it worked.

local harness = require('harness')
local user = require('user')

--- What the server says of itself, and what it says while it is down.
local WATCHED = user.INIT
  .. [[
  _G.states = {}
  vim.api.nvim_create_autocmd('User', { pattern = 'ReverieServer', callback = function(event)
    table.insert(_G.states, event.data.state)
    if _G.on_state then _G.on_state(event.data.state) end
  end })
]]

---@param editor harness.Editor
local function running(editor)
  editor:wait('the server', function()
    return editor:lua("return require('reverie.client').state") == 'running'
  end)
end

--- The server takes nothing any more, as if it was very slow.
---@param editor harness.Editor
---@return integer
local function hold(editor)
  local pid = editor:server()
  vim.uv.kill(pid, 'sigstop')
  return pid
end

---@param editor harness.Editor
---@param text string
---@return integer
local function count_in_chat(editor, text)
  local _, count = table.concat(editor:lines('reverie://chat'), '\n'):gsub(vim.pesc(text), '')
  return count
end

--- The folder that a server works in.
---@param pid integer
local function folder_of(pid)
  return vim.uv.fs_readlink(('/proc/%d/cwd'):format(pid))
end

harness.test(
  'the first prompt is in the box again when the server ends before it has it, and can be sent',
  { files = user.TWO, init = WATCHED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    running(editor)
    hold(editor)
    editor:type('Say hello')
    editor:keys('<C-s>')
    editor:wait_lines('reverie://chat', '❯ Say hello')
    editor:type('and more')
    editor:wait_lines('reverie://prompt', 'and more')
    editor:server(editor:kill_server())
    editor:wait_lines('reverie://prompt', 'Say hello\nand more')
    editor:wait_lines('reverie://chat', 'It is in the box again')
    harness.equal(count_in_chat(editor, '❯ Say hello'), 0)
    running(editor)
    editor.model:reply('Hello.')
    editor:keys('<C-s>')
    editor:wait_screen('Hello.')
    harness.contains(editor.model:requests('main')[1].last, 'Say hello\nand more')
  end
)

harness.test(
  'a later prompt that the server had not taken when it ended is in the box again, in words',
  { files = user.TWO, init = WATCHED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    hold(editor)
    editor:type('and this')
    editor:keys('<C-s>')
    editor:wait_lines('reverie://chat', '❯ and this')
    editor:server(editor:kill_server())
    running(editor)
    editor:wait_lines('reverie://prompt', 'and this')
    editor:wait('the words, beside the conversation', function()
      return count_in_chat(editor, 'It is answered.') == 1
        and count_in_chat(editor, 'It is in the box again') == 1
    end)
    harness.equal(count_in_chat(editor, '❯ and this'), 0)
    editor.model:reply('This too.')
    editor:keys('<C-s>')
    editor:wait_screen('This too.')
  end
)

harness.test(
  'a prompt that waited behind a turn when the server ended is in the box again',
  { files = user.TWO, init = WATCHED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply('Never heard.', { behind = 'now' })
    user.prompt(editor, 'First')
    editor.model:reached('now')
    editor:type('Second')
    editor:keys('<C-s>')
    editor:wait_lines('reverie://chat', 'waits for the next step')
    editor:server(editor:kill_server())
    editor.model:open('now')
    editor.model:take_problems()
    running(editor)
    editor:wait_lines('reverie://prompt', 'Second')
    editor:wait_lines('reverie://chat', 'The server ended in the middle of a turn')
    editor:wait_lines('reverie://chat', 'It is in the box again')
  end
)

harness.test('what is sent while the server is down is sent when it runs, and stays in the chat', {
  files = user.TWO,
  init = WATCHED,
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  user.answered(editor)
  editor.model:reply('It goes on.')
  editor:lua([[
    _G.on_state = function(state)
      if state == 'restarting' then
        vim.schedule(function() require('reverie.chat').prompt('Meanwhile') end)
      end
    end
  ]])
  editor:kill_server()
  editor:wait_lines('reverie://chat', 'It goes on.')
  harness.equal(count_in_chat(editor, '❯ Meanwhile'), 1)
  harness.equal(count_in_chat(editor, 'It is answered.'), 1)
end)

harness.test(
  'a conversation that is left before its session is made gets it, and the next one its own',
  { files = user.TWO, init = WATCHED },
  function(editor)
    user.quiet(editor)
    editor.model:always('main', 'Done.')
    editor:open('a.txt')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    running(editor)
    local pid = hold(editor)
    editor:type('First')
    editor:keys('<C-s>')
    editor:wait_lines('reverie://chat', '❯ First')
    editor:keys('<C-\\><C-n>:Reverie new<CR>')
    user.box(editor)
    editor:type('Second')
    editor:keys('<C-s>')
    editor:wait_lines('reverie://chat', '❯ Second')
    vim.uv.kill(pid, 'sigcont')
    editor:wait_lines('reverie://chat', 'Done.')
    editor:wait('both prompts', function()
      return #editor.model:requests('main') == 2
    end)
    harness.equal(editor:lua('return _G.told'), {})
  end
)

for _, is_enabled in ipairs({ false, true }) do
  harness.test(
    ('a server that ends is started again where it was, and :Reverie restart goes with the user%s'):format(
      is_enabled and ', with vim.lsp.enable too' or ''
    ),
    {
      files = { ['a.txt'] = 'one\n', ['deep/b.txt'] = 'b\n' },
      init = WATCHED .. (is_enabled and "if vim.lsp.enable then vim.lsp.enable('reverie') end" or ''),
    },
    function(editor)
      editor:open('a.txt')
      editor:keys(':Reverie chat<CR>')
      user.box(editor)
      running(editor)
      editor:keys('<C-\\><C-n>')
      editor:command('cd deep')
      local second = editor:server(editor:kill_server())
      running(editor)
      harness.equal(folder_of(second), editor.workspace)
      editor:command('Reverie restart')
      local third = editor:server(second)
      user.wait_told(editor, 'started anew')
      harness.equal(folder_of(third), editor.workspace .. '/deep')
      harness.equal(
        editor:lua("return vim.lsp.get_clients({ name = 'reverie' })[1].root_dir"),
        editor.workspace .. '/deep'
      )
    end
  )
end

harness.test(
  'a server that somebody stops through vim.lsp stays down until it is needed',
  { files = user.TWO, init = WATCHED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>')
    editor:lua([[
      local client = vim.lsp.get_clients({ name = 'reverie' })[1]
      if vim.fn.has('nvim-0.11') == 1 then client:stop() else client.stop() end
    ]])
    editor:wait('its end', function()
      return #editor:servers() == 0 and editor:lua("return require('reverie.client').state") == 'stopped'
    end)
    harness.lacks(table.concat(editor:lua('return _G.states'), ' '), 'restarting')
    editor.model:reply('Here again.')
    user.prompt(editor, 'Are you there?')
    editor:wait_screen('Here again.')
  end
)

harness.test('a buffer that gets its name by being written is known to the server', {
  files = user.TWO,
  init = WATCHED,
}, function(editor)
  editor:open('a.txt')
  editor:keys(':Reverie chat<CR>')
  user.box(editor)
  running(editor)
  editor:keys('<C-\\><C-n>')
  editor:command('wincmd t')
  editor:command('enew')
  editor:keys('imine<Esc>:w new.txt<CR>')
  editor:wait('the server in it', function()
    return editor:lua([[
      return vim.fn.expand('%:t') == 'new.txt' and #vim.lsp.get_clients({ bufnr = 0, name = 'reverie' }) == 1
    ]])
  end)
end)

--- A memory is being saved, and a gate of this name holds the model up.
---@param editor harness.Editor
---@return string path
local function remembering(editor)
  local path = editor.project .. '/memory/lunch.md'
  local content = '---\nname: Lunch\ndescription: Lunch is at noon\ntype: project\n---\n\nLunch is at noon.\n'
  editor.model:reply_tool(
    'Write',
    { file_path = path, content = content },
    { ['for'] = 'extraction', behind = 'now' }
  )
  editor.model:always('extraction', 'Done.')
  editor.model:reply('Good to know.')
  editor:open('a.txt')
  user.prompt(editor, 'Lunch is at noon')
  editor:wait_screen('Good to know.')
  editor.model:reached('now')
  return path
end

harness.test(
  'who quits right after an answer does not lose what it remembers of it',
  { files = user.TWO, init = WATCHED .. 'vim.g.reverie = { exit_timeout = 20000 }' },
  function(editor)
    local path = remembering(editor)
    editor.rpc:send('nvim_input', '<C-\\><C-n>:qall!<CR>')
    editor.model:open('now')
    editor:wait('the end of Neovim', function()
      return editor.process.code ~= nil
    end)
    harness.equal(vim.uv.fs_stat(path) ~= nil, true)
  end
)

harness.test(
  ':Reverie restart waits for what is being remembered, and says so',
  { files = user.TWO, init = WATCHED },
  function(editor)
    local path = remembering(editor)
    local first = editor:server()
    editor:keys('<C-\\><C-n>:Reverie restart<CR>')
    user.wait_told(editor, 'finishes what it is at')
    harness.equal(editor:servers(), { first })
    editor.model:open('now')
    user.wait_told(editor, 'started anew')
    harness.equal(vim.uv.fs_stat(path) ~= nil, true)
    editor:server(first)
  end
)

harness.test(
  ':Reverie restart does not wait for who asks again',
  { files = user.TWO, init = WATCHED },
  function(editor)
    remembering(editor)
    local first = editor:server()
    editor:keys('<C-\\><C-n>:Reverie restart<CR>')
    user.wait_told(editor, 'finishes what it is at')
    editor:keys(':Reverie restart<CR>')
    user.wait_told(editor, 'started anew')
    editor:server(first)
    editor.model:open('now')
    editor.model:take_problems()
  end
)
